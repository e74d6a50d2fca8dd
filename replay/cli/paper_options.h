/*
 * Options that commands about a replay's tables share: the bootstrap, the choice of lines, a file
 * that is written whole.
 */
#ifndef KVR_PAPER_OPTIONS_H
#define KVR_PAPER_OPTIONS_H

#include "plots/paper_tables.h"
#include "replay/cli/command.h"

/* --draws and --seed. */
enum kvr_status kvr_paper_bootstrap_options(const struct kvr_command *command,
                                            const struct kvr_arguments *arguments,
                                            struct kvr_bootstrap *bootstrap, struct kvr_error *err);

/* --scorer, --policy, --budget, --page-size; release in any case. */
enum kvr_status kvr_paper_filter_options(const struct kvr_command *command,
                                         const struct kvr_arguments *arguments,
                                         struct kvr_paper_filter *filter, struct kvr_error *err);
void kvr_paper_filter_free(struct kvr_paper_filter *filter);

/* KVR_BAD_ARGUMENT for a name that the tables do not have; it lists those that they have. */
enum kvr_status kvr_paper_check_filter(const struct kvr_paper_filter *filter,
                                       const struct kvr_replay_sums *sums, struct kvr_error *err);

/* Writes a file that appears whole or not at all. */
enum kvr_status kvr_write_whole(const char *path, const char *bytes, size_t length,
                                struct kvr_error *err);

#endif
