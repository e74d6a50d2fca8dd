/*
 * Where the heavy steps of a cell run: on the CPU, or on a device that takes those it can.
 *
 * A back end is one const struct of operations. A device may decline any step of any cell, then the
 * CPU does it; results are the same to the last bit, so nothing beyond this header knows who did
 * it. kvr_cell_load gives a cell its lane on the device, kvr_cell_unload takes it back.
 */
#ifndef KVR_BACKEND_H
#define KVR_BACKEND_H

#include <stdbool.h>

#include "formats/base/status.h"
#include "replay/cell.h"
#include "replay/ranking.h"

enum kvr_step {
    KVR_STEP_COLUMNS,    /* column sums of query and key */
    KVR_STEP_ROWS,       /* mean over rows, sums of decode rows */
    KVR_STEP_STATISTICS, /* totals, values that are not finite, entropies */
    KVR_STEP_SCORE,      /* pooling, smoothing, page scores */
    KVR_STEP_KEEP,       /* sets of the highest units */
    KVR_STEP_ORDER,      /* whole select orders */
};

struct kvr_backend {
    const char *name;

    /* A lane for a cell whose geometry is known; waits for nothing. leave gives it back. */
    enum kvr_status (*enter)(struct kvr_compute *compute, struct kvr_cell *cell,
                             struct kvr_error *err);
    void (*leave)(struct kvr_lane *lane);

    /* Whether a step of the cell can run here; `ranking` belongs to score and keep. */
    bool (*supports)(const struct kvr_cell *cell, enum kvr_step step,
                     const struct kvr_ranking *ranking);

    /* Contracts of kvr_recompute_columns, kvr_rows_load, kvr_scored_finish, kvr_ranking_score and
     * kvr_ranking_keep. */
    enum kvr_status (*columns)(struct kvr_cell *cell, struct kvr_attention *attention,
                               struct kvr_row_range rows, struct kvr_error *err);
    enum kvr_status (*rows)(struct kvr_cell *cell, struct kvr_error *err);
    enum kvr_status (*statistics)(const struct kvr_cell *cell, struct kvr_scored *scored,
                                  struct kvr_error *err);
    enum kvr_status (*score)(const struct kvr_cell *cell, struct kvr_ranking *ranking,
                             struct kvr_error *err);
    enum kvr_status (*keep)(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                            struct kvr_ranking_sets *sets, struct kvr_select_scratch *scratch,
                            struct kvr_error *err);
    enum kvr_status (*order)(const struct kvr_cell *cell, struct kvr_orders *orders,
                             struct kvr_error *err);
};

/* The state of a back end that a plan computes on; what a device knows lies behind it. */
struct kvr_compute {
    const struct kvr_backend *backend;
    bool falls_back; /* where the device fails, the CPU goes on */
};

/* What a back end holds of one cell. */
struct kvr_lane {
    const struct kvr_backend *backend;
    bool falls_back;
    bool failed; /* and fell back: the cell stays with the CPU */
};

/* The steps, wherever they run. Errors of a device are told unless the plan's compute falls back.
 */
enum kvr_status kvr_backend_columns(struct kvr_cell *cell, struct kvr_attention *attention,
                                    struct kvr_row_range rows, struct kvr_error *err);
enum kvr_status kvr_backend_rows(struct kvr_cell *cell, struct kvr_error *err);
enum kvr_status kvr_backend_statistics(const struct kvr_cell *cell, struct kvr_scored *scored,
                                       struct kvr_error *err);
enum kvr_status kvr_backend_score(const struct kvr_cell *cell, struct kvr_ranking *ranking,
                                  struct kvr_error *err);
enum kvr_status kvr_backend_keep(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                                 struct kvr_ranking_sets *sets, struct kvr_select_scratch *scratch,
                                 struct kvr_error *err);
enum kvr_status kvr_backend_order(const struct kvr_cell *cell, struct kvr_orders *orders,
                                  struct kvr_error *err);

#endif
