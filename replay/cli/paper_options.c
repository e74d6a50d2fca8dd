/*
 * Reading the options that commands about a replay's tables share.
 */
#include "replay/cli/paper_options.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/outfile.h"

enum kvr_status kvr_paper_bootstrap_options(const struct kvr_command *command,
                                            const struct kvr_arguments *arguments,
                                            struct kvr_bootstrap *bootstrap, struct kvr_error *err)
{
    *bootstrap = kvr_bootstrap_default();
    uint64_t draws = bootstrap->draws;
    enum kvr_status status = kvr_argument_unsigned(
        "--draws", kvr_argument(command, arguments, "--draws"), 100, 1000000, &draws, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--seed", kvr_argument(command, arguments, "--seed"), 0,
                                       UINT64_MAX, &bootstrap->seed, err);
    bootstrap->draws = (size_t)draws;
    return status;
}

static enum kvr_status read_list(const struct kvr_command *command,
                                 const struct kvr_arguments *arguments, const char *option,
                                 char ***items, size_t *count, struct kvr_error *err)
{
    const char *text = kvr_argument(command, arguments, option);
    return text != NULL ? kvr_argument_list(option, text, items, count, err) : KVR_OK;
}

enum kvr_status kvr_paper_filter_options(const struct kvr_command *command,
                                         const struct kvr_arguments *arguments,
                                         struct kvr_paper_filter *filter, struct kvr_error *err)
{
    enum kvr_status status = read_list(command, arguments, "--scorer", &filter->scorers.items,
                                       &filter->scorers.count, err);
    if (status == KVR_OK)
        status = read_list(command, arguments, "--policy", &filter->policies.items,
                           &filter->policies.count, err);
    if (status == KVR_OK)
        status = read_list(command, arguments, "--budget", &filter->budgets.items,
                           &filter->budgets.count, err);
    if (status == KVR_OK)
        status = read_list(command, arguments, "--page-size", &filter->page_sizes.items,
                           &filter->page_sizes.count, err);
    for (size_t i = 0; status == KVR_OK && i < filter->page_sizes.count; i++) {
        uint64_t size;
        status = kvr_argument_unsigned("--page-size", filter->page_sizes.items[i], 1, UINT64_MAX,
                                       &size, err);
    }
    return status;
}

void kvr_paper_filter_free(struct kvr_paper_filter *filter)
{
    free(filter->scorers.items);
    free(filter->policies.items);
    free(filter->budgets.items);
    free(filter->page_sizes.items);
    *filter = (struct kvr_paper_filter){.scorers = {.count = 0}};
}

static enum kvr_status check_names(const char *option, char *const *items, size_t count,
                                   const struct kvr_names *names, struct kvr_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        while (n < names->count && strcmp(names->items[n], items[i]) != 0)
            n++;
        if (n < names->count)
            continue;
        struct kvr_text known = {0};
        for (n = 0; n < names->count; n++)
            kvr_text_add(&known, "%s%s", n > 0 ? ", " : "", names->items[n]);
        kvr_fail(err, KVR_BAD_ARGUMENT, "%s: the tables do not have \"%s\"; they have %s", option,
                 items[i], known.length > 0 ? known.data : "none");
        kvr_text_free(&known);
        return KVR_BAD_ARGUMENT;
    }
    return KVR_OK;
}

enum kvr_status kvr_paper_check_filter(const struct kvr_paper_filter *filter,
                                       const struct kvr_replay_sums *sums, struct kvr_error *err)
{
    enum kvr_status status =
        check_names("--scorer", filter->scorers.items, filter->scorers.count, &sums->scorers, err);
    if (status == KVR_OK)
        status = check_names("--policy", filter->policies.items, filter->policies.count,
                             &sums->policies, err);
    if (status == KVR_OK)
        status = check_names("--budget", filter->budgets.items, filter->budgets.count,
                             &sums->budgets, err);
    return status;
}

enum kvr_status kvr_write_whole(const char *path, const char *bytes, size_t length,
                                struct kvr_error *err)
{
    struct kvr_outfile *file;
    enum kvr_status status = kvr_outfile_open(path, &file, err);
    if (status != KVR_OK)
        return status;
    status = kvr_outfile_write(file, bytes, length, err);
    if (status == KVR_OK)
        return kvr_outfile_commit(file, err);
    kvr_outfile_abandon(file);
    return status;
}
