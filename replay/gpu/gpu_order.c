/*
 * Whole select orders on the device, for curves. It must not know what is ordered.
 */
#include "replay/gpu/gpu_lane.h"

/* Pairs are compared within runs that double, at distances that halve. */
static enum kvr_status sort(struct gpu_lane *lane, size_t vectors, uint32_t padded,
                            struct kvr_error *err)
{
    uint32_t group = (uint32_t)lane->compute->device->group, chunk = 2 * group, run = 2;
    uint64_t numbers = (uint64_t)vectors * padded, pairs = numbers / 2;
    size_t chunks = (size_t)(numbers / chunk);
    enum kvr_status status =
        GPU_LAUNCH(lane, 0, GPU_SORT_CHUNKS, chunks, err, KVR_ARGUMENT(padded), KVR_ARGUMENT(run),
                   KVR_ARGUMENT(chunk), KVR_ARGUMENT(lane->numbers.handle));
    for (run = 2 * chunk; status == KVR_OK && run <= padded; run *= 2) {
        for (uint32_t distance = run / 2; status == KVR_OK && distance > group; distance /= 2)
            status = GPU_LAUNCH(lane, 0, GPU_SORT_STEP, gpu_groups(lane, (size_t)pairs), err,
                                KVR_ARGUMENT(padded), KVR_ARGUMENT(run), KVR_ARGUMENT(distance),
                                KVR_ARGUMENT(pairs), KVR_ARGUMENT(lane->numbers.handle));
        if (status == KVR_OK)
            status = GPU_LAUNCH(lane, 0, GPU_SORT_CHUNKS, chunks, err, KVR_ARGUMENT(padded),
                                KVR_ARGUMENT(run), KVR_ARGUMENT(run),
                                KVR_ARGUMENT(lane->numbers.handle));
    }
    return status;
}

static enum kvr_status upload_scores(struct gpu_lane *lane, const struct kvr_orders *orders,
                                     struct kvr_error *err)
{
    size_t bytes = orders->units * sizeof(float);
    enum kvr_status status = gpu_reserve(lane, &lane->units, orders->vectors, bytes, err);
    lane->rankings++; /* units no longer hold what was made last */
    for (size_t v = 0; status == KVR_OK && v < orders->vectors; v++)
        status = lane->compute->device->host->upload(lane->slots[0].queue, lane->units, v * bytes,
                                                     orders->scores[v], bytes, err);
    return status;
}

enum kvr_status gpu_order(const struct kvr_cell *cell, struct kvr_orders *orders,
                          struct kvr_error *err)
{
    struct gpu_lane *lane = gpu_lane_of(cell);
    uint32_t n = (uint32_t)orders->units, padded = 2 * (uint32_t)lane->compute->device->group;
    while (padded < n)
        padded *= 2;
    uint64_t numbers = (uint64_t)orders->vectors * padded, items = orders->vectors * orders->units;
    enum kvr_status status = upload_scores(lane, orders, err);
    if (status == KVR_OK)
        status = gpu_reserve(lane, &lane->numbers, (size_t)numbers, sizeof(uint64_t), err);
    if (status == KVR_OK)
        status = gpu_reserve(lane, &lane->orders, (size_t)items, sizeof(uint32_t), err);
    if (status == KVR_OK)
        status = GPU_LAUNCH(lane, 0, GPU_SORT_NUMBERS, gpu_groups(lane, (size_t)numbers), err,
                            KVR_ARGUMENT(lane->units.handle), KVR_ARGUMENT(n), KVR_ARGUMENT(padded),
                            KVR_ARGUMENT(numbers), KVR_ARGUMENT(lane->numbers.handle));
    if (status == KVR_OK)
        status = sort(lane, orders->vectors, padded, err);
    if (status == KVR_OK)
        status =
            GPU_LAUNCH(lane, 0, GPU_SORT_ORDERS, gpu_groups(lane, (size_t)items), err,
                       KVR_ARGUMENT(lane->numbers.handle), KVR_ARGUMENT(n), KVR_ARGUMENT(padded),
                       KVR_ARGUMENT(items), KVR_ARGUMENT(lane->orders.handle));
    if (status == KVR_OK)
        status = gpu_download(lane, lane->orders, orders->orders[0],
                              (size_t)items * sizeof(uint32_t), err);
    enum kvr_status ended = gpu_finish(lane, status == KVR_OK ? err : NULL);
    return status == KVR_OK ? ended : status;
}
