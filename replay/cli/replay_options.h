/*
 * The options of `kvreplay replay` and how they become a plan.
 */
#ifndef KVR_REPLAY_OPTIONS_H
#define KVR_REPLAY_OPTIONS_H

#include "replay/cli/command.h"
#include "replay/plan.h"

/* The option table of `replay`; ends with a NULL name. */
extern const struct kvr_option kvr_replay_options[];

/* A plan, and the lists on the command line that its labels point into. */
struct kvr_replay_request {
    struct kvr_plan plan;
    char **budget_list;  /* one allocation */
    bool default_scores; /* no --scorer: whatever the traces can give */
};

/* Lists that hold where the command line has none; NULL: none. */
struct kvr_replay_defaults {
    const char *policies, *budgets, *page_sizes;
};
extern const struct kvr_replay_defaults kvr_replay_defaults;

/*
 * Fills *request from the command line; release it in any case with kvr_replay_request_free. Any
 * command whose options bear the names of replay's may use it.
 */
enum kvr_status kvr_replay_request_parse(const struct kvr_command *command,
                                         const struct kvr_arguments *arguments,
                                         const struct kvr_replay_defaults *defaults,
                                         struct kvr_replay_request *request, struct kvr_error *err);

void kvr_replay_request_free(struct kvr_replay_request *request);

#endif
