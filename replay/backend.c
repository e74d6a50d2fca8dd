/*
 * Choosing who does a step. It must not know any device.
 */
#include "replay/backend.h"

#include "replay/recompute.h"
#include "replay/rows.h"
#include "replay/scored.h"

static enum kvr_status enter_cpu(struct kvr_compute *compute, struct kvr_cell *cell,
                                 struct kvr_error *err)
{
    (void)compute;
    (void)cell;
    (void)err;
    return KVR_OK;
}

static void leave_cpu(struct kvr_lane *lane)
{
    (void)lane;
}

static bool supports_all(const struct kvr_cell *cell, enum kvr_step step,
                         const struct kvr_ranking *ranking)
{
    (void)cell;
    (void)step;
    (void)ranking;
    return true;
}

static enum kvr_status finish_scored(const struct kvr_cell *cell, struct kvr_scored *scored,
                                     struct kvr_error *err)
{
    (void)err;
    kvr_scored_finish(cell, scored);
    return KVR_OK;
}

static const struct kvr_backend cpu = {
    .name = "cpu",
    .enter = enter_cpu,
    .leave = leave_cpu,
    .supports = supports_all,
    .columns = kvr_recompute_columns,
    .rows = kvr_rows_load,
    .statistics = finish_scored,
    .score = kvr_ranking_score,
    .keep = kvr_ranking_keep,
    .order = kvr_ranking_order,
};

static const struct kvr_backend *who_does(const struct kvr_cell *cell, enum kvr_step step,
                                          const struct kvr_ranking *ranking)
{
    const struct kvr_lane *lane = cell->lane;
    bool device = lane != NULL && !lane->failed && lane->backend->supports(cell, step, ranking);
    return device ? lane->backend : &cpu;
}

/* Whether a step failed on a device and the CPU may do it instead; then it is forgotten. */
static bool falls_back(const struct kvr_cell *cell, const struct kvr_backend *who,
                       enum kvr_status status, struct kvr_error *err)
{
    if (status == KVR_OK || who == &cpu || !cell->lane->falls_back)
        return false;
    cell->lane->failed = true;
    if (err != NULL)
        *err = KVR_ERROR_NONE;
    return true;
}

enum kvr_status kvr_backend_columns(struct kvr_cell *cell, struct kvr_attention *attention,
                                    struct kvr_row_range rows, struct kvr_error *err)
{
    const struct kvr_backend *who = who_does(cell, KVR_STEP_COLUMNS, NULL);
    enum kvr_status status = who->columns(cell, attention, rows, err);
    return falls_back(cell, who, status, err) ? cpu.columns(cell, attention, rows, err) : status;
}

enum kvr_status kvr_backend_rows(struct kvr_cell *cell, struct kvr_error *err)
{
    const struct kvr_backend *who = who_does(cell, KVR_STEP_ROWS, NULL);
    enum kvr_status status = who->rows(cell, err);
    return falls_back(cell, who, status, err) ? cpu.rows(cell, err) : status;
}

enum kvr_status kvr_backend_statistics(const struct kvr_cell *cell, struct kvr_scored *scored,
                                       struct kvr_error *err)
{
    const struct kvr_backend *who = who_does(cell, KVR_STEP_STATISTICS, NULL);
    enum kvr_status status = who->statistics(cell, scored, err);
    return falls_back(cell, who, status, err) ? cpu.statistics(cell, scored, err) : status;
}

enum kvr_status kvr_backend_score(const struct kvr_cell *cell, struct kvr_ranking *ranking,
                                  struct kvr_error *err)
{
    const struct kvr_backend *who = who_does(cell, KVR_STEP_SCORE, ranking);
    enum kvr_status status = who->score(cell, ranking, err);
    return falls_back(cell, who, status, err) ? cpu.score(cell, ranking, err) : status;
}

enum kvr_status kvr_backend_keep(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                                 struct kvr_ranking_sets *sets, struct kvr_select_scratch *scratch,
                                 struct kvr_error *err)
{
    const struct kvr_backend *who = who_does(cell, KVR_STEP_KEEP, ranking);
    enum kvr_status status = who->keep(cell, ranking, sets, scratch, err);
    return falls_back(cell, who, status, err) ? cpu.keep(cell, ranking, sets, scratch, err)
                                              : status;
}

enum kvr_status kvr_backend_order(const struct kvr_cell *cell, struct kvr_orders *orders,
                                  struct kvr_error *err)
{
    const struct kvr_backend *who = who_does(cell, KVR_STEP_ORDER, NULL);
    enum kvr_status status = who->order(cell, orders, err);
    return falls_back(cell, who, status, err) ? cpu.order(cell, orders, err) : status;
}
