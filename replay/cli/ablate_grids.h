/*
 * The grids of `kvreplay ablate`: lists of temperatures, orders, sinks and windows that become
 * weightings, each with one thing changed from what the plan has.
 */
#ifndef KVR_ABLATE_GRIDS_H
#define KVR_ABLATE_GRIDS_H

#include "analysis/ablation.h"
#include "replay/cli/command.h"

/* What the weightings of a request lie in. Zero-initialised is empty. */
struct kvr_ablate_grids {
    char **lists[KVR_ABLATE_GRIDS]; /* one allocation each: the labels */
    struct kvr_weighting *weightings[KVR_ABLATE_GRIDS];
};

/*
 * Fills grids[] from the options --tau-grid, --alpha-grid, --sinks-grid and --window-grid, or
 * their defaults. Numbers must rise along a list. Release in any case with kvr_ablate_grids_free.
 */
enum kvr_status
kvr_ablate_grids_parse(const struct kvr_command *command, const struct kvr_arguments *arguments,
                       const struct kvr_plan *plan, struct kvr_ablate_grids *storage,
                       struct kvr_weighting_grid grids[KVR_ABLATE_GRIDS], struct kvr_error *err);

void kvr_ablate_grids_free(struct kvr_ablate_grids *storage);

#endif
