/*
 * Rows in blocks. It knows shapes and chunks, not what the rows mean.
 */
#include "formats/row_stream.h"

#include <stdlib.h>

#include "formats/base/memory.h"

/* Values of a block: 4 MiB of doubles. */
static const uint64_t block_values = UINT64_C(1) << 19;

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Largest count in 1 … most with count * width <= room. */
static uint64_t fit(uint64_t most, uint64_t width, uint64_t room)
{
    uint64_t count = least_of(most, room / (width > 0 ? width : 1));
    return count > 0 ? count : 1;
}

/*
 * From the heads and rows of a chunk to those of a block: several chunks where they are small, part
 * of one where it is large.
 */
static void plan_block(uint64_t *heads, uint64_t *rows, uint64_t all_rows, uint64_t width)
{
    uint64_t chunk_rows = *rows;
    *rows = fit(chunk_rows, width, block_values);
    *heads = fit(*heads, *rows * width, block_values);
    if (*rows == chunk_rows && chunk_rows > 0)
        *rows = least_of(all_rows,
                         chunk_rows * fit(all_rows, *heads * chunk_rows * width, block_values));
}

/* One block: its rows of each head are visited in ascending order. */
static enum kvr_status visit_block(const struct kvr_dataset *dataset, const double *values,
                                   const uint64_t start[2], const uint64_t count[2],
                                   kvr_row_visitor *visit, void *context, struct kvr_error *err)
{
    uint64_t width = dataset->shape[dataset->rank - 1];
    for (uint64_t h = 0; h < count[0]; h++) {
        for (uint64_t q = 0; q < count[1]; q++) {
            const double *row = values + (h * count[1] + q) * width;
            enum kvr_status status = visit(context, start[0] + h, start[1] + q, row, err);
            if (status != KVR_OK)
                return status;
        }
    }
    return KVR_OK;
}

enum kvr_status kvr_visit_rows(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                               kvr_row_visitor *visit, void *context, struct kvr_error *err)
{
    bool flat = dataset->rank == 2;
    uint64_t heads = dataset->shape[0], rows = flat ? 1 : dataset->shape[1];
    uint64_t width = dataset->shape[dataset->rank - 1];
    uint64_t block_rows = least_of(rows, flat ? 1 : dataset->chunk[1]);
    uint64_t block_heads = least_of(heads, dataset->chunk[0]);
    plan_block(&block_heads, &block_rows, rows, width);
    size_t room;
    if (heads == 0 || rows == 0 || width == 0)
        return KVR_OK;
    if (!kvr_size_product((size_t)(block_heads * block_rows), (size_t)width, &room))
        return kvr_fail(err, KVR_NO_MEMORY, "%s: rows are too long", dataset->path);
    double *values = kvr_alloc(room, sizeof *values, err);
    if (values == NULL)
        return KVR_NO_MEMORY;

    enum kvr_status status = KVR_OK;
    for (uint64_t h = 0; h < heads && status == KVR_OK; h += block_heads) {
        for (uint64_t q = 0; q < rows && status == KVR_OK; q += block_rows) {
            uint64_t start[2] = {h, q};
            uint64_t count[2] = {least_of(block_heads, heads - h), least_of(block_rows, rows - q)};
            const uint64_t at[KVR_DATASET_RANK] = {h, flat ? 0 : q, 0};
            const uint64_t size[KVR_DATASET_RANK] = {count[0], flat ? width : count[1],
                                                     flat ? 1 : width};
            status = kvr_trace_read(trace, dataset, at, size, values, err);
            if (status == KVR_OK)
                status = visit_block(dataset, values, start, count, visit, context, err);
        }
    }
    free(values);
    return status;
}
