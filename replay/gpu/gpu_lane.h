/*
 * What a device holds while it works on one cell: queues, kernels, buffers that grow with use.
 * Private to replay/gpu/.
 *
 * Rows stream through two slots, each with a queue, staging memory and a buffer, so that a block is
 * uploaded while the one before it is summed. All other work is on the first queue.
 */
#ifndef KVR_GPU_LANE_H
#define KVR_GPU_LANE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/backend.h"
#include "replay/gpu/device.h"

struct gpu_compute {
    struct kvr_compute base;
    struct kvr_device *device;
    uint64_t memory;          /* bytes that may be used */
    _Atomic uint64_t in_use;  /* bytes of buffers */
    pthread_mutex_t mutex;    /* guards what follows */
    struct gpu_lane *waiting; /* lanes without a cell */
};

enum gpu_kernel {
    GPU_ROW_SUMS,
    GPU_ROW_SQUARES,
    GPU_ROUND_MEANS,
    GPU_STATISTICS,
    GPU_POOL_SUMS,
    GPU_POOL_MAXIMA,
    GPU_SMOOTH_MEANS,
    GPU_SMOOTH_MAXIMA,
    GPU_PAGE_SUMS,
    GPU_PAGE_MAXIMA,
    GPU_SELECT_TOP,
    GPU_COUNT_UNIONS,
    GPU_COUNT_PAIRS,
    GPU_SORT_NUMBERS,
    GPU_SORT_STEP,
    GPU_SORT_CHUNKS,
    GPU_SORT_ORDERS,
    GPU_TO_FLOATS,
    GPU_STRIP_LOGITS,
    GPU_STRIP_WEIGHTS,
    GPU_STRIP_FACTORS,
    GPU_STRIP_COLUMNS,
    GPU_KERNELS,
};

enum { GPU_SLOTS = 2 };

struct gpu_slot {
    struct kvr_queue *queue;
    struct kvr_mark *mark; /* behind the slot's last work; NULL: there was none */
    struct kvr_staging staging;
    struct kvr_buffer block;
};

/* The vectors of a score on the device. */
struct gpu_vectors {
    struct kvr_buffer buffer;
    bool valid; /* equal to those on the host */
};

struct gpu_lane {
    struct kvr_lane base;
    struct gpu_compute *compute;
    struct gpu_lane *next;
    struct kvr_kernel *kernels[GPU_KERNELS]; /* NULL until used */
    struct gpu_slot slots[GPU_SLOTS];
    size_t vectors_capacity;
    struct gpu_vectors *vectors; /* as the cell's scores stand */
    struct kvr_buffer sums, mass, peak;
    struct kvr_buffer results, counts; /* of statistics */
    struct kvr_buffer weights, pooled, smoothed, units;
    struct kvr_buffer cuts, sets, sizes, pairs;
    struct kvr_buffer numbers, orders;
    struct kvr_buffer keys, queries, spans, strip, most, parts, factors,
        columns;               /* of query and key */
    uint64_t rankings;         /* made so far: names of what is resident */
    struct kvr_buffer ranking; /* of the last one: one of the above */
};

static inline struct gpu_lane *gpu_lane_of(const struct kvr_cell *cell)
{
    return (struct gpu_lane *)(void *)cell->lane; /* base is the first member */
}

enum kvr_status gpu_lane_open(struct gpu_compute *compute, struct gpu_lane **out,
                              struct kvr_error *err);
void gpu_lane_close(struct gpu_lane *lane);

/* Makes room for the vectors of a cell; none is valid then. */
enum kvr_status gpu_lane_start(struct gpu_lane *lane, const struct kvr_cell *cell,
                               struct kvr_error *err);

/* Makes a buffer hold at least count * size bytes; what it held is lost if it grows. */
enum kvr_status gpu_reserve(struct gpu_lane *lane, struct kvr_buffer *buffer, size_t count,
                            size_t size, struct kvr_error *err);

/* The same for the staging memory of a slot. */
enum kvr_status gpu_reserve_staging(struct gpu_lane *lane, struct gpu_slot *slot, size_t bytes,
                                    struct kvr_error *err);

/* Copies on the first queue. */
enum kvr_status gpu_upload(struct gpu_lane *lane, struct kvr_buffer buffer, const void *from,
                           size_t bytes, struct kvr_error *err);
enum kvr_status gpu_download(struct gpu_lane *lane, struct kvr_buffer buffer, void *to,
                             size_t bytes, struct kvr_error *err);
enum kvr_status gpu_finish(struct gpu_lane *lane, struct kvr_error *err);

/* Launches a kernel with the given KVR_ARGUMENTs on a slot's queue. */
enum kvr_status gpu_launch(struct gpu_lane *lane, unsigned slot, enum gpu_kernel kernel,
                           size_t groups, const struct kvr_kernel_argument *arguments,
                           size_t argument_count, struct kvr_error *err);
#define GPU_LAUNCH(lane, slot, kernel, groups, err, ...)                                           \
    gpu_launch(lane, slot, kernel, groups, (const struct kvr_kernel_argument[]){__VA_ARGS__},      \
               sizeof((const struct kvr_kernel_argument[]){__VA_ARGS__}) /                         \
                   sizeof(struct kvr_kernel_argument),                                             \
               err)

/* Groups that give `items` an item each. */
size_t gpu_groups(const struct gpu_lane *lane, size_t items);

/* The device's copy of a score's vectors; uploads them if need be. */
enum kvr_status gpu_vectors_of(struct gpu_lane *lane, const struct kvr_cell *cell,
                               const struct kvr_scored *scored, struct kvr_buffer *buffer,
                               struct kvr_error *err);

/* The steps (replay/backend.h). */
enum kvr_status gpu_columns(struct kvr_cell *cell, struct kvr_attention *attention,
                            struct kvr_row_range rows, struct kvr_error *err);
enum kvr_status gpu_rows(struct kvr_cell *cell, struct kvr_error *err);
enum kvr_status gpu_statistics(const struct kvr_cell *cell, struct kvr_scored *scored,
                               struct kvr_error *err);
enum kvr_status gpu_score(const struct kvr_cell *cell, struct kvr_ranking *ranking,
                          struct kvr_error *err);
enum kvr_status gpu_order(const struct kvr_cell *cell, struct kvr_orders *orders,
                          struct kvr_error *err);
enum kvr_status gpu_keep(const struct kvr_cell *cell, const struct kvr_ranking *ranking,
                         struct kvr_ranking_sets *sets, struct kvr_select_scratch *scratch,
                         struct kvr_error *err);

#endif
