/*
 * Devices through CUDA's driver. It must not know what the kernels compute.
 *
 * A context belongs to the calling thread, so every entry that needs one makes it current first.
 */
#include "replay/gpu/cuda_host.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "replay/gpu/cuda_api.h"
#include "replay/gpu/cuda_compile.h"

struct cuda_device {
    struct kvr_device base;
    const struct cuda_api *api;
    cuda_device_id id;
    cuda_context context;
    cuda_module module;
    unsigned capability; /* 90 for 9.0 */
};

struct kvr_queue {
    struct cuda_device *device;
    cuda_stream stream;
};

struct kvr_mark {
    struct cuda_device *device;
    cuda_event event;
};

struct kvr_kernel {
    cuda_function function;
};

enum { MOST_ARGUMENTS = 16 };

static struct cuda_device *opened(struct kvr_device *device)
{
    return (struct cuda_device *)(void *)device; /* base is the first member */
}

static enum kvr_status failed(const struct cuda_device *device, const char *doing,
                              cuda_result result, struct kvr_error *err)
{
    const char *text = "unknown error";
    device->api->GetErrorString(result, &text);
    return kvr_fail(err, result == CUDA_NO_MEMORY ? KVR_NO_MEMORY : KVR_IO, "cuda:%u: %s: %s (%d)",
                    device->base.number, doing,
                    result == CUDA_NO_MEMORY ? "out of device memory" : text, result);
}

static enum kvr_status done(const struct cuda_device *device, const char *doing, cuda_result result,
                            struct kvr_error *err)
{
    return result == CUDA_OK ? KVR_OK : failed(device, doing, result, err);
}

/* ------------------------------------------------------------------------------ finding */

static enum kvr_status count_devices(unsigned *count, struct kvr_error *err)
{
    const struct cuda_api *api;
    int found = 0;
    enum kvr_status status = cuda_api_load(&api, err);
    if (status != KVR_OK)
        return status;
    cuda_result result = api->DeviceGetCount(&found);
    if (result != CUDA_OK || found <= 0)
        return kvr_fail(err, KVR_UNSUPPORTED, "cuda: the driver finds no device");
    *count = (unsigned)found;
    return KVR_OK;
}

static int attribute_of(const struct cuda_device *device, int what)
{
    int value = 0;
    device->api->DeviceGetAttribute(&value, what, device->id);
    return value > 0 ? value : 0;
}

static void read_limits(struct cuda_device *device)
{
    struct kvr_device_limits *limits = &device->base.limits;
    int major = attribute_of(device, CUDA_CAPABILITY_MAJOR);
    int minor = attribute_of(device, CUDA_CAPABILITY_MINOR), driver = 0;
    size_t memory = 0;
    device->api->DriverGetVersion(&driver);
    device->api->DeviceTotalMem_v2(&memory, device->id);
    if (device->api->DeviceGetName(limits->name, sizeof limits->name, device->id) != CUDA_OK)
        snprintf(limits->name, sizeof limits->name, "unknown");
    kvr_make_printable(limits->name);
    snprintf(limits->version, sizeof limits->version, "CUDA %d.%d, capability %d.%d", driver / 1000,
             driver % 1000 / 10, major, minor);
    device->capability = (unsigned)(major * 10 + minor);
    limits->memory = limits->largest_buffer = memory;
    limits->group_items = (size_t)attribute_of(device, CUDA_GROUP_ITEMS);
    limits->local_bytes = (size_t)attribute_of(device, CUDA_LOCAL_BYTES);
    limits->units = (unsigned)attribute_of(device, CUDA_UNITS);
    limits->doubles = limits->is_gpu = true;
}

static void close_device(struct kvr_device *base)
{
    struct cuda_device *device = opened(base);
    if (device->context != NULL) {
        device->api->CtxSetCurrent(device->context);
        if (device->module != NULL)
            device->api->ModuleUnload(device->module);
        device->api->DevicePrimaryCtxRelease_v2(device->id);
    }
    free(device);
}

static enum kvr_status open_device(unsigned number, struct kvr_device **out, struct kvr_error *err)
{
    const struct cuda_api *api;
    unsigned count = 0;
    enum kvr_status status = count_devices(&count, err);
    if (status == KVR_OK)
        status = cuda_api_load(&api, err);
    if (status != KVR_OK)
        return status;
    if (number >= count)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "cuda:%u: there %s only %u device%s, from 0 on",
                        number, count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
    struct cuda_device *device = kvr_alloc(1, sizeof *device, err);
    if (device == NULL)
        return KVR_NO_MEMORY;
    device->base.host = &kvr_cuda_host;
    device->base.number = number;
    device->api = api;
    cuda_result result = api->DeviceGet(&device->id, (int)number);
    if (result == CUDA_OK) {
        read_limits(device);
        result = api->DevicePrimaryCtxRetain(&device->context, device->id);
    }
    status = done(device, "opening the device", result, err);
    if (status != KVR_OK)
        close_device(&device->base);
    else
        *out = &device->base;
    return status;
}

/* ------------------------------------------------------------------------------ programs */

static enum kvr_status build(struct kvr_device *base, const char *program, struct kvr_error *err)
{
    struct cuda_device *device = opened(base);
    char *ptx = NULL;
    enum kvr_status status = cuda_compile(program, device->capability, base->group, &ptx, err);
    if (status != KVR_OK)
        return status;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->ModuleLoadData(&device->module, ptx);
    free(ptx);
    return done(device, "loading the kernels", result, err);
}

static enum kvr_status find_kernel(struct kvr_device *base, const char *name,
                                   struct kvr_kernel **out, struct kvr_error *err)
{
    struct cuda_device *device = opened(base);
    struct kvr_kernel *kernel = kvr_alloc(1, sizeof *kernel, err);
    if (kernel == NULL)
        return KVR_NO_MEMORY;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->ModuleGetFunction(&kernel->function, device->module, name);
    if (result != CUDA_OK) {
        free(kernel);
        return failed(device, name, result, err);
    }
    *out = kernel;
    return KVR_OK;
}

static void drop_kernel(struct kvr_kernel *kernel)
{
    free(kernel);
}

/* ------------------------------------------------------------------------------ queues */

static enum kvr_status open_queue(struct kvr_device *base, struct kvr_queue **out,
                                  struct kvr_error *err)
{
    struct cuda_device *device = opened(base);
    struct kvr_queue *queue = kvr_alloc(1, sizeof *queue, err);
    if (queue == NULL)
        return KVR_NO_MEMORY;
    queue->device = device;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->StreamCreate(&queue->stream, CUDA_STREAM_NON_BLOCKING);
    if (result != CUDA_OK) {
        free(queue);
        return failed(device, "opening a queue", result, err);
    }
    *out = queue;
    return KVR_OK;
}

static void close_queue(struct kvr_queue *queue)
{
    if (queue != NULL) {
        const struct cuda_api *api = queue->device->api;
        api->CtxSetCurrent(queue->device->context);
        api->StreamSynchronize(queue->stream);
        api->StreamDestroy_v2(queue->stream);
    }
    free(queue);
}

static enum kvr_status allocate(struct kvr_device *base, size_t bytes, struct kvr_buffer *out,
                                struct kvr_error *err)
{
    struct cuda_device *device = opened(base);
    cuda_pointer pointer = 0;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->MemAlloc_v2(&pointer, bytes);
    if (result == CUDA_OK)
        *out = (struct kvr_buffer){pointer, bytes};
    return done(device, "allocating", result, err);
}

static void release(struct kvr_device *base, struct kvr_buffer *buffer)
{
    struct cuda_device *device = opened(base);
    if (buffer->handle != 0) {
        device->api->CtxSetCurrent(device->context);
        device->api->MemFree_v2(buffer->handle);
    }
    *buffer = (struct kvr_buffer){0, 0};
}

static enum kvr_status stage(struct kvr_queue *queue, size_t size, struct kvr_staging *out,
                             struct kvr_error *err)
{
    const struct cuda_device *device = queue->device;
    void *bytes = NULL;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->MemAllocHost_v2(&bytes, size);
    if (result == CUDA_OK)
        *out = (struct kvr_staging){bytes, size, (uintptr_t)bytes};
    return done(device, "allocating", result, err);
}

static void unstage(struct kvr_queue *queue, struct kvr_staging *staging)
{
    const struct cuda_device *device = queue->device;
    if (staging->bytes != NULL) {
        device->api->CtxSetCurrent(device->context);
        device->api->StreamSynchronize(queue->stream);
        device->api->MemFreeHost(staging->bytes);
    }
    *staging = (struct kvr_staging){NULL, 0, 0};
}

static enum kvr_status upload(struct kvr_queue *queue, struct kvr_buffer buffer, size_t offset,
                              const void *from, size_t bytes, struct kvr_error *err)
{
    const struct cuda_device *device = queue->device;
    cuda_result result = bytes > 0 ? device->api->CtxSetCurrent(device->context) : CUDA_OK;
    if (result == CUDA_OK && bytes > 0)
        result =
            device->api->MemcpyHtoDAsync_v2(buffer.handle + offset, from, bytes, queue->stream);
    return done(device, "uploading", result, err);
}

static enum kvr_status download(struct kvr_queue *queue, struct kvr_buffer buffer, size_t offset,
                                void *to, size_t bytes, struct kvr_error *err)
{
    const struct cuda_device *device = queue->device;
    cuda_result result = bytes > 0 ? device->api->CtxSetCurrent(device->context) : CUDA_OK;
    if (result == CUDA_OK && bytes > 0)
        result = device->api->MemcpyDtoHAsync_v2(to, buffer.handle + offset, bytes, queue->stream);
    return done(device, "downloading", result, err);
}

static enum kvr_status launch(struct kvr_queue *queue, struct kvr_kernel *kernel, size_t groups,
                              const struct kvr_kernel_argument *arguments, size_t argument_count,
                              struct kvr_error *err)
{
    const struct cuda_device *device = queue->device;
    union { /* the driver reads arguments but does not promise so */
        const void *read;
        void *passed;
    } places[MOST_ARGUMENTS];
    void *pointers[MOST_ARGUMENTS];
    if (argument_count > MOST_ARGUMENTS || groups > INT_MAX)
        return kvr_fail(err, KVR_INTERNAL, "cuda: a kernel of %zu arguments and %zu groups",
                        argument_count, groups);
    for (size_t i = 0; i < argument_count; i++) {
        places[i].read = arguments[i].value;
        pointers[i] = places[i].passed;
    }
    cuda_result result = groups > 0 ? device->api->CtxSetCurrent(device->context) : CUDA_OK;
    if (result == CUDA_OK && groups > 0)
        result = device->api->LaunchKernel(kernel->function, (unsigned)groups, 1, 1,
                                           (unsigned)device->base.group, 1, 1, 0, queue->stream,
                                           pointers, NULL);
    return done(device, "running a kernel", result, err);
}

/* ------------------------------------------------------------------------------ marks */

static void drop_mark(struct kvr_mark *mark)
{
    if (mark != NULL) {
        mark->device->api->CtxSetCurrent(mark->device->context);
        mark->device->api->EventDestroy_v2(mark->event);
    }
    free(mark);
}

static enum kvr_status set_mark(struct kvr_queue *queue, struct kvr_mark **mark,
                                struct kvr_error *err)
{
    struct cuda_device *device = queue->device;
    struct kvr_mark *made = kvr_alloc(1, sizeof *made, err);
    if (made == NULL)
        return KVR_NO_MEMORY;
    made->device = device;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->EventCreate(&made->event, 0);
    if (result != CUDA_OK) {
        free(made);
        return failed(device, "marking a queue", result, err);
    }
    result = device->api->EventRecord(made->event, queue->stream);
    if (result != CUDA_OK) {
        drop_mark(made);
        return failed(device, "marking a queue", result, err);
    }
    drop_mark(*mark);
    *mark = made;
    return KVR_OK;
}

static enum kvr_status follow(struct kvr_queue *queue, struct kvr_mark *mark, struct kvr_error *err)
{
    const struct cuda_device *device = queue->device;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->StreamWaitEvent(queue->stream, mark->event, 0);
    return done(device, "ordering queues", result, err);
}

static enum kvr_status await(struct kvr_mark *mark, struct kvr_error *err)
{
    const struct cuda_device *device = mark->device;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->EventSynchronize(mark->event);
    return done(device, "waiting", result, err);
}

static enum kvr_status elapsed(struct kvr_mark *from, struct kvr_mark *to, double *seconds,
                               struct kvr_error *err)
{
    const struct cuda_device *device = from->device;
    float milliseconds = 0;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->EventElapsedTime(&milliseconds, from->event, to->event);
    *seconds = 1e-3 * (double)milliseconds;
    return done(device, "taking the time", result, err);
}

static enum kvr_status finish(struct kvr_queue *queue, struct kvr_error *err)
{
    const struct cuda_device *device = queue->device;
    cuda_result result = device->api->CtxSetCurrent(device->context);
    if (result == CUDA_OK)
        result = device->api->StreamSynchronize(queue->stream);
    return done(device, "waiting", result, err);
}

const struct kvr_device_host kvr_cuda_host = {
    .name = "cuda",
    .count = count_devices,
    .open = open_device,
    .close = close_device,
    .build = build,
    .open_queue = open_queue,
    .close_queue = close_queue,
    .find_kernel = find_kernel,
    .drop_kernel = drop_kernel,
    .allocate = allocate,
    .release = release,
    .stage = stage,
    .unstage = unstage,
    .upload = upload,
    .download = download,
    .launch = launch,
    .mark = set_mark,
    .drop_mark = drop_mark,
    .follow = follow,
    .await = await,
    .elapsed = elapsed,
    .finish = finish,
};
