/*
 * `kvreplay merge`: puts the tables of a replay together from its shards.
 */
#include <stdio.h>

#include "analysis/result_parts.h"
#include "formats/base/outfile.h"
#include "replay/cli/command.h"
#include "replay/cli/merged_record.h"
#include "replay/cli/shard_set.h"

static const struct kvr_option options[] = {
    {"-o", "DIR", "folder for the tables (required)"},
    {"--quiet", NULL, "print nothing"},
    {NULL, NULL, NULL},
};

/* The parts stay where they are: the tables get a folder of their own. */
static enum kvr_status check_target(const char *folder, const struct kvr_arguments *arguments,
                                    struct kvr_error *err)
{
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (kvr_same_file(folder, arguments->operands[i]))
            return kvr_fail(err, KVR_BAD_ARGUMENT, "-o: \"%s\" is a shard: name another folder",
                            folder);
    return KVR_OK;
}

static enum kvr_status gather(const struct kvr_shard_set *set, struct kvr_results *results,
                              struct kvr_error *err)
{
    for (size_t u = 0; u < set->units; u++) {
        const struct kvr_part_stamp stamp = {set->run, u, set->units};
        const char *folder = set->shards[set->owners[u]].folder;
        enum kvr_status status = kvr_results_take_part(results, folder, &stamp, NULL, err);
        if (status == KVR_BAD_INPUT || (status == KVR_IO && err->hint[0] == '\0'))
            kvr_hint(err, "replay shard %zu/%zu again; --resume keeps its good parts",
                     set->owners[u] + 1, set->count);
        if (status != KVR_OK)
            return status;
    }
    return KVR_OK;
}

static enum kvr_status write_tables(const struct kvr_shard_set *set,
                                    const struct kvr_arguments *arguments, const char *folder,
                                    struct kvr_error *err)
{
    struct kvr_tables tables;
    struct kvr_results results;
    enum kvr_status status = kvr_tables_open(&tables, folder, err);
    if (status != KVR_OK)
        return status;
    status = kvr_results_open_wanted(&results, &tables, set->tables, err);
    if (status == KVR_OK)
        status = gather(set, &results, err);
    kvr_results_free(&results);
    if (status == KVR_OK)
        status = kvr_merged_record_write(set, arguments, &tables, err);
    if (status == KVR_OK)
        return kvr_tables_commit(&tables, err);
    kvr_tables_abandon(&tables);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    const char *folder = kvr_argument(command, arguments, "-o");
    if (folder == NULL)
        return kvr_exit_status(
            kvr_fail(err, KVR_BAD_ARGUMENT, "-o DIR is missing: where should the tables go?"));
    struct kvr_shard_set set = {0};
    enum kvr_status status = check_target(folder, arguments, err);
    if (status == KVR_OK)
        status = kvr_shard_set_read(&set, arguments->operands, arguments->operand_count, err);
    if (status == KVR_OK)
        status = write_tables(&set, arguments, folder, err);
    if (status == KVR_OK && kvr_argument(command, arguments, "--quiet") == NULL)
        printf("%zu shard%s, %zu unit%s: tables are in %s\n", set.count, set.count == 1 ? "" : "s",
               set.units, set.units == 1 ? "" : "s", folder);
    kvr_shard_set_free(&set);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_merge;

const struct kvr_command kvr_command_merge = {
    .name = "merge",
    .operands = "DIR...",
    .summary = "puts the tables of a replay together from its shards",
    .text =
        "Each DIR is what \"kvreplay replay --shard i/n -o DIR\" left. They must be all shards of "
        "one replay, made by this version with the same options from the same traces. The "
        "tables are those of a replay that was not cut, to the byte; the shards stay.",
    .least_operands = 1,
    .most_operands = (size_t)-1,
    .options = options,
    .run = run,
};
