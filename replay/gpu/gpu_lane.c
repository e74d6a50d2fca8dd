/*
 * Lanes: queues, kernels and buffers of one cell. It must not know what kernels compute.
 */
#include "replay/gpu/gpu_lane.h"

#include <stdlib.h>

#include "formats/base/memory.h"

static const char *const kernel_names[GPU_KERNELS] = {
    [GPU_ROW_SUMS] = "row_sums",           [GPU_ROW_SQUARES] = "row_squares",
    [GPU_ROUND_MEANS] = "round_means",     [GPU_STATISTICS] = "statistics",
    [GPU_POOL_SUMS] = "pool_sums",         [GPU_POOL_MAXIMA] = "pool_maxima",
    [GPU_SMOOTH_MEANS] = "smooth_means",   [GPU_SMOOTH_MAXIMA] = "smooth_maxima",
    [GPU_PAGE_SUMS] = "page_sums",         [GPU_PAGE_MAXIMA] = "page_maxima",
    [GPU_SELECT_TOP] = "select_top",       [GPU_COUNT_UNIONS] = "count_unions",
    [GPU_COUNT_PAIRS] = "count_pairs",     [GPU_SORT_NUMBERS] = "sort_numbers",
    [GPU_SORT_STEP] = "sort_step",         [GPU_SORT_CHUNKS] = "sort_chunks",
    [GPU_SORT_ORDERS] = "sort_orders",     [GPU_TO_FLOATS] = "to_floats",
    [GPU_STRIP_LOGITS] = "strip_logits",   [GPU_STRIP_WEIGHTS] = "strip_weights",
    [GPU_STRIP_FACTORS] = "strip_factors", [GPU_STRIP_COLUMNS] = "strip_columns",
};

static const struct kvr_device_host *host_of(const struct gpu_lane *lane)
{
    return lane->compute->device->host;
}

enum kvr_status gpu_lane_open(struct gpu_compute *compute, struct gpu_lane **out,
                              struct kvr_error *err)
{
    struct gpu_lane *lane = kvr_alloc(1, sizeof *lane, err);
    if (lane == NULL)
        return KVR_NO_MEMORY;
    lane->base.backend = compute->base.backend;
    lane->base.falls_back = compute->base.falls_back;
    lane->compute = compute;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < GPU_SLOTS; i++)
        status = host_of(lane)->open_queue(compute->device, &lane->slots[i].queue, err);
    if (status != KVR_OK)
        gpu_lane_close(lane);
    else
        *out = lane;
    return status;
}

static void release(struct gpu_lane *lane, struct kvr_buffer *buffer)
{
    atomic_fetch_sub(&lane->compute->in_use, buffer->bytes);
    host_of(lane)->release(lane->compute->device, buffer);
}

void gpu_lane_close(struct gpu_lane *lane)
{
    const struct kvr_device_host *host = host_of(lane);
    struct kvr_buffer *const buffers[] = {
        &lane->sums,    &lane->mass,     &lane->peak,    &lane->results, &lane->counts,
        &lane->weights, &lane->pooled,   &lane->units,   &lane->cuts,    &lane->sets,
        &lane->sizes,   &lane->smoothed, &lane->pairs,   &lane->numbers, &lane->orders,
        &lane->keys,    &lane->queries,  &lane->spans,   &lane->strip,   &lane->most,
        &lane->parts,   &lane->factors,  &lane->columns,
    };
    for (size_t i = 0; i < GPU_SLOTS; i++) {
        struct gpu_slot *slot = &lane->slots[i];
        if (slot->queue == NULL)
            continue;
        host->drop_mark(slot->mark);
        host->unstage(slot->queue, &slot->staging);
        host->close_queue(slot->queue);
        release(lane, &slot->block);
    }
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        release(lane, buffers[i]);
    for (size_t i = 0; i < lane->vectors_capacity; i++)
        release(lane, &lane->vectors[i].buffer);
    for (size_t i = 0; i < GPU_KERNELS; i++)
        host->drop_kernel(lane->kernels[i]);
    free(lane->vectors);
    free(lane);
}

enum kvr_status gpu_lane_start(struct gpu_lane *lane, const struct kvr_cell *cell,
                               struct kvr_error *err)
{
    size_t capacity = lane->vectors_capacity;
    void *grown = lane->vectors;
    enum kvr_status status =
        kvr_reserve(&grown, &capacity, cell->scored_count, sizeof *lane->vectors, err);
    lane->vectors = grown;
    for (; status == KVR_OK && lane->vectors_capacity < capacity; lane->vectors_capacity++)
        lane->vectors[lane->vectors_capacity] = (struct gpu_vectors){.valid = false};
    for (size_t i = 0; i < lane->vectors_capacity; i++)
        lane->vectors[i].valid = false;
    lane->base.failed = false;
    return status;
}

static enum kvr_status refuse(const struct gpu_lane *lane, size_t bytes, struct kvr_error *err)
{
    const struct kvr_device *device = lane->compute->device;
    kvr_fail(err, KVR_NO_MEMORY,
             "%s:%u: out of device memory: %zu bytes are needed beside %llu of %llu",
             device->host->name, device->number, bytes,
             (unsigned long long)atomic_load(&lane->compute->in_use),
             (unsigned long long)lane->compute->memory);
    return kvr_hint(err, "fewer --threads need less; --device cpu needs none");
}

enum kvr_status gpu_reserve(struct gpu_lane *lane, struct kvr_buffer *buffer, size_t count,
                            size_t size, struct kvr_error *err)
{
    size_t bytes;
    if (!kvr_size_product(count, size, &bytes))
        return refuse(lane, (size_t)-1, err);
    if (bytes <= buffer->bytes && buffer->handle != 0)
        return KVR_OK;
    struct gpu_compute *compute = lane->compute;
    release(lane, buffer);
    bytes = bytes < 256 ? 256 : bytes;
    if (atomic_fetch_add(&compute->in_use, bytes) + bytes > compute->memory) {
        atomic_fetch_sub(&compute->in_use, bytes);
        return refuse(lane, bytes, err);
    }
    enum kvr_status status = host_of(lane)->allocate(compute->device, bytes, buffer, err);
    if (status != KVR_OK)
        atomic_fetch_sub(&compute->in_use, bytes);
    return status;
}

enum kvr_status gpu_reserve_staging(struct gpu_lane *lane, struct gpu_slot *slot, size_t bytes,
                                    struct kvr_error *err)
{
    if (bytes <= slot->staging.size)
        return KVR_OK;
    host_of(lane)->unstage(slot->queue, &slot->staging);
    return host_of(lane)->stage(slot->queue, bytes, &slot->staging, err);
}

enum kvr_status gpu_upload(struct gpu_lane *lane, struct kvr_buffer buffer, const void *from,
                           size_t bytes, struct kvr_error *err)
{
    return host_of(lane)->upload(lane->slots[0].queue, buffer, 0, from, bytes, err);
}

enum kvr_status gpu_download(struct gpu_lane *lane, struct kvr_buffer buffer, void *to,
                             size_t bytes, struct kvr_error *err)
{
    return host_of(lane)->download(lane->slots[0].queue, buffer, 0, to, bytes, err);
}

enum kvr_status gpu_finish(struct gpu_lane *lane, struct kvr_error *err)
{
    return host_of(lane)->finish(lane->slots[0].queue, err);
}

enum kvr_status gpu_launch(struct gpu_lane *lane, unsigned slot, enum gpu_kernel kernel,
                           size_t groups, const struct kvr_kernel_argument *arguments,
                           size_t argument_count, struct kvr_error *err)
{
    const struct kvr_device_host *host = host_of(lane);
    enum kvr_status status = KVR_OK;
    if (lane->kernels[kernel] == NULL)
        status = host->find_kernel(lane->compute->device, kernel_names[kernel],
                                   &lane->kernels[kernel], err);
    return status == KVR_OK ? host->launch(lane->slots[slot].queue, lane->kernels[kernel], groups,
                                           arguments, argument_count, err)
                            : status;
}

size_t gpu_groups(const struct gpu_lane *lane, size_t items)
{
    size_t group = lane->compute->device->group;
    return items / group + (items % group != 0 ? 1 : 0);
}

enum kvr_status gpu_vectors_of(struct gpu_lane *lane, const struct kvr_cell *cell,
                               const struct kvr_scored *scored, struct kvr_buffer *buffer,
                               struct kvr_error *err)
{
    struct gpu_vectors *vectors = &lane->vectors[scored - cell->scored];
    size_t values = scored->heads * cell->candidates.count;
    enum kvr_status status = KVR_OK;
    if (!vectors->valid) {
        status = gpu_reserve(lane, &vectors->buffer, values, sizeof *scored->vectors, err);
        if (status == KVR_OK)
            status = gpu_upload(lane, vectors->buffer, scored->vectors,
                                values * sizeof *scored->vectors, err);
        vectors->valid = status == KVR_OK;
    }
    *buffer = vectors->buffer;
    return status;
}
