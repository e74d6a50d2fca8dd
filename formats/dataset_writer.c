/*
 * The values of one dataset of a trace: rounding, chunks, filters. It must not know what they mean.
 *
 * Blocks that cover whole chunks are rounded, packed here and stored as they are; all others go
 * through HDF5 and its chunk cache. Either way HDF5 sees stored bits and never converts a number.
 */
#include "formats/trace_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/chunk_pack.h"
#include "formats/h5_session.h"
#include "formats/trace_names.h"
#include "formats/trace_writer_state.h"

/* Half of the smallest common second-level cache, and well inside the 0.25-4 MiB that reading in
   parallel likes. */
static const uint64_t chunk_target = UINT64_C(512) << 10;

/* Chunks that are written piece by piece wait here until they are whole. Used only as needed. */
static const size_t chunk_cache_bytes = (size_t)64 << 20;
enum { CHUNK_CACHE_SLOTS = 10007 };

struct kvr_dataset_writer {
    struct kvr_trace_writer *owner;
    struct kvr_dataset_writer *previous, *next; /* the owner's open datasets */
    char *place;                                /* "/samples/0/layers/3/attention" */
    hid_t dataset, type;
    struct kvr_storage storage; /* with the chunk shape in force */
    unsigned rank;
    uint64_t shape[KVR_DATASET_RANK]; /* 1 beyond rank, as in storage.chunk */
    size_t element_size;
    struct kvr_packer *packer; /* NULL if contiguous */
    unsigned char *raw;        /* stored elements: one chunk, or a block on its way to HDF5 */
    size_t raw_bytes;
};

struct kvr_storage kvr_storage_default(void)
{
    return (struct kvr_storage){
        .type = {.kind = KVR_HALF},
        .shuffle = true,
        .deflate_level = 1,
    };
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t at_least_one(uint64_t a)
{
    return a > 0 ? a : 1;
}

/* The length of the pieces if an axis is cut into as few equal pieces of at most `most` as can be.
 */
static uint64_t even_piece(uint64_t length, uint64_t most)
{
    if (length <= most)
        return length;
    uint64_t pieces = (length + most - 1) / most;
    return (length + pieces - 1) / pieces;
}

void kvr_storage_choose_chunk(struct kvr_storage *storage, unsigned rank, const uint64_t *shape,
                              uint64_t heads)
{
    size_t size = kvr_element_size(storage->type.kind);
    uint64_t *chunk = storage->chunk;
    heads = at_least_one(least(heads, shape[0]));
    uint64_t room = at_least_one(chunk_target / at_least_one(size) / heads);
    for (unsigned axis = rank - 1; axis > 0; axis--) {
        chunk[axis] = even_piece(shape[axis], room);
        room = at_least_one(room / at_least_one(chunk[axis]));
    }
    chunk[0] = least(heads * room, shape[0]);
    for (unsigned axis = rank; axis < KVR_DATASET_RANK; axis++)
        chunk[axis] = 1;
}

/* The stored type; negative on failure. */
static hid_t create_type(struct kvr_element_type type)
{
    if (type.kind == KVR_BFLOAT16 && type.as_uint16)
        return H5Tcopy(type.big_endian ? H5T_STD_U16BE : H5T_STD_U16LE);
    hid_t created = H5Tcopy(type.kind == KVR_DOUBLE ? H5T_IEEE_F64LE : H5T_IEEE_F32LE);
    if (created < 0)
        return created;
    bool failed = false;
    if (type.kind == KVR_HALF)
        failed = H5Tset_fields(created, 15, 10, 5, 0, 10) < 0 || H5Tset_size(created, 2) < 0 ||
                 H5Tset_ebias(created, 15) < 0;
    if (type.kind == KVR_BFLOAT16)
        failed = H5Tset_fields(created, 15, 7, 8, 0, 7) < 0 || H5Tset_size(created, 2) < 0 ||
                 H5Tset_ebias(created, 127) < 0;
    if (failed || (type.big_endian && H5Tset_order(created, H5T_ORDER_BE) < 0)) {
        H5Tclose(created);
        return H5I_INVALID_HID;
    }
    return created;
}

/* True if the lengths are those of the member's axes; a head size is any. */
static bool has_axes(const struct kvr_trace_writer *writer, size_t member, unsigned rank,
                     const uint64_t *shape)
{
    const char *axes = kvr_members[member].axes;
    if (rank != strlen(axes))
        return false;
    for (unsigned i = 0; i < rank; i++) {
        uint64_t length = shape[i];
        if (axes[i] == 'H')
            length = kvr_members[member].per_kv_head ? writer->kv_heads : writer->query_heads;
        else if (axes[i] == 'Q')
            length = writer->query_count;
        else if (axes[i] == 'T')
            length = writer->context_length;
        if (shape[i] != length || length == 0)
            return false;
    }
    return true;
}

/* What the writer was asked for must be a dataset that a reader will take. */
static enum kvr_status check_shape(const struct kvr_trace_writer *writer, const char *name,
                                   unsigned rank, const uint64_t *shape, struct kvr_error *err)
{
    bool column = strncmp(name, "scores/", 7) == 0 && name[7] != '\0' && !strchr(name + 7, '/');
    if (column && rank == 2 && shape[1] == writer->context_length &&
        (shape[0] == writer->query_heads || shape[0] == writer->kv_heads))
        return KVR_OK;
    for (size_t m = 0; m < KVR_MEMBERS; m++)
        if (strcmp(name, kvr_members[m].name) == 0 && has_axes(writer, m, rank, shape))
            return KVR_OK;
    return kvr_fail(
        err, KVR_INTERNAL,
        "\"%s\": %s/%s: not a dataset of a trace, or not of a shape that fits its layer",
        writer->path, writer->layer_place, name);
}

static enum kvr_status check_storage(const struct kvr_storage *storage, struct kvr_error *err)
{
    if (storage->deflate_level > 9)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "deflate level %u: expected 0 ... 9",
                        storage->deflate_level);
    if (storage->contiguous &&
        (storage->shuffle || storage->fletcher32 || storage->deflate_level > 0))
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "contiguous datasets cannot have filters: expected chunks");
    return KVR_OK;
}

/* Cuts a given chunk to the shape, or chooses one. HDF5 holds chunks below 4 GiB only. */
static enum kvr_status settle_chunk(struct kvr_dataset_writer *dataset, struct kvr_error *err)
{
    const struct kvr_trace_writer *writer = dataset->owner;
    uint64_t *chunk = dataset->storage.chunk;
    if (chunk[0] == 0) {
        bool per_query_head = dataset->shape[0] == writer->query_heads;
        kvr_storage_choose_chunk(&dataset->storage, dataset->rank, dataset->shape,
                                 per_query_head ? writer->query_heads / writer->kv_heads : 1);
    }
    size_t bytes = dataset->element_size;
    bool fits = true;
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        chunk[axis] = axis < dataset->rank ? least(chunk[axis], dataset->shape[axis]) : 1;
        fits = fits && chunk[axis] > 0 && kvr_size_product(bytes, chunk[axis], &bytes);
    }
    if (!fits || bytes > UINT32_MAX)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\": %s: expected chunks of 1 byte ... 4 GiB",
                        writer->path, dataset->place);
    const struct kvr_packing packing = {
        .chunk_bytes = bytes,
        .element_size = dataset->element_size,
        .shuffle = dataset->storage.shuffle,
        .fletcher32 = dataset->storage.fletcher32,
        .deflate_level = dataset->storage.deflate_level,
    };
    dataset->raw = kvr_alloc(bytes, 1, err);
    dataset->raw_bytes = bytes;
    return dataset->raw == NULL ? KVR_NO_MEMORY : kvr_packer_new(&packing, &dataset->packer, err);
}

static hid_t creation_properties(const struct kvr_dataset_writer *dataset)
{
    hid_t properties = kvr_h5_untimed(H5P_DATASET_CREATE);
    const struct kvr_storage *storage = &dataset->storage;
    if (properties < 0 || storage->contiguous)
        return properties;
    hsize_t chunk[KVR_DATASET_RANK];
    for (unsigned axis = 0; axis < dataset->rank; axis++)
        chunk[axis] = storage->chunk[axis];
    bool failed =
        H5Pset_chunk(properties, (int)dataset->rank, chunk) < 0 ||
        (storage->shuffle && H5Pset_shuffle(properties) < 0) ||
        (storage->deflate_level > 0 && H5Pset_deflate(properties, storage->deflate_level) < 0) ||
        (storage->fletcher32 && H5Pset_fletcher32(properties) < 0);
    if (!failed)
        return properties;
    H5Pclose(properties);
    return H5I_INVALID_HID;
}

static hid_t access_properties(const struct kvr_dataset_writer *dataset)
{
    hid_t properties = H5Pcreate(H5P_DATASET_ACCESS);
    if (properties >= 0 && !dataset->storage.contiguous)
        H5Pset_chunk_cache(properties, CHUNK_CACHE_SLOTS, chunk_cache_bytes, 1.0);
    return properties;
}

static enum kvr_status hdf5_failed(const struct kvr_dataset_writer *dataset, struct kvr_error *err)
{
    return kvr_trace_writer_failed(dataset->owner, dataset->place, err);
}

static enum kvr_status create_dataset(struct kvr_dataset_writer *dataset, const char *name,
                                      struct kvr_error *err)
{
    hsize_t shape[KVR_DATASET_RANK];
    for (unsigned axis = 0; axis < dataset->rank; axis++)
        shape[axis] = dataset->shape[axis];
    hid_t space = H5Screate_simple((int)dataset->rank, shape, NULL);
    hid_t creation = creation_properties(dataset);
    hid_t access = access_properties(dataset);
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1); /* "scores" */
    dataset->type = create_type(dataset->storage.type);
    if (space >= 0 && creation >= 0 && dataset->type >= 0)
        dataset->dataset =
            H5Dcreate2(dataset->owner->layer, name, dataset->type, space, links, creation, access);
    H5Pclose(links);
    H5Pclose(access);
    H5Pclose(creation);
    H5Sclose(space);
    if (dataset->dataset < 0)
        return hdf5_failed(dataset, err);
    if (dataset->storage.type.as_uint16 &&
        kvr_h5_put_string(dataset->dataset, "encoding", "bfloat16") < 0)
        return hdf5_failed(dataset, err);
    return KVR_OK;
}

static void link_to_owner(struct kvr_dataset_writer *dataset)
{
    struct kvr_trace_writer *owner = dataset->owner;
    dataset->next = owner->open;
    if (owner->open != NULL)
        owner->open->previous = dataset;
    owner->open = dataset;
}

static void unlink_from_owner(struct kvr_dataset_writer *dataset)
{
    if (dataset->next != NULL)
        dataset->next->previous = dataset->previous;
    if (dataset->previous != NULL)
        dataset->previous->next = dataset->next;
    else if (dataset->owner->open == dataset)
        dataset->owner->open = dataset->next;
}

static enum kvr_status start_dataset(struct kvr_dataset_writer *dataset, const char *name,
                                     struct kvr_error *err)
{
    struct kvr_trace_writer *writer = dataset->owner;
    size_t size = strlen(writer->layer_place) + strlen(name) + 2;
    dataset->place = kvr_alloc(size, 1, err);
    if (dataset->place == NULL)
        return KVR_NO_MEMORY;
    snprintf(dataset->place, size, "%s/%s", writer->layer_place, name);
    dataset->element_size = kvr_element_size(dataset->storage.type.kind);
    if (dataset->storage.type.kind != KVR_BFLOAT16)
        dataset->storage.type.as_uint16 = false;
    enum kvr_status status = check_storage(&dataset->storage, err);
    if (status == KVR_OK && !dataset->storage.contiguous)
        status = settle_chunk(dataset, err);
    if (status == KVR_OK)
        status = create_dataset(dataset, name, err);
    return status;
}

enum kvr_status kvr_trace_writer_dataset(struct kvr_trace_writer *writer, const char *name,
                                         unsigned rank, const uint64_t *shape,
                                         const struct kvr_storage *storage,
                                         struct kvr_dataset_writer **out, struct kvr_error *err)
{
    if (writer->layer < 0)
        return kvr_fail(err, KVR_INTERNAL, "\"%s\": a dataset before its layer", writer->path);
    enum kvr_status status = check_shape(writer, name, rank, shape, err);
    if (status != KVR_OK)
        return status;
    struct kvr_dataset_writer *dataset = kvr_alloc(1, sizeof *dataset, err);
    if (dataset == NULL)
        return KVR_NO_MEMORY;
    dataset->owner = writer;
    dataset->dataset = dataset->type = H5I_INVALID_HID;
    dataset->storage = *storage;
    dataset->rank = rank;
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++)
        dataset->shape[axis] = axis < rank ? shape[axis] : 1;
    link_to_owner(dataset);

    kvr_h5_enter(false);
    status = start_dataset(dataset, name, err);
    if (status == KVR_OK)
        status = kvr_sink_check(writer->sink, err);
    if (status != KVR_OK)
        kvr_dataset_writer_drop(dataset);
    else
        *out = dataset;
    kvr_h5_leave();
    return kvr_trace_writer_note(writer, status, err);
}

/* Blocks of values. */

struct block {
    uint64_t start[KVR_DATASET_RANK], count[KVR_DATASET_RANK];
    const double *values;
};

static enum kvr_status check_block(const struct kvr_dataset_writer *dataset,
                                   const struct block *block, struct kvr_error *err)
{
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        uint64_t length = dataset->shape[axis];
        if (block->start[axis] > length || block->count[axis] > length - block->start[axis])
            return kvr_fail(err, KVR_INTERNAL, "\"%s\": %s: a block outside of the dataset",
                            dataset->owner->path, dataset->place);
    }
    return KVR_OK;
}

static bool covers_whole_chunks(const struct kvr_dataset_writer *dataset, const struct block *block)
{
    if (dataset->storage.contiguous)
        return false;
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        uint64_t chunk = dataset->storage.chunk[axis];
        uint64_t end = block->start[axis] + block->count[axis];
        if (block->start[axis] % chunk != 0 || (end % chunk != 0 && end != dataset->shape[axis]))
            return false;
    }
    return true;
}

/* Rounds the chunk at `corner` into dataset->raw; what lies beyond the dataset's edge is 0. */
static void gather_chunk(struct kvr_dataset_writer *dataset, const struct block *block,
                         const uint64_t corner[KVR_DATASET_RANK])
{
    const uint64_t *chunk = dataset->storage.chunk;
    uint64_t count[KVR_DATASET_RANK];
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++)
        count[axis] = least(chunk[axis], dataset->shape[axis] - corner[axis]);
    if (count[0] < chunk[0] || count[1] < chunk[1] || count[2] < chunk[2])
        memset(dataset->raw, 0, dataset->raw_bytes);
    for (uint64_t i = 0; i < count[0]; i++) {
        for (uint64_t j = 0; j < count[1]; j++) {
            uint64_t from = ((corner[0] + i - block->start[0]) * block->count[1] + corner[1] + j -
                             block->start[1]) *
                                block->count[2] +
                            corner[2] - block->start[2];
            uint64_t to = (i * chunk[1] + j) * chunk[2];
            kvr_element_encode(dataset->storage.type, block->values + from, count[2],
                               dataset->raw + to * dataset->element_size);
        }
    }
}

static enum kvr_status store_chunk(struct kvr_dataset_writer *dataset,
                                   const uint64_t corner[KVR_DATASET_RANK], struct kvr_error *err)
{
    const void *packed;
    size_t length;
    uint32_t skipped;
    kvr_packer_pack(dataset->packer, dataset->raw, &packed, &length, &skipped);
    hsize_t offset[KVR_DATASET_RANK];
    for (unsigned axis = 0; axis < dataset->rank; axis++)
        offset[axis] = corner[axis];
    enum kvr_status status = KVR_OK;
    kvr_h5_enter(false);
    if (H5Dwrite_chunk(dataset->dataset, H5P_DEFAULT, skipped, offset, length, packed) < 0)
        status = hdf5_failed(dataset, err);
    kvr_h5_leave();
    return status == KVR_OK ? kvr_sink_check(dataset->owner->sink, err) : status;
}

static enum kvr_status write_chunks(struct kvr_dataset_writer *dataset, const struct block *block,
                                    struct kvr_error *err)
{
    const uint64_t *chunk = dataset->storage.chunk;
    uint64_t end[KVR_DATASET_RANK], corner[KVR_DATASET_RANK] = {0};
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++)
        end[axis] = block->start[axis] + block->count[axis];
    for (corner[0] = block->start[0]; corner[0] < end[0]; corner[0] += chunk[0]) {
        for (corner[1] = block->start[1]; corner[1] < end[1]; corner[1] += chunk[1]) {
            for (corner[2] = block->start[2]; corner[2] < end[2]; corner[2] += chunk[2]) {
                gather_chunk(dataset, block, corner);
                enum kvr_status status = store_chunk(dataset, corner, err);
                if (status != KVR_OK)
                    return status;
            }
        }
    }
    return KVR_OK;
}

static enum kvr_status make_room(struct kvr_dataset_writer *dataset, size_t bytes,
                                 struct kvr_error *err)
{
    if (bytes <= dataset->raw_bytes)
        return KVR_OK;
    unsigned char *larger = kvr_alloc(bytes, 1, err);
    if (larger == NULL)
        return KVR_NO_MEMORY;
    free(dataset->raw);
    dataset->raw = larger;
    dataset->raw_bytes = bytes;
    return KVR_OK;
}

static enum kvr_status write_through_hdf5(struct kvr_dataset_writer *dataset,
                                          const struct block *block, struct kvr_error *err)
{
    hsize_t start[KVR_DATASET_RANK], count[KVR_DATASET_RANK];
    size_t elements = 1;
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        start[axis] = block->start[axis];
        count[axis] = block->count[axis];
        elements *= (size_t)block->count[axis]; /* the caller holds as many doubles */
    }
    enum kvr_status status = make_room(dataset, elements * dataset->element_size, err);
    if (status != KVR_OK)
        return status;
    kvr_element_encode(dataset->storage.type, block->values, elements, dataset->raw);
    kvr_h5_enter(false);
    hid_t file_space = H5Dget_space(dataset->dataset);
    hid_t memory_space = H5Screate_simple((int)dataset->rank, count, NULL);
    herr_t result = H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL);
    if (result >= 0)
        result = H5Dwrite(dataset->dataset, dataset->type, memory_space, file_space, H5P_DEFAULT,
                          dataset->raw);
    if (result < 0)
        status = hdf5_failed(dataset, err);
    H5Sclose(memory_space);
    H5Sclose(file_space);
    kvr_h5_leave();
    return status == KVR_OK ? kvr_sink_check(dataset->owner->sink, err) : status;
}

enum kvr_status kvr_dataset_writer_write(struct kvr_dataset_writer *dataset,
                                         const uint64_t start[KVR_DATASET_RANK],
                                         const uint64_t count[KVR_DATASET_RANK],
                                         const double *values, struct kvr_error *err)
{
    struct block block = {.values = values};
    bool empty = false;
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        block.start[axis] = axis < dataset->rank ? start[axis] : 0;
        block.count[axis] = axis < dataset->rank ? count[axis] : 1;
        empty = empty || block.count[axis] == 0;
    }
    enum kvr_status status = check_block(dataset, &block, err);
    if (status == KVR_OK && !empty)
        status = covers_whole_chunks(dataset, &block) ? write_chunks(dataset, &block, err)
                                                      : write_through_hdf5(dataset, &block, err);
    return kvr_trace_writer_note(dataset->owner, status, err);
}

/* The end. */

static void release(struct kvr_dataset_writer *dataset)
{
    if (dataset->type >= 0)
        H5Tclose(dataset->type);
    unlink_from_owner(dataset);
    kvr_packer_free(dataset->packer);
    free(dataset->raw);
    free(dataset->place);
    free(dataset);
}

void kvr_dataset_writer_drop(struct kvr_dataset_writer *dataset)
{
    if (dataset->dataset >= 0)
        H5Dclose(dataset->dataset);
    release(dataset);
}

enum kvr_status kvr_dataset_writer_finish(struct kvr_dataset_writer *dataset, struct kvr_error *err)
{
    struct kvr_trace_writer *owner = dataset->owner;
    enum kvr_status status = KVR_OK;
    if (H5Dclose(dataset->dataset) < 0)
        status = hdf5_failed(dataset, err);
    else
        status = kvr_sink_check(owner->sink, err);
    release(dataset);
    return kvr_trace_writer_note(owner, status, err);
}

enum kvr_status kvr_dataset_writer_close(struct kvr_dataset_writer *dataset, struct kvr_error *err)
{
    kvr_h5_enter(false);
    enum kvr_status status = kvr_dataset_writer_finish(dataset, err);
    kvr_h5_leave();
    return status;
}
