/*
 * What the traces of a replay cannot give: an error if nothing is left, else notes, each once.
 */
#ifndef KVR_REPLAY_NOTES_H
#define KVR_REPLAY_NOTES_H

#include <stddef.h>

#include "formats/base/status.h"
#include "formats/trace.h"
#include "replay/plan.h"

/* Samples and layers that the filters name must be in some trace. */
enum kvr_status kvr_replay_check_filters(const struct kvr_plan *plan,
                                         struct kvr_trace *const *traces, size_t trace_count,
                                         struct kvr_error *err);

/* KVR_BAD_INPUT, with what is missing, if no policy can be replayed on any of the traces. */
enum kvr_status kvr_replay_check_scores(const struct kvr_plan *plan,
                                        struct kvr_trace *const *traces, size_t trace_count,
                                        struct kvr_error *err);

/* Prints to standard error which scorers and policies each trace cannot give, and which windows
   are longer than what was recorded. */
void kvr_replay_print_notes(const struct kvr_plan *plan, struct kvr_trace *const *traces,
                            size_t trace_count);

#endif
