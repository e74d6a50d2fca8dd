/*
 * The summary of a replay on the terminal.
 */
#ifndef KVR_PRINT_SUMMARY_H
#define KVR_PRINT_SUMMARY_H

#include "analysis/summary.h"
#include "formats/trace.h"

/* Prints what was replayed, union overhead, masquerade, what policies keep, and exclusions. */
void kvr_print_summary(const struct kvr_summary *summary, struct kvr_trace *const *traces,
                       size_t trace_count, const char *folder);

#endif
