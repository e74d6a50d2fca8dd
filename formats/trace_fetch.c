/*
 * The part of reading chunks that is inside HDF5, and so one thread at a time: finding and fetching
 * them. It must not decode what it need not.
 */
#include "formats/trace_reader.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/h5_session.h"

/* The dataset's handle, opened again if it has been closed. Between enter and leave. */
static hid_t open_handle(struct kvr_trace_reader *reader, uint64_t index)
{
    struct kvr_open_dataset *oldest = &reader->open[0];
    for (size_t i = 0; i < KVR_OPEN_DATASETS; i++) {
        struct kvr_open_dataset *open = &reader->open[i];
        if (open->used != 0 && open->index == index) {
            open->used = ++reader->turn;
            return open->id;
        }
        if (open->used < oldest->used)
            oldest = open;
    }
    hid_t id = H5Oopen_by_addr(reader->file.id, reader->datasets[index].storage.object);
    if (id < 0)
        return id;
    if (oldest->used != 0)
        H5Dclose(oldest->id);
    *oldest = (struct kvr_open_dataset){.index = index, .used = ++reader->turn, .id = id};
    return id;
}

/* Whether the chunk that HDF5 has just failed to find was never written. */
static bool is_absent(hid_t id, const hsize_t *corner)
{
    char cause[256];
    kvr_h5_cause(cause, sizeof cause);
    if (strstr(cause, "not allocated") != NULL)
        return true;
    /* Sure in every version of HDF5, but it walks over all chunks. */
    unsigned mask = 0;
    haddr_t address = 0;
    hsize_t size = 0;
    return H5Dget_chunk_info_by_coord(id, corner, &mask, &address, &size) >= 0 &&
           address == HADDR_UNDEF;
}

static enum kvr_status fetch(const struct kvr_read_request *request, hid_t id,
                             const hsize_t *corner, struct kvr_chunk_room *room,
                             struct kvr_fetched_chunk *chunk, struct kvr_error *err)
{
    uint64_t limit = kvr_chunk_stored_limit(&request->stored->storage.plan);
    if (limit > request->trace->file_bytes)
        limit = request->trace->file_bytes;
    hsize_t size = 0;
    if (H5Dget_chunk_storage_size(id, corner, &size) < 0) {
        if (is_absent(id, corner))
            return KVR_OK;
        return kvr_h5_failed(err, "cannot be found");
    }
    if (size == 0)
        return KVR_OK;
    if (size > limit)
        return kvr_fail(err, KVR_BAD_INPUT, "damaged, it stores %llu bytes where at most %llu fit",
                        (unsigned long long)size, (unsigned long long)limit);
    unsigned char *stored = kvr_chunk_room_take(room, (size_t)size, err);
    if (stored == NULL)
        return KVR_NO_MEMORY;
    if (H5Dread_chunk(id, H5P_DEFAULT, corner, &chunk->filter_mask, stored) < 0)
        return kvr_h5_failed(err, "cannot be read");
    chunk->stored = stored;
    chunk->size = (size_t)size;
    return KVR_OK;
}

static enum kvr_status read_selected(hid_t id, hid_t type, hid_t space, hid_t memory,
                                     const hsize_t *corner, const hsize_t *shape, void *bytes)
{
    const hsize_t origin[KVR_DATASET_RANK] = {0};
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, corner, NULL, shape, NULL) < 0 ||
        H5Sselect_hyperslab(memory, H5S_SELECT_SET, origin, NULL, shape, NULL) < 0 ||
        H5Dread(id, type, memory, space, H5P_DEFAULT, bytes) < 0)
        return KVR_BAD_INPUT;
    return KVR_OK;
}

/* Lets HDF5 decode the chunk: its filters are not ours. The elements stay as they are stored. */
static enum kvr_status fetch_decoded(const struct kvr_read_request *request, hid_t id,
                                     const hsize_t *corner, const hsize_t *shape,
                                     struct kvr_fetched_chunk *chunk, struct kvr_error *err)
{
    const uint64_t *whole = request->stored->storage.chunk;
    const hsize_t dimensions[KVR_DATASET_RANK] = {whole[0], whole[1], whole[2]};
    const size_t size =
        (size_t)(whole[0] * whole[1] * whole[2]) * kvr_element_size(request->dataset->type.kind);
    unsigned char *decoded = kvr_alloc(size, 1, err);
    if (decoded == NULL)
        return KVR_NO_MEMORY;
    hid_t type = H5Dget_type(id), space = H5Dget_space(id);
    hid_t memory = H5Screate_simple((int)request->dataset->rank, dimensions, NULL);
    enum kvr_status status = KVR_BAD_INPUT;
    if (type >= 0 && space >= 0 && memory >= 0)
        status = read_selected(id, type, space, memory, corner, shape, decoded);
    if (status != KVR_OK)
        status = kvr_h5_failed(err, "cannot be read");
    if (memory >= 0)
        H5Sclose(memory);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (status == KVR_OK)
        *chunk = (struct kvr_fetched_chunk){.decoded = decoded, .size = size};
    else
        free(decoded);
    return status;
}

enum kvr_status kvr_trace_fetch_chunk(const struct kvr_read_request *request,
                                      const uint64_t corner[KVR_DATASET_RANK],
                                      const uint64_t shape[KVR_DATASET_RANK],
                                      struct kvr_chunk_room *room, struct kvr_fetched_chunk *chunk,
                                      struct kvr_error *err)
{
    struct kvr_trace_reader *reader = request->trace->reader;
    hsize_t at[KVR_DATASET_RANK], extent[KVR_DATASET_RANK];
    for (unsigned axis = 0; axis < KVR_DATASET_RANK; axis++) {
        at[axis] = corner[axis];
        extent[axis] = shape[axis];
    }
    enum kvr_status status;
    kvr_h5_enter(reader->allow_plugins);
    hid_t id = open_handle(reader, request->dataset->index);
    if (id < 0)
        status = kvr_h5_failed(err, "cannot be opened again");
    else if (request->stored->storage.own_decoding)
        status = fetch(request, id, at, room, chunk, err);
    else
        status = fetch_decoded(request, id, at, extent, chunk, err);
    kvr_h5_leave();
    kvr_trace_count_bytes(reader, chunk->size);
    return status;
}
