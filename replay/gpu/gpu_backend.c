/*
 * The back end on a device: opening it, lanes for cells, and which steps it takes.
 */
#include "replay/gpu/gpu_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "replay/gpu/gpu_lane.h"
#include "replay/gpu/kernels.h"

/* The most that select_top shares within a group, beside one count per item. */
enum { LOCAL_BYTES = 2048 * 4 + 64 };

static struct gpu_compute *opened(struct kvr_compute *compute)
{
    return (struct gpu_compute *)(void *)compute; /* base is the first member */
}

size_t kvr_gpu_group(const struct kvr_device_limits *limits)
{
    size_t group = KVR_MOST_GROUP;
    while (group > limits->group_items ||
           LOCAL_BYTES + group * sizeof(double) > limits->local_bytes)
        if ((group /= 2) < KVR_LEAST_GROUP)
            return 0;
    return group;
}

bool kvr_gpu_can(const struct kvr_device_limits *limits, enum kvr_step step)
{
    if (kvr_gpu_group(limits) == 0)
        return false;
    return step == KVR_STEP_KEEP || step == KVR_STEP_ORDER || limits->doubles;
}

/* ------------------------------------------------------------------------------ lanes */

static enum kvr_status enter(struct kvr_compute *base, struct kvr_cell *cell, struct kvr_error *err)
{
    struct gpu_compute *compute = opened(base);
    pthread_mutex_lock(&compute->mutex);
    struct gpu_lane *lane = compute->waiting;
    if (lane != NULL)
        compute->waiting = lane->next;
    pthread_mutex_unlock(&compute->mutex);
    enum kvr_status status = lane == NULL ? gpu_lane_open(compute, &lane, err) : KVR_OK;
    if (status == KVR_OK) {
        cell->lane = &lane->base;
        status = gpu_lane_start(lane, cell, err);
    }
    return status;
}

static void leave(struct kvr_lane *base)
{
    struct gpu_lane *lane = (struct gpu_lane *)(void *)base;
    struct gpu_compute *compute = lane->compute;
    pthread_mutex_lock(&compute->mutex);
    lane->next = compute->waiting;
    compute->waiting = lane;
    pthread_mutex_unlock(&compute->mutex);
}

static bool supports(const struct kvr_cell *cell, enum kvr_step step,
                     const struct kvr_ranking *ranking)
{
    const struct kvr_device_limits *limits = &gpu_lane_of(cell)->compute->device->limits;
    if (!kvr_gpu_can(limits, step) || cell->candidates.count > INT32_MAX)
        return false;
    switch (step) {
    case KVR_STEP_ROWS:
        return cell->key.layer->attention != NULL;
    case KVR_STEP_KEEP:
        return ranking->pages->count > 0;
    case KVR_STEP_COLUMNS:
        return cell->key.sample->context_length < INT32_MAX;
    case KVR_STEP_ORDER:
        return cell->candidates.count <= INT32_MAX / 4;
    case KVR_STEP_STATISTICS:
    case KVR_STEP_SCORE:
        break;
    }
    return true;
}

static const struct kvr_backend gpu = {
    .name = "gpu",
    .enter = enter,
    .leave = leave,
    .supports = supports,
    .columns = gpu_columns,
    .rows = gpu_rows,
    .statistics = gpu_statistics,
    .score = gpu_score,
    .keep = gpu_keep,
    .order = gpu_order,
};

/* ------------------------------------------------------------------------------ opening */

static enum kvr_status prepare(struct gpu_compute *compute, uint64_t memory, struct kvr_error *err)
{
    struct kvr_device *device = compute->device;
    compute->memory = device->limits.memory;
    if (memory > 0 && memory < compute->memory)
        compute->memory = memory;
    device->group = kvr_gpu_group(&device->limits);
    if (device->group == 0)
        return kvr_fail(err, KVR_UNSUPPORTED,
                        "%s:%u: groups of %zu items that share %zu bytes are too small for the "
                        "kernels",
                        device->host->name, device->number, device->limits.group_items,
                        device->limits.local_bytes);
    struct kvr_text program = {0};
    kvr_kernel_program(device->host->name, &program);
    enum kvr_status status = kvr_text_check(&program, err);
    if (status == KVR_OK)
        status = device->host->build(device, program.data, err);
    kvr_text_free(&program);
    return status;
}

enum kvr_status kvr_gpu_open_device(const struct kvr_device_host *host, unsigned number,
                                    uint64_t memory, struct kvr_compute **out,
                                    struct kvr_error *err)
{
    struct gpu_compute *compute = kvr_alloc(1, sizeof *compute, err);
    if (compute == NULL)
        return KVR_NO_MEMORY;
    compute->base.backend = &gpu;
    pthread_mutex_init(&compute->mutex, NULL);
    enum kvr_status status = host->open(number, &compute->device, err);
    if (status == KVR_OK)
        status = prepare(compute, memory, err);
    if (status != KVR_OK)
        kvr_gpu_close(&compute->base);
    else
        *out = &compute->base;
    return status;
}

void kvr_gpu_close(struct kvr_compute *base)
{
    if (base == NULL)
        return;
    struct gpu_compute *compute = opened(base);
    while (compute->waiting != NULL) {
        struct gpu_lane *lane = compute->waiting;
        compute->waiting = lane->next;
        gpu_lane_close(lane);
    }
    if (compute->device != NULL)
        compute->device->host->close(compute->device);
    pthread_mutex_destroy(&compute->mutex);
    free(compute);
}

const struct kvr_device *kvr_gpu_device(const struct kvr_compute *compute)
{
    return ((const struct gpu_compute *)(const void *)compute)->device;
}

void kvr_gpu_name(const struct kvr_compute *compute, char *name, size_t size)
{
    if (compute == NULL) {
        snprintf(name, size, "cpu");
        return;
    }
    const struct kvr_device *device = kvr_gpu_device(compute);
    snprintf(name, size, "%s:%u", device->host->name, device->number);
}

/* ------------------------------------------------------------------------------ names */

/* What the environment lets us take of a device's memory, in bytes; 0: all. */
static enum kvr_status read_memory(uint64_t *memory, struct kvr_error *err)
{
    const char *text = getenv("KVREPLAY_DEVICE_MEMORY");
    *memory = 0;
    if (text == NULL || kvr_parse_unsigned(text, 1, UINT64_MAX, memory))
        return KVR_OK;
    return kvr_fail(err, KVR_BAD_ARGUMENT,
                    "KVREPLAY_DEVICE_MEMORY: \"%s\" must be a number of bytes", text);
}

static enum kvr_status bad_name(const char *name, struct kvr_error *err)
{
    return kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\" is none of auto, cpu, opencl[:N], cuda[:N]",
                    name);
}

/* The host that a name begins with, and the number behind the colon. */
static enum kvr_status parse_name(const char *name, const struct kvr_device_host **host,
                                  unsigned *number, struct kvr_error *err)
{
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    uint64_t value = 0;
    if (colon != NULL && !kvr_parse_unsigned(colon + 1, 0, 1023, &value))
        return bad_name(name, err);
    *number = (unsigned)value;
    for (size_t i = 0; kvr_device_hosts[i] != NULL; i++)
        if (strlen(kvr_device_hosts[i]->name) == length &&
            strncmp(kvr_device_hosts[i]->name, name, length) == 0) {
            *host = kvr_device_hosts[i];
            return KVR_OK;
        }
    return bad_name(name, err);
}

static bool needs_no_host(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "auto") == 0;
}

enum kvr_status kvr_gpu_check_name(const char *name, struct kvr_error *err)
{
    const struct kvr_device_host *host;
    unsigned number;
    return needs_no_host(name) ? KVR_OK : parse_name(name, &host, &number, err);
}

/* The first GPU of a host that can be used; *found stays NULL if there is none. */
static enum kvr_status try_host(const struct kvr_device_host *host, uint64_t memory,
                                struct kvr_compute **found, struct kvr_error *err)
{
    unsigned count = 0;
    enum kvr_status status = host->count(&count, err);
    for (unsigned i = 0; status == KVR_OK && *found == NULL && i < count; i++) {
        struct kvr_device *device = NULL;
        status = host->open(i, &device, err);
        bool fits = status == KVR_OK && device->limits.is_gpu;
        if (device != NULL)
            host->close(device);
        if (fits)
            status = kvr_gpu_open_device(host, i, memory, found, err);
    }
    return status;
}

static void open_any(uint64_t memory, struct kvr_compute **compute, char *note, size_t size)
{
    struct kvr_error reason = KVR_ERROR_NONE;
    for (size_t i = 0; *compute == NULL && kvr_device_hosts[i] != NULL; i++)
        try_host(kvr_device_hosts[i], memory, compute, &reason);
    if (*compute != NULL)
        (*compute)->falls_back = true;
    else
        snprintf(note, size, "computing on the CPU: %s",
                 reason.status != KVR_OK ? reason.message : "there is no GPU");
}

enum kvr_status kvr_gpu_open(const char *name, struct kvr_compute **compute, char *note,
                             size_t size, struct kvr_error *err)
{
    const struct kvr_device_host *host = NULL;
    unsigned number = 0;
    uint64_t memory = 0;
    *compute = NULL;
    note[0] = '\0';
    if (strcmp(name, "cpu") == 0)
        return KVR_OK;
    enum kvr_status status = read_memory(&memory, err);
    if (status != KVR_OK)
        return status;
    if (strcmp(name, "auto") == 0) {
        open_any(memory, compute, note, size);
        return KVR_OK;
    }
    status = parse_name(name, &host, &number, err);
    return status == KVR_OK ? kvr_gpu_open_device(host, number, memory, compute, err) : status;
}
