/*
 * Totals, values that are not finite and entropies of score vectors, on the device.
 */
#include <math.h>

#include "replay/entropy.h"
#include "replay/gpu/gpu_lane.h"
#include "replay/scored.h"

/* What the kernel finds of each vector. */
struct sums {
    double total, sink_mass, rest, isolated, squares;
};

static enum kvr_status take_sums(struct gpu_lane *lane, const struct kvr_cell *cell,
                                 const struct kvr_scored *scored, struct sums *sums,
                                 uint32_t *not_finite, struct kvr_error *err)
{
    struct kvr_buffer vectors;
    uint64_t count = cell->candidates.count, sinks = cell->candidates.sinks;
    size_t heads = scored->heads;
    enum kvr_status status = gpu_vectors_of(lane, cell, scored, &vectors, err);
    if (status == KVR_OK)
        status = gpu_reserve(lane, &lane->results, heads, sizeof *sums, err);
    if (status == KVR_OK)
        status = gpu_reserve(lane, &lane->counts, heads, sizeof *not_finite, err);
    if (status == KVR_OK)
        status = GPU_LAUNCH(lane, 0, GPU_STATISTICS, heads, err, KVR_ARGUMENT(vectors.handle),
                            KVR_ARGUMENT(count), KVR_ARGUMENT(sinks),
                            KVR_ARGUMENT(lane->results.handle), KVR_ARGUMENT(lane->counts.handle));
    if (status == KVR_OK)
        status = gpu_download(lane, lane->results, sums, heads * sizeof *sums, err);
    if (status == KVR_OK)
        status = gpu_download(lane, lane->counts, not_finite, heads * sizeof *not_finite, err);
    enum kvr_status ended = gpu_finish(lane, status == KVR_OK ? err : NULL);
    return status == KVR_OK ? ended : status;
}

static void take_entropies(const struct kvr_cell *cell, struct kvr_scored *scored, size_t head,
                           const struct sums *sums)
{
    const struct kvr_entropy_options *options = &cell->plan->entropy;
    size_t count = cell->candidates.count;
    const float *vector = scored->vectors + head * count;
    if (kvr_scored_by_squares(cell)) {
        kvr_scored_from_squares(scored, head, sums->rest, sums->squares, sums->isolated);
        return;
    }
    scored->raw_entropies[head] = kvr_entropy_raw(options, vector, count);
    scored->entropies[head] = kvr_entropy_isolated(options, vector, count, cell->candidates.sinks);
}

enum kvr_status gpu_statistics(const struct kvr_cell *cell, struct kvr_scored *scored,
                               struct kvr_error *err)
{
    struct gpu_lane *lane = gpu_lane_of(cell);
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    struct sums *sums = kvr_room_take(cell->room, scored->heads, sizeof *sums, err);
    uint32_t *bad = kvr_room_take(cell->room, scored->heads, sizeof *bad, err);
    if (sums == NULL || bad == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = take_sums(lane, cell, scored, sums, bad, err);
    if (status != KVR_OK)
        return status;
    for (size_t h = 0; h < scored->heads; h++) {
        scored->totals[h] = bad[h] == 0 ? sums[h].total : NAN;
        scored->not_finite += bad[h] > 0;
    }
    if (scored->not_finite == 0)
        scored->exact = kvr_scored_total_exactly(scored, cell->candidates.count);
    if (scored->not_finite > 0 && cell->plan->nan == KVR_NAN_ZERO) {
        /* Rare: the host replaces the values, and the device gets the vectors again. */
        scored->not_finite = 0;
        kvr_scored_finish(cell, scored);
        lane->vectors[scored - cell->scored].valid = false;
    } else if (scored->not_finite == 0 && scored->score->weighted) {
        for (size_t h = 0; h < scored->heads; h++)
            take_entropies(cell, scored, h, &sums[h]);
        kvr_entropy_weights(scored->entropies, scored->heads, cell->plan->tau, scored->weights);
    }
    kvr_room_return(cell->room, mark);
    return KVR_OK;
}
