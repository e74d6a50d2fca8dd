/*
 * Pooling, smoothing, page scores and the sets of the highest units, on the device. What is made
 * stays there until the next ranking, so that scoring and keeping move the scores once.
 */
#include <string.h>

#include "replay/bitmap.h"
#include "replay/gpu/gpu_lane.h"
#include "replay/keep.h"

/* A stage of the chain: vectors [count][n] somewhere on the device. */
struct stage {
    struct kvr_buffer buffer;
    size_t vectors, n;
};

/* ------------------------------------------------------------------------------ pooling */

static enum kvr_status upload_weights(struct gpu_lane *lane, const struct kvr_scored *scored,
                                      struct kvr_error *err)
{
    size_t bytes = scored->heads * sizeof(double);
    enum kvr_status status = gpu_reserve(lane, &lane->weights, bytes, 1, err);
    return status == KVR_OK ? gpu_upload(lane, lane->weights, scored->weights, bytes, err) : status;
}

static enum kvr_status launch_pool(struct gpu_lane *lane, const struct kvr_ranking *ranking,
                                   const struct stage *heads, struct kvr_error *err)
{
    uint64_t count = heads->n;
    uint32_t head_count = (uint32_t)heads->vectors;
    size_t groups = gpu_groups(lane, heads->n);
    uint32_t weighted = ranking->reduce->kind == KVR_POOL_ENTROPY ? 1 : 0;
    bool mean = ranking->reduce->kind == KVR_POOL_MEAN;
    double divisor = mean ? (double)heads->vectors : 1;
    if (ranking->reduce->kind == KVR_POOL_MAX)
        return GPU_LAUNCH(lane, 0, GPU_POOL_MAXIMA, groups, err, KVR_ARGUMENT(heads->buffer.handle),
                          KVR_ARGUMENT(head_count), KVR_ARGUMENT(count),
                          KVR_ARGUMENT(lane->pooled.handle));
    enum kvr_status status =
        weighted ? upload_weights(lane, ranking->scored, err)
                 : gpu_reserve(lane, &lane->weights, heads->vectors, sizeof(double), err);
    if (status == KVR_OK)
        status = GPU_LAUNCH(lane, 0, GPU_POOL_SUMS, groups, err, KVR_ARGUMENT(heads->buffer.handle),
                            KVR_ARGUMENT(head_count), KVR_ARGUMENT(count),
                            KVR_ARGUMENT(lane->weights.handle), KVR_ARGUMENT(weighted),
                            KVR_ARGUMENT(divisor), KVR_ARGUMENT(lane->pooled.handle));
    return status;
}

/* One vector of the group instead of one a head; ranking->pooled becomes its copy on the host. */
static enum kvr_status pool(struct gpu_lane *lane, const struct kvr_cell *cell,
                            struct kvr_ranking *ranking, struct stage *stage, struct kvr_error *err)
{
    size_t count = cell->candidates.count, bytes = count * sizeof(float);
    enum kvr_status status = gpu_reserve(lane, &lane->pooled, bytes, 1, err);
    ranking->pooled = ranking->layer_vector;
    if (status == KVR_OK && ranking->pooled != NULL) {
        status = gpu_upload(lane, lane->pooled, ranking->pooled, bytes, err);
    } else if (status == KVR_OK) {
        ranking->pooled = kvr_room_take(cell->room, bytes, 1, err);
        if (ranking->pooled == NULL)
            return KVR_NO_MEMORY;
        status = gpu_vectors_of(lane, cell, ranking->scored, &stage->buffer, err);
        if (status == KVR_OK)
            status = launch_pool(lane, ranking, stage, err);
        if (status == KVR_OK)
            status = gpu_download(lane, lane->pooled, ranking->pooled, bytes, err);
    }
    *stage = (struct stage){lane->pooled, 1, count};
    return status;
}

/* ------------------------------------------------------------------------------ units */

static enum kvr_status smooth(struct gpu_lane *lane, const struct kvr_ranking *ranking,
                              struct stage *stage, struct kvr_error *err)
{
    uint64_t count = stage->n, length = ranking->smooth_length, items = stage->vectors * stage->n;
    uint32_t width = ranking->smooth.width;
    enum gpu_kernel kernel =
        ranking->smooth.kind == KVR_SMOOTH_AVG ? GPU_SMOOTH_MEANS : GPU_SMOOTH_MAXIMA;
    enum kvr_status status = gpu_reserve(lane, &lane->smoothed, (size_t)items, sizeof(float), err);
    if (status == KVR_OK)
        status = GPU_LAUNCH(lane, 0, kernel, gpu_groups(lane, (size_t)items), err,
                            KVR_ARGUMENT(stage->buffer.handle), KVR_ARGUMENT(count),
                            KVR_ARGUMENT(length), KVR_ARGUMENT(width), KVR_ARGUMENT(items),
                            KVR_ARGUMENT(lane->smoothed.handle));
    stage->buffer = lane->smoothed;
    return status;
}

static enum kvr_status score_pages(struct gpu_lane *lane, const struct kvr_ranking *ranking,
                                   struct stage *stage, struct kvr_error *err)
{
    const struct kvr_pages *pages = ranking->pages;
    uint64_t count = stage->n, first = pages->candidates.first, size = pages->size;
    uint64_t first_page = pages->first_page, units = pages->count, items = stage->vectors * units;
    size_t groups = gpu_groups(lane, (size_t)items);
    uint32_t mean = ranking->page_reduce == KVR_PAGE_MEAN ? 1 : 0;
    enum kvr_status status = gpu_reserve(lane, &lane->units, (size_t)items, sizeof(float), err);
    if (status != KVR_OK)
        return status;
    if (ranking->page_reduce == KVR_PAGE_MAX)
        status = GPU_LAUNCH(
            lane, 0, GPU_PAGE_MAXIMA, groups, err, KVR_ARGUMENT(stage->buffer.handle),
            KVR_ARGUMENT(count), KVR_ARGUMENT(first), KVR_ARGUMENT(size), KVR_ARGUMENT(first_page),
            KVR_ARGUMENT(units), KVR_ARGUMENT(items), KVR_ARGUMENT(lane->units.handle));
    else
        status = GPU_LAUNCH(lane, 0, GPU_PAGE_SUMS, groups, err, KVR_ARGUMENT(stage->buffer.handle),
                            KVR_ARGUMENT(count), KVR_ARGUMENT(first), KVR_ARGUMENT(size),
                            KVR_ARGUMENT(first_page), KVR_ARGUMENT(units), KVR_ARGUMENT(mean),
                            KVR_ARGUMENT(items), KVR_ARGUMENT(lane->units.handle));
    stage->buffer = lane->units;
    stage->n = pages->count;
    return status;
}

/* Where the host finds each vector's unit scores: downloaded if a stage has made new ones. */
static enum kvr_status take_units(struct gpu_lane *lane, const struct kvr_cell *cell,
                                  struct kvr_ranking *ranking, const struct stage *stage, bool made,
                                  struct kvr_error *err)
{
    float *values = ranking->pooled != NULL ? ranking->pooled : ranking->scored->vectors;
    enum kvr_status status = KVR_OK;
    ranking->unit_scores =
        kvr_room_take(cell->room, stage->vectors, sizeof *ranking->unit_scores, err);
    if (ranking->unit_scores == NULL)
        return KVR_NO_MEMORY;
    if (made) {
        values = kvr_room_take(cell->room, stage->vectors * stage->n, sizeof *values, err);
        if (values == NULL)
            return KVR_NO_MEMORY;
        status = gpu_download(lane, stage->buffer, values,
                              stage->vectors * stage->n * sizeof *values, err);
    }
    for (size_t v = 0; v < stage->vectors; v++)
        ranking->unit_scores[v] = values + v * stage->n;
    return status;
}

enum kvr_status gpu_score(const struct kvr_cell *cell, struct kvr_ranking *ranking,
                          struct kvr_error *err)
{
    struct gpu_lane *lane = gpu_lane_of(cell);
    struct stage stage = {.vectors = ranking->scored->heads, .n = cell->candidates.count};
    bool made = ranking->smooth.kind != KVR_SMOOTH_NONE || ranking->pages->size > 1;
    enum kvr_status status = ranking->reduce->scope == KVR_REDUCE_NOTHING
                                 ? gpu_vectors_of(lane, cell, ranking->scored, &stage.buffer, err)
                                 : pool(lane, cell, ranking, &stage, err);
    if (status == KVR_OK && ranking->smooth.kind != KVR_SMOOTH_NONE)
        status = smooth(lane, ranking, &stage, err);
    if (status == KVR_OK && ranking->pages->size > 1)
        status = score_pages(lane, ranking, &stage, err);
    if (status == KVR_OK)
        status = take_units(lane, cell, ranking, &stage, made, err);
    enum kvr_status ended = gpu_finish(lane, status == KVR_OK ? err : NULL);
    ranking->vector_count = stage.vectors;
    ranking->resident = ++lane->rankings;
    lane->ranking = stage.buffer;
    return status == KVR_OK ? ended : status;
}

/* ------------------------------------------------------------------------------ sets */

/* The unit scores of a ranking as one array on the device. */
static enum kvr_status scores_of(struct gpu_lane *lane, const struct kvr_ranking *ranking,
                                 struct kvr_buffer *scores, struct kvr_error *err)
{
    size_t n = ranking->pages->count;
    enum kvr_status status = KVR_OK;
    *scores = lane->ranking;
    if (ranking->resident != 0 && ranking->resident == lane->rankings)
        return KVR_OK;
    status = gpu_reserve(lane, &lane->units, ranking->vector_count * n, sizeof(float), err);
    for (size_t v = 0; status == KVR_OK && v < ranking->vector_count; v++)
        status = lane->compute->device->host->upload(lane->slots[0].queue, lane->units,
                                                     v * n * sizeof(float), ranking->unit_scores[v],
                                                     n * sizeof(float), err);
    lane->rankings++; /* units no longer hold what was made last */
    *scores = lane->units;
    return status;
}

/* What each quota leaves to be ranked: a number of units and the span that they come from. */
static enum kvr_status upload_cuts(struct gpu_lane *lane, const struct kvr_ranking *ranking,
                                   const struct kvr_ranking_sets *sets, uint32_t (*cuts)[3],
                                   struct kvr_error *err)
{
    size_t n = ranking->pages->count;
    for (size_t b = 0; b < sets->count; b++) {
        struct kvr_protected held =
            kvr_protect_units(sets->protect, ranking->pages, sets->protect_quotas[b]);
        uint64_t quota = sets->quotas[b], count = kvr_protected_count(held);
        quota = quota > count ? quota - count : 0;
        cuts[b][0] = (uint32_t)(quota < n ? quota : n);
        cuts[b][1] = (uint32_t)held.first;
        cuts[b][2] = (uint32_t)held.last;
    }
    enum kvr_status status = gpu_reserve(lane, &lane->cuts, sets->count, sizeof *cuts, err);
    return status == KVR_OK ? gpu_upload(lane, lane->cuts, cuts, sets->count * sizeof *cuts, err)
                            : status;
}

static enum kvr_status launch_select(struct gpu_lane *lane, const struct kvr_ranking *ranking,
                                     const struct kvr_ranking_sets *sets, struct kvr_error *err)
{
    struct kvr_buffer scores;
    uint32_t n = (uint32_t)ranking->pages->count, quotas = (uint32_t)sets->count;
    size_t words = kvr_bitmap_words(n), all = ranking->vector_count * sets->count;
    enum kvr_status status = scores_of(lane, ranking, &scores, err);
    if (status == KVR_OK)
        status = gpu_reserve(lane, &lane->sets, all * words, sizeof(uint64_t), err);
    if (status == KVR_OK)
        status = GPU_LAUNCH(lane, 0, GPU_SELECT_TOP, all, err, KVR_ARGUMENT(scores.handle),
                            KVR_ARGUMENT(n), KVR_ARGUMENT(quotas), KVR_ARGUMENT(lane->cuts.handle),
                            KVR_ARGUMENT(lane->sets.handle));
    return status;
}

/* ------------------------------------------------------------------------------ overlap */

/* What the kernels count, as it comes from the device: [quota][head][head] and [quota]. */
struct counts {
    uint32_t *pairs, *sizes;
};

static enum kvr_status launch_counts(struct gpu_lane *lane, const struct kvr_cell *cell,
                                     const struct kvr_ranking *ranking,
                                     const struct kvr_ranking_sets *sets, struct counts *counts,
                                     struct kvr_error *err)
{
    uint32_t heads = (uint32_t)ranking->vector_count, quotas = (uint32_t)sets->count;
    uint32_t words = (uint32_t)kvr_bitmap_words(ranking->pages->count);
    size_t pairs = sets->count * heads * heads;
    counts->pairs = kvr_room_take(cell->room, pairs, sizeof *counts->pairs, err);
    counts->sizes = kvr_room_take(cell->room, sets->count, sizeof *counts->sizes, err);
    if (counts->pairs == NULL || counts->sizes == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = gpu_reserve(lane, &lane->pairs, pairs, sizeof *counts->pairs, err);
    if (status == KVR_OK)
        status = GPU_LAUNCH(lane, 0, GPU_COUNT_PAIRS, pairs, err, KVR_ARGUMENT(lane->sets.handle),
                            KVR_ARGUMENT(heads), KVR_ARGUMENT(quotas), KVR_ARGUMENT(words),
                            KVR_ARGUMENT(lane->pairs.handle));
    if (status == KVR_OK)
        status = gpu_reserve(lane, &lane->sizes, sets->count, sizeof *counts->sizes, err);
    if (status == KVR_OK)
        status =
            GPU_LAUNCH(lane, 0, GPU_COUNT_UNIONS, sets->count, err, KVR_ARGUMENT(lane->sets.handle),
                       KVR_ARGUMENT(heads), KVR_ARGUMENT(quotas), KVR_ARGUMENT(words),
                       KVR_ARGUMENT(lane->sizes.handle));
    if (status == KVR_OK)
        status = gpu_download(lane, lane->pairs, counts->pairs, pairs * sizeof *counts->pairs, err);
    if (status == KVR_OK)
        status =
            gpu_download(lane, lane->sizes, counts->sizes, sets->count * sizeof(uint32_t), err);
    return status;
}

static enum kvr_status widen_counts(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                                    const struct counts *counts, struct kvr_ranking_sets *sets,
                                    struct kvr_error *err)
{
    size_t pairs = sets->count * ranking->vector_count * ranking->vector_count;
    sets->pairs = kvr_room_take(cell->room, pairs, sizeof *sets->pairs, err);
    sets->unions = kvr_room_take(cell->room, sets->count, sizeof *sets->unions, err);
    if (sets->pairs == NULL || sets->unions == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < pairs; i++)
        sets->pairs[i] = counts->pairs[i];
    for (size_t b = 0; b < sets->count; b++)
        sets->unions[b] = counts->sizes[b];
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ keeping */

static void add_protected(const struct kvr_ranking *ranking, const struct kvr_ranking_sets *sets)
{
    for (size_t b = 0; b < sets->count; b++) {
        struct kvr_protected held =
            kvr_protect_units(sets->protect, ranking->pages, sets->protect_quotas[b]);
        for (size_t v = 0; v < ranking->vector_count; v++)
            kvr_keep_protected(held, sets->quotas[b], sets->sets[b][v]);
    }
}

enum kvr_status gpu_keep(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                         struct kvr_ranking_sets *sets, struct kvr_select_scratch *scratch,
                         struct kvr_error *err)
{
    (void)scratch;
    struct gpu_lane *lane = gpu_lane_of(cell);
    size_t words = kvr_bitmap_words(ranking->pages->count);
    bool counted = sets->counted && !kvr_protect_any(sets->protect);
    struct counts counts = {NULL, NULL};
    enum kvr_status status = kvr_ranking_take_sets(cell, ranking, sets, err);
    uint32_t(*cuts)[3] = kvr_room_take(cell->room, sets->count, sizeof *cuts, err);
    if (status != KVR_OK || cuts == NULL)
        return KVR_NO_MEMORY;
    status = upload_cuts(lane, ranking, sets, cuts, err);
    if (status == KVR_OK)
        status = launch_select(lane, ranking, sets, err);
    if (status == KVR_OK && sets->count > 0)
        status = gpu_download(lane, lane->sets, sets->sets[0][0],
                              ranking->vector_count * sets->count * words * sizeof(uint64_t), err);
    if (status == KVR_OK && counted)
        status = launch_counts(lane, cell, ranking, sets, &counts, err);
    enum kvr_status ended = gpu_finish(lane, status == KVR_OK ? err : NULL);
    if (status != KVR_OK || ended != KVR_OK)
        return status != KVR_OK ? status : ended;
    add_protected(ranking, sets);
    return counted ? widen_counts(cell, ranking, &counts, sets, err) : KVR_OK;
}
