/*
 * The table of commands: the one place that lists them. A new command is a file cmd_<name>.c and
 * two lines here.
 */
#include "replay/cli/command.h"

#include <string.h>

#include "replay/cli/nearest.h"

extern const struct kvr_command kvr_command_bench;
extern const struct kvr_command kvr_command_bounds;
extern const struct kvr_command kvr_command_ablate;
extern const struct kvr_command kvr_command_check;
extern const struct kvr_command kvr_command_compare;
extern const struct kvr_command kvr_command_claims;
extern const struct kvr_command kvr_command_devices;
extern const struct kvr_command kvr_command_export;
extern const struct kvr_command kvr_command_help;
extern const struct kvr_command kvr_command_import;
extern const struct kvr_command kvr_command_info;
extern const struct kvr_command kvr_command_merge;
extern const struct kvr_command kvr_command_plot;
extern const struct kvr_command kvr_command_predict;
extern const struct kvr_command kvr_command_quota;
extern const struct kvr_command kvr_command_replay;
extern const struct kvr_command kvr_command_scaling;
extern const struct kvr_command kvr_command_report;
extern const struct kvr_command kvr_command_show;
extern const struct kvr_command kvr_command_synth;
extern const struct kvr_command kvr_command_table;

/* A command a line, so that a new one is one line of a difference. */
/* clang-format off */
const struct kvr_command *const kvr_commands[] = {
    &kvr_command_info,
    &kvr_command_check,
    &kvr_command_import,
    &kvr_command_export,
    &kvr_command_replay,
    &kvr_command_merge,
    &kvr_command_bounds,
    &kvr_command_compare,
    &kvr_command_ablate,
    &kvr_command_table,
    &kvr_command_plot,
    &kvr_command_show,
    &kvr_command_claims,
    &kvr_command_predict,
    &kvr_command_report,
    &kvr_command_synth,
    &kvr_command_quota,
    &kvr_command_scaling,
    &kvr_command_devices,
    &kvr_command_bench,
    &kvr_command_help,
    NULL,
};
/* clang-format on */

const struct kvr_command *kvr_find_command(const char *name)
{
    for (size_t i = 0; kvr_commands[i] != NULL; i++)
        if (strcmp(kvr_commands[i]->name, name) == 0)
            return kvr_commands[i];
    return NULL;
}

enum kvr_status kvr_fail_unknown_command(const char *name, struct kvr_error *err)
{
    char names[512] = "";
    struct kvr_nearest nearest = {.typed = name};
    for (size_t i = 0, used = 0; kvr_commands[i] != NULL && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                                 kvr_commands[i]->name);
        kvr_nearest_offer(&nearest, kvr_commands[i]->name);
    }
    kvr_fail(err, KVR_BAD_ARGUMENT, "unknown command \"%s\"; the commands are %s", name, names);
    if (nearest.name != NULL)
        return kvr_hint(err, "did you mean \"%s\"?", nearest.name);
    return KVR_BAD_ARGUMENT;
}
