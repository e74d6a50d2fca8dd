/*
 * Sharing a replay. It must not know which program started the processes, or what a part holds.
 */
#include "replay/cli/shared_replay.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/result_parts.h"
#include "formats/base/checksum.h"
#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/outfile.h"
#include "formats/json_difference.h"
#include "formats/part_folder.h"
#include "replay/cli/progress_bar.h"
#include "replay/cli/ranks.h"
#include "replay/cli/readable.h"

enum { LARGEST_PLAN = 64 << 20 };

enum kvr_status kvr_parse_shard(const char *text, size_t *shard, size_t *shards,
                                struct kvr_error *err)
{
    if (text == NULL)
        return KVR_OK;
    char index[24] = "";
    const char *slash = strchr(text, '/');
    uint64_t i = 0, n = 0;
    if (slash != NULL && (size_t)(slash - text) < sizeof index)
        memcpy(index, text, (size_t)(slash - text));
    if (slash == NULL || !kvr_parse_unsigned(slash + 1, 1, KVR_MOST_SHARDS, &n) ||
        !kvr_parse_unsigned(index, 1, n, &i))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "--shard: \"%s\" must be i/n with 1 <= i <= n <= %d",
                        text, KVR_MOST_SHARDS);
    *shard = (size_t)i;
    *shards = (size_t)n;
    return KVR_OK;
}

bool kvr_shared_replay_needed(const struct kvr_shared_replay *shared)
{
    return shared->shards > 0 || shared->resume || kvr_ranks_count() > 1;
}

static size_t own_taker(const struct kvr_shared_replay *shared)
{
    return shared->shards > 0 ? shared->shard - 1 : kvr_ranks_own();
}

/* -------------------------------------------------------------------- claiming the folder */

/* What plan.json says; *run becomes the digest of what does not depend on the shard. */
static enum kvr_status describe_plan(const struct kvr_shared_replay *shared, struct kvr_text *text,
                                     uint64_t *run, struct kvr_error *err)
{
    struct kvr_text identity = {0};
    enum kvr_status status =
        kvr_run_identity(shared->plan, shared->traces, shared->trace_count, &identity, err);
    if (status == KVR_OK) {
        *run = kvr_checksum_add(KVR_CHECKSUM_START, identity.data, identity.length);
        kvr_text_add(text, "{\"shard\": %zu, \"shards\": %zu, \"replay\": ", shared->shard,
                     shared->shards);
        kvr_text_bytes(text, identity.data, identity.length);
        kvr_text_string(text, "}\n");
        status = kvr_text_check(text, err);
    }
    kvr_text_free(&identity);
    return status;
}

/* Whether the parts that lie in the folder, as `path` tells, may be used or at least removed. */
static enum kvr_status compare_plans(const struct kvr_shared_replay *shared, const char *path,
                                     const struct kvr_json_value *ours,
                                     const struct kvr_json_value *theirs, struct kvr_error *err)
{
    struct kvr_json_difference difference;
    if (!kvr_json_differ(ours, theirs, NULL, &difference))
        return KVR_OK;
    if (shared->shards > 0 && strcmp(difference.place, "/shard") == 0 &&
        !kvr_json_differ(ours, theirs, "shard", &(struct kvr_json_difference){0})) {
        kvr_fail(err, KVR_BAD_INPUT, "\"%s\": %s: expected %s, found %s", path, difference.place,
                 difference.expected, difference.found);
        return kvr_hint(err, "each shard needs a folder of its own; merge puts them together");
    }
    if (!shared->resume)
        return KVR_OK;
    kvr_fail(err, KVR_BAD_INPUT, "\"%s\": %s: expected %s, found %s", path, difference.place,
             difference.expected, difference.found);
    return kvr_hint(err, "these are parts of another replay; without --resume they are removed");
}

/* Where no plan can be read there is nothing to compare: the stamps of the parts decide. */
static enum kvr_status check_old_plan(const struct kvr_shared_replay *shared, const char *path,
                                      const struct kvr_text *text, struct kvr_error *err)
{
    struct kvr_json_document ours, theirs;
    if (kvr_json_read(path, LARGEST_PLAN, &theirs, NULL) != KVR_OK)
        return KVR_OK;
    enum kvr_status status = kvr_json_parse(text->data, text->length, &ours, err);
    if (status == KVR_OK) {
        status = compare_plans(shared, path, ours.root, theirs.root, err);
        kvr_json_free(&ours);
    }
    kvr_json_free(&theirs);
    return status;
}

static enum kvr_status write_plan(const char *path, const struct kvr_text *text,
                                  struct kvr_error *err)
{
    struct kvr_outfile *file;
    enum kvr_status status = kvr_outfile_open(path, &file, err);
    if (status != KVR_OK)
        return status;
    status = kvr_outfile_write(file, text->data, text->length, err);
    if (status == KVR_OK)
        return kvr_outfile_commit(file, err);
    kvr_outfile_abandon(file);
    return status;
}

static enum kvr_status claim_folder(struct kvr_shared_replay *shared, struct kvr_error *err)
{
    struct kvr_text text = {0};
    char *path = kvr_part_folder_plan(shared->folder, err);
    enum kvr_status status = path != NULL ? KVR_OK : KVR_NO_MEMORY;
    if (status == KVR_OK)
        status = describe_plan(shared, &text, &shared->run, err);
    if (status == KVR_OK)
        status = check_old_plan(shared, path, &text, err);
    if (status == KVR_OK && !shared->resume)
        kvr_part_folder_clear(shared->folder);
    if (status == KVR_OK)
        status = kvr_part_folder_make(shared->folder, err);
    if (status == KVR_OK)
        status = write_plan(path, &text, err);
    kvr_text_free(&text);
    free(path);
    return status;
}

/* ------------------------------------------------------------------------------ preparing */

static enum kvr_status choose_units(struct kvr_shared_replay *shared, struct kvr_error *err)
{
    size_t own = 0, there = 0;
    shared->todo = kvr_alloc(shared->units.count, sizeof *shared->todo, err);
    if (shared->todo == NULL)
        return KVR_NO_MEMORY;
    for (size_t u = 0; u < shared->units.count; u++) {
        if (shared->units.all[u].owner != own_taker(shared))
            continue;
        const struct kvr_part_stamp stamp = {shared->run, u, shared->units.count};
        shared->todo[u] = !(shared->resume && kvr_part_is_good(shared->folder, &stamp));
        own++;
        there += !shared->todo[u];
    }
    if (there > 0 && !shared->quiet)
        kvr_print_line(stderr, "note: %zu of %zu units were replayed before", there, own);
    return KVR_OK;
}

enum kvr_status kvr_shared_replay_prepare(struct kvr_shared_replay *shared, struct kvr_error *err)
{
    size_t takers = shared->shards > 0 ? shared->shards : kvr_ranks_count();
    enum kvr_status status = KVR_OK;
    if (shared->shards > 0 && kvr_ranks_count() > 1)
        status = kvr_fail(err, KVR_BAD_ARGUMENT,
                          "--shard: the %zu ranks of the job share the replay already",
                          kvr_ranks_count());
    if (status == KVR_OK)
        status = kvr_units_make(shared->plan, shared->traces, shared->trace_count, takers,
                                &shared->units, err);
    if (status == KVR_OK && kvr_ranks_own() == 0)
        status = claim_folder(shared, err);
    status = kvr_ranks_agree(status, err);
    kvr_ranks_share(&shared->run, sizeof shared->run);
    return status == KVR_OK ? choose_units(shared, err) : status;
}

/* -------------------------------------------------------------------------------- running */

static enum kvr_status run_traces(const struct kvr_shared_replay *shared,
                                  struct kvr_part_recorder *recorder, struct kvr_error *err)
{
    size_t cells = 0;
    for (size_t t = 0; t < shared->trace_count; t++)
        cells += kvr_part_recorder_cells(recorder, shared->plan, shared->traces[t], t);
    struct kvr_progress_bar bar = kvr_progress_bar_start(cells, shared->quiet);
    const struct kvr_progress progress = {kvr_progress_bar_update, &bar};
    enum kvr_status status = KVR_OK;
    for (size_t t = 0; status == KVR_OK && t < shared->trace_count; t++) {
        struct kvr_trace *trace = shared->traces[t];
        status = kvr_part_recorder_run(recorder, shared->plan, trace, t, &progress, err);
        kvr_progress_bar_part(&bar, kvr_part_recorder_cells(recorder, shared->plan, trace, t),
                              kvr_trace_bytes_read(trace));
    }
    kvr_progress_bar_end(&bar);
    return status;
}

enum kvr_status kvr_shared_replay_run(struct kvr_shared_replay *shared, struct kvr_error *err)
{
    struct kvr_part_recorder recorder = {
        .folder = shared->folder,
        .run = shared->run,
        .units = &shared->units,
        .todo = shared->todo,
    };
    kvr_part_recorder_open(&recorder, shared->plan);
    enum kvr_status status = run_traces(shared, &recorder, err);
    kvr_part_recorder_close(&recorder);
    return status;
}

enum kvr_status kvr_shared_replay_gather(const struct kvr_shared_replay *shared,
                                         struct kvr_results *results, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t u = 0; status == KVR_OK && u < shared->units.count; u++) {
        const struct kvr_unit *unit = &shared->units.all[u];
        const struct kvr_part_stamp stamp = {shared->run, u, shared->units.count};
        const struct kvr_sample *sample = &shared->traces[unit->trace]->samples[unit->sample];
        status = kvr_results_take_part(results, shared->folder, &stamp, sample, err);
    }
    if (status != KVR_OK && err->hint[0] == '\0' && kvr_ranks_count() > 1)
        kvr_hint(err, "all ranks must see the same folder %s", shared->folder);
    return status;
}

struct kvr_shard_record kvr_shared_replay_shard(const struct kvr_shared_replay *shared)
{
    return (struct kvr_shard_record){
        .index = shared->shard,
        .count = shared->shards,
        .run = shared->run,
        .units = &shared->units,
    };
}

void kvr_shared_replay_clear(const struct kvr_shared_replay *shared)
{
    kvr_part_folder_clear(shared->folder);
}

void kvr_shared_replay_free(struct kvr_shared_replay *shared)
{
    kvr_units_free(&shared->units);
    free(shared->todo);
    shared->todo = NULL;
}
