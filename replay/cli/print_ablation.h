/*
 * The ablations on the terminal, in the shape of a paper's ablation table.
 */
#ifndef KVR_PRINT_ABLATION_H
#define KVR_PRINT_ABLATION_H

#include "analysis/ablation.h"
#include "analysis/coverage.h"

/* What was covered, then every table for every score, each with its verdict. */
void kvr_print_ablation(const struct kvr_ablation *ablation, const struct kvr_trace *trace,
                        const struct kvr_coverage *coverage, const char *folder);

#endif
