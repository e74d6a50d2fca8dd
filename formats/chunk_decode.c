/*
 * The three filters of a chunk, backwards. It must not know HDF5 or where chunks come from.
 */
#include "formats/chunk_decode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/inflate.h"
#include "formats/fletcher32.h"
#include "formats/planes.h"

enum {
    CHECKSUM_BYTES = 4,
    MOST_EXPANSION = 1032, /* deflate stores at least one byte for that many */
    STORED_SLACK = 4096,   /* for headers and trailers of a chunk that does not compress */
};

uint64_t kvr_chunk_stored_limit(const struct kvr_chunk_plan *plan)
{
    return (uint64_t)plan->bytes + plan->bytes / 64 + STORED_SLACK;
}

static bool checksum_matches(const unsigned char *bytes, size_t size)
{
    uint32_t sum = kvr_fletcher32(bytes, size);
    const unsigned char *at = bytes + size;
    uint32_t stored =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    /* HDF5 before 1.6.3 wrote the bytes of each half the other way round on some machines. */
    uint32_t old = (sum & 0x00ff00ffu) << 8 | (sum & 0xff00ff00u) >> 8;
    return stored == sum || stored == old;
}

/* Planes of first bytes, second bytes, … back to elements; bytes beyond whole elements stay. */
static void unshuffle(const unsigned char *planes, size_t size, size_t element, unsigned char *out)
{
    size_t count = element > 1 ? size / element : 0;
    if (element == 2)
        kvr_planes_join(planes, planes + count, count, out);
    for (size_t plane = 0; element != 2 && plane < element; plane++)
        for (size_t i = 0; i < count; i++)
            out[i * element + plane] = planes[plane * count + i];
    memcpy(out + count * element, planes + count * element, size - count * element);
}

/*
 * The chunk while its filters are undone. Steps that write it anew do so half-way, but for the last
 * one, which writes the result: there are at most two of them.
 */
struct stage {
    const unsigned char *bytes;
    size_t size;
    unsigned rewrites; /* steps to come that write it anew */
    struct kvr_chunk_room *half_way;
    unsigned char *result; /* allocated by the last of them */
};

/* Where the next step writes its `size` bytes. */
static unsigned char *next_place(struct stage *stage, size_t size, struct kvr_error *err)
{
    if (stage->rewrites > 1)
        return kvr_chunk_room_take(stage->half_way, size, err);
    return stage->result = kvr_alloc_bytes(size, err);
}

static void move_on(struct stage *stage, const unsigned char *bytes, size_t size)
{
    stage->bytes = bytes;
    stage->size = size;
    stage->rewrites--;
}

static enum kvr_status undo_checksum(struct stage *stage, struct kvr_error *err)
{
    if (stage->size < CHECKSUM_BYTES)
        return kvr_fail(err, KVR_BAD_INPUT, "damaged, its %zu bytes are too few for a checksum",
                        stage->size);
    if (!checksum_matches(stage->bytes, stage->size - CHECKSUM_BYTES))
        return kvr_fail(err, KVR_BAD_INPUT, "damaged, it does not match its checksum");
    stage->size -= CHECKSUM_BYTES;
    return KVR_OK;
}

static enum kvr_status undo_deflate(struct stage *stage, size_t size, struct kvr_error *err)
{
    /* Asked before allocating: a chunk of a few bytes cannot hold gigabytes. */
    if (stage->size < size / MOST_EXPANSION)
        return kvr_fail(err, KVR_BAD_INPUT, "damaged, its %zu bytes cannot inflate to %zu",
                        stage->size, size);
    unsigned char *inflated = next_place(stage, size, err);
    if (inflated == NULL)
        return KVR_NO_MEMORY;
    if (!kvr_inflate(stage->bytes, stage->size, inflated, size))
        return kvr_fail(err, KVR_BAD_INPUT, "damaged, it does not inflate to %zu bytes", size);
    move_on(stage, inflated, size);
    return KVR_OK;
}

static enum kvr_status undo_shuffle(struct stage *stage, size_t element, struct kvr_error *err)
{
    unsigned char *plain = next_place(stage, stage->size, err);
    if (plain == NULL)
        return KVR_NO_MEMORY;
    unshuffle(stage->bytes, stage->size, element, plain);
    move_on(stage, plain, stage->size);
    return KVR_OK;
}

/* Where planes are kept and this chunk has none. */
static enum kvr_status shuffle(struct stage *stage, struct kvr_error *err)
{
    const size_t count = stage->size / 2;
    unsigned char *planes = next_place(stage, stage->size, err);
    if (planes == NULL)
        return KVR_NO_MEMORY;
    kvr_planes_split(stage->bytes, count, planes, planes + count);
    memcpy(planes + 2 * count, stage->bytes + 2 * count, stage->size % 2);
    move_on(stage, planes, stage->size);
    return KVR_OK;
}

/* The size of a chunk before filter `index` was applied: checksums lengthen what follows them. */
static size_t size_before(const struct kvr_chunk_plan *plan, uint32_t filter_mask, unsigned index)
{
    size_t size = plan->bytes;
    for (unsigned i = 0; i < index; i++)
        if (plan->filters[i] == KVR_FILTER_FLETCHER32 && (filter_mask >> i & 1) == 0)
            size += CHECKSUM_BYTES;
    return size;
}

static enum kvr_status undo(const struct kvr_chunk_plan *plan, uint32_t filter_mask, unsigned index,
                            struct stage *stage, struct kvr_error *err)
{
    switch (plan->filters[index]) {
    case KVR_FILTER_FLETCHER32:
        return undo_checksum(stage, err);
    case KVR_FILTER_DEFLATE:
        return undo_deflate(stage, size_before(plan, filter_mask, index), err);
    case KVR_FILTER_SHUFFLE:
        if (plan->keeps_planes)
            return shuffle(stage, err);
        return undo_shuffle(stage, plan->shuffle_size, err);
    }
    return kvr_fail(err, KVR_INTERNAL, "unknown chunk filter %d", (int)plan->filters[index]);
}

/* Whether there is anything to do about filter `index`: what was left out needs no undoing. */
static bool must_act(const struct kvr_chunk_plan *plan, uint32_t filter_mask, unsigned index)
{
    bool applied = (filter_mask >> index & 1) == 0;
    return plan->keeps_planes && index == 0 ? !applied : applied;
}

static unsigned count_rewrites(const struct kvr_chunk_plan *plan, uint32_t filter_mask)
{
    unsigned count = 0;
    for (unsigned i = 0; i < plan->filter_count; i++)
        if (must_act(plan, filter_mask, i) && plan->filters[i] != KVR_FILTER_FLETCHER32)
            count++;
    return count;
}

static enum kvr_status finish(const struct kvr_chunk_plan *plan, struct stage *stage,
                              struct kvr_error *err)
{
    if (stage->size != plan->bytes)
        return kvr_fail(err, KVR_BAD_INPUT, "damaged, expected %zu bytes, found %zu", plan->bytes,
                        stage->size);
    if (stage->result != NULL)
        return KVR_OK;
    stage->result = kvr_alloc_bytes(stage->size, err); /* nothing wrote it anew */
    if (stage->result == NULL)
        return KVR_NO_MEMORY;
    memcpy(stage->result, stage->bytes, stage->size);
    return KVR_OK;
}

enum kvr_status kvr_chunk_decode(const struct kvr_chunk_plan *plan, uint32_t filter_mask,
                                 const unsigned char *stored, size_t size,
                                 struct kvr_chunk_room *half_way, unsigned char **bytes,
                                 struct kvr_error *err)
{
    struct stage stage = {stored, size, count_rewrites(plan, filter_mask), half_way, NULL};
    enum kvr_status status = KVR_OK;
    for (unsigned i = plan->filter_count; status == KVR_OK && i-- > 0;)
        if (must_act(plan, filter_mask, i))
            status = undo(plan, filter_mask, i, &stage, err);
    if (status == KVR_OK)
        status = finish(plan, &stage, err);
    if (status != KVR_OK) {
        free(stage.result);
        return status;
    }
    *bytes = stage.result;
    return KVR_OK;
}
