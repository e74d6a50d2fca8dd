/*
 * How a dataset's bytes lie in the file, checked against what its shape needs. It must not know
 * what the numbers mean.
 */
#include "formats/h5_dataset.h"

#include <stdio.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/h5_session.h"

enum {
    MOST_RATIO = 1000,   /* of declared to stored bytes, beyond what is believed anyway */
    MOST_PARAMETERS = 8, /* of a filter that we look at */
};

/* The library's own filters, known without asking it: asking would look for plugins. */
static bool is_built_in(H5Z_filter_t id)
{
    return id == H5Z_FILTER_SZIP || id == H5Z_FILTER_NBIT || id == H5Z_FILTER_SCALEOFFSET;
}

static enum kvr_status refuse_filter(H5Z_filter_t id, const char *name, struct kvr_error *err)
{
    kvr_fail(err, KVR_UNSUPPORTED, "stored with filter %d%s%s%s, which is not one of HDF5's own",
             (int)id, name[0] != '\0' ? " (" : "", name, name[0] != '\0' ? ")" : "");
    return kvr_hint(err, "store it with deflate: h5repack -f SHUF -f GZIP=1");
}

static enum kvr_status check_other_filter(H5Z_filter_t id, const char *name, bool allow_plugins,
                                          struct kvr_error *err)
{
    unsigned config = 0;
    if (!is_built_in(id) && !allow_plugins)
        return refuse_filter(id, name, err);
    if (H5Zfilter_avail(id) <= 0 || H5Zget_filter_info(id, &config) < 0 ||
        (config & H5Z_FILTER_CONFIG_DECODE_ENABLED) == 0)
        return kvr_fail(err, KVR_UNSUPPORTED, "stored with filter %d (%s), which HDF5 lacks here",
                        (int)id, name);
    return KVR_OK;
}

/* Adds one of the filters that we undo ourselves; a repeated one is left to HDF5. */
static void plan_filter(struct kvr_h5_storage *storage, bool *seen, enum kvr_chunk_filter filter)
{
    struct kvr_chunk_plan *plan = &storage->plan;
    if (*seen || plan->filter_count == KVR_CHUNK_FILTERS)
        storage->own_decoding = false;
    else
        plan->filters[plan->filter_count++] = filter;
    *seen = true;
}

static enum kvr_status inspect_filter(hid_t properties, unsigned index, bool allow_plugins,
                                      struct kvr_h5_storage *storage, struct kvr_error *err)
{
    unsigned flags, values[MOST_PARAMETERS] = {0};
    size_t count = MOST_PARAMETERS;
    char name[64] = "";
    H5Z_filter_t id =
        H5Pget_filter2(properties, index, &flags, &count, values, sizeof name - 1, name, NULL);
    switch (id) {
    case H5Z_FILTER_ERROR:
        return kvr_h5_failed(err, "its filters cannot be read");
    case H5Z_FILTER_SHUFFLE:
        if (count < 1 || values[0] == 0)
            return kvr_fail(err, KVR_BAD_INPUT, "its shuffle filter has no element size");
        storage->plan.shuffle_size = values[0];
        plan_filter(storage, &storage->shuffle, KVR_FILTER_SHUFFLE);
        return KVR_OK;
    case H5Z_FILTER_DEFLATE:
        storage->deflate_level = count > 0 ? values[0] : 0;
        plan_filter(storage, &storage->deflate, KVR_FILTER_DEFLATE);
        return KVR_OK;
    case H5Z_FILTER_FLETCHER32:
        plan_filter(storage, &storage->fletcher32, KVR_FILTER_FLETCHER32);
        return KVR_OK;
    default:
        storage->other_filters = true;
        storage->own_decoding = false;
        return check_other_filter(id, name, allow_plugins, err);
    }
}

static enum kvr_status inspect_filters(hid_t properties, bool allow_plugins,
                                       struct kvr_h5_storage *storage, struct kvr_error *err)
{
    int count = H5Pget_nfilters(properties);
    if (count < 0)
        return kvr_h5_failed(err, "its filters cannot be read");
    storage->plan.shuffle_size = 1;
    enum kvr_status status = KVR_OK;
    for (int i = 0; status == KVR_OK && i < count; i++)
        status = inspect_filter(properties, (unsigned)i, allow_plugins, storage, err);

    /* Chunks at the edge may have been left unfiltered without a mark of their own. */
    unsigned options = 0;
    if (H5Pget_chunk_opts(properties, &options) >= 0 && options != 0)
        storage->own_decoding = false;
    return status;
}

static enum kvr_status inspect_chunks(const struct kvr_h5_dataset *dataset, bool allow_plugins,
                                      struct kvr_h5_storage *storage, struct kvr_error *err)
{
    hsize_t chunk[KVR_DATASET_RANK];
    if (H5Pget_chunk(dataset->properties, KVR_DATASET_RANK, chunk) != (int)dataset->rank)
        return kvr_fail(err, KVR_BAD_INPUT, "its chunks have another rank than its shape");
    size_t bytes = dataset->element_size;
    for (unsigned i = 0; i < dataset->rank; i++) {
        storage->chunk[i] = chunk[i];
        if (chunk[i] == 0 || !kvr_size_product(bytes, chunk[i], &bytes) || bytes > UINT32_MAX)
            return kvr_fail(err, KVR_BAD_INPUT,
                            "expected chunks of 1 byte to 4 GiB, found dimension %u of %llu", i,
                            (unsigned long long)chunk[i]);
    }
    storage->plan.bytes = bytes;
    storage->own_decoding = true;
    enum kvr_status status = inspect_filters(dataset->properties, allow_plugins, storage, err);
    /* Where there is nothing to decode, HDF5 tells the size of a chunk from its shape and then
       fetches as many bytes as the file's index says: a false index would overrun any buffer. */
    struct kvr_chunk_plan *plan = &storage->plan;
    if (plan->filter_count == 0)
        storage->own_decoding = false;
    plan->keeps_planes = storage->own_decoding && plan->filters[0] == KVR_FILTER_SHUFFLE &&
                         plan->shuffle_size == 2 && dataset->element_size == 2;
    return status;
}

/* Bytes of the whole dataset, in whole chunks; false if they cannot be counted. */
static bool declared_bytes(const struct kvr_h5_dataset *dataset,
                           const struct kvr_h5_storage *storage, size_t *bytes)
{
    *bytes = dataset->element_size;
    for (unsigned i = 0; i < dataset->rank; i++) {
        uint64_t chunk = storage->chunk[i];
        size_t chunks = (size_t)((dataset->shape[i] - 1) / chunk + 1), padded;
        if (!kvr_size_product(chunks, chunk, &padded) || !kvr_size_product(*bytes, padded, bytes))
            return false;
    }
    return *bytes <= INT64_MAX;
}

static enum kvr_status check_size(const struct kvr_h5_dataset *dataset,
                                  const struct kvr_h5_limits *limits,
                                  const struct kvr_h5_storage *storage, struct kvr_error *err)
{
    size_t bytes;
    if (!declared_bytes(dataset, storage, &bytes))
        return kvr_fail(err, KVR_BAD_INPUT, "its shape is too large to exist");
    if (dataset->layout == KVR_H5_COMPACT && storage->stored_bytes < bytes)
        return kvr_fail(err, KVR_BAD_INPUT, "its shape needs %zu bytes, it stores %llu", bytes,
                        (unsigned long long)storage->stored_bytes);
    if (bytes > limits->believed_bytes && bytes / MOST_RATIO > storage->stored_bytes)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "declares %zu bytes but stores %llu: more than %d to 1 is not believed",
                        bytes, (unsigned long long)storage->stored_bytes, MOST_RATIO);
    return KVR_OK;
}

static enum kvr_status inspect_contiguous(const struct kvr_h5_dataset *dataset,
                                          const struct kvr_h5_limits *limits,
                                          struct kvr_h5_storage *storage, struct kvr_error *err)
{
    size_t bytes;
    haddr_t offset = H5Dget_offset(dataset->id);
    storage->offset = offset == HADDR_UNDEF ? KVR_H5_NOWHERE : (uint64_t)offset;
    if (storage->offset == KVR_H5_NOWHERE)
        return KVR_OK;
    if (!declared_bytes(dataset, storage, &bytes))
        return kvr_fail(err, KVR_BAD_INPUT, "its shape is too large to exist");
    if (storage->stored_bytes < bytes)
        return kvr_fail(err, KVR_BAD_INPUT, "its shape needs %zu bytes, it stores %llu", bytes,
                        (unsigned long long)storage->stored_bytes);
    if (storage->offset > limits->file_bytes || bytes > limits->file_bytes - storage->offset)
        return kvr_fail(err, KVR_BAD_INPUT, "its data end at byte %llu, the file at %llu",
                        (unsigned long long)storage->offset + bytes,
                        (unsigned long long)limits->file_bytes);
    return KVR_OK;
}

static enum kvr_status inspect_fill(const struct kvr_h5_dataset *dataset,
                                    struct kvr_h5_storage *storage, struct kvr_error *err)
{
    H5D_fill_value_t defined;
    if (dataset->element_size > sizeof storage->fill)
        return kvr_fail(err, KVR_UNSUPPORTED, "expected elements of at most 8 bytes, found %zu",
                        dataset->element_size);
    if (H5Pfill_value_defined(dataset->properties, &defined) < 0)
        return kvr_h5_failed(err, "its fill value cannot be read");
    if (defined == H5D_FILL_VALUE_USER_DEFINED &&
        H5Pget_fill_value(dataset->properties, dataset->type, storage->fill) < 0)
        return kvr_h5_failed(err, "its fill value cannot be read");
    return KVR_OK;
}

enum kvr_status kvr_h5_inspect_storage(const struct kvr_h5_dataset *dataset,
                                       const struct kvr_h5_limits *limits,
                                       struct kvr_h5_storage *storage, struct kvr_error *err)
{
    *storage = (struct kvr_h5_storage){.layout = dataset->layout, .offset = KVR_H5_NOWHERE};
    for (unsigned i = 0; i < KVR_DATASET_RANK; i++)
        storage->chunk[i] = i < dataset->rank ? dataset->shape[i] : 1;
    H5O_info_t info;
    if (H5Oget_info2(dataset->id, &info, H5O_INFO_BASIC) < 0)
        return kvr_h5_failed(err, "cannot be looked up");
    storage->object = info.addr;

    enum kvr_status status = KVR_OK;
    if (dataset->layout == KVR_H5_CHUNKED)
        status = inspect_chunks(dataset, limits->allow_plugins, storage, err);
    if (status != KVR_OK)
        return status;
    storage->stored_bytes = H5Dget_storage_size(dataset->id);
    if (dataset->layout == KVR_H5_CONTIGUOUS)
        status = inspect_contiguous(dataset, limits, storage, err);
    if (status == KVR_OK)
        status = check_size(dataset, limits, storage, err);
    if (status == KVR_OK)
        status = inspect_fill(dataset, storage, err);
    return status;
}
