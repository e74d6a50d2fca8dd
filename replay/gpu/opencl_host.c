/*
 * Devices through OpenCL 1.2. It must not know what the kernels compute.
 */
#include "replay/gpu/opencl_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/gpu/opencl_api.h"

struct opencl_device {
    struct kvr_device base;
    const struct opencl_api *api;
    cl_device id;
    cl_context context;
    cl_program program;
};

struct kvr_queue {
    struct opencl_device *device;
    cl_queue queue;
};

struct kvr_mark {
    const struct opencl_device *device;
    cl_event event;
};

struct kvr_kernel {
    const struct opencl_device *device;
    cl_kernel kernel;
};

static struct opencl_device *opened(struct kvr_device *device)
{
    return (struct opencl_device *)(void *)device; /* base is the first member */
}

static enum kvr_status failed(const struct opencl_device *device, const char *doing,
                              cl_status status, struct kvr_error *err)
{
    bool memory = status == CL_NO_BUFFER_MEMORY || status == CL_BAD_BUFFER_SIZE ||
                  status == CL_NO_RESOURCES || status == CL_NO_HOST_MEMORY;
    return kvr_fail(err, memory ? KVR_NO_MEMORY : KVR_IO, "opencl:%u: %s: %s (%d)",
                    device->base.number, doing, opencl_status_text(status), status);
}

/* ------------------------------------------------------------------------------ finding */

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64 };

/* Devices of all platforms, in the loader's order. */
static enum kvr_status list_devices(const struct opencl_api *api, cl_device *ids, unsigned *count,
                                    struct kvr_error *err)
{
    cl_platform platforms[MOST_PLATFORMS];
    uint32_t platform_count = 0;
    *count = 0;
    cl_status status = api->GetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count);
    if (status == CL_NO_PLATFORM || (status == CL_OK && platform_count == 0)) {
        kvr_fail(err, KVR_UNSUPPORTED, "opencl: no OpenCL platform is installed");
        return kvr_hint(err, "install a driver with OpenCL, or pocl-opencl-icd");
    }
    if (status != CL_OK)
        return kvr_fail(err, KVR_IO, "opencl: listing platforms: %s (%d)",
                        opencl_status_text(status), status);
    if (platform_count > MOST_PLATFORMS)
        platform_count = MOST_PLATFORMS;
    for (uint32_t p = 0; p < platform_count; p++) {
        uint32_t found = 0;
        status = api->GetDeviceIDs(platforms[p], CL_TYPE_ALL, MOST_DEVICES - *count, ids + *count,
                                   &found);
        if (status == CL_OK)
            *count += found < MOST_DEVICES - *count ? found : MOST_DEVICES - *count;
        if (*count == MOST_DEVICES)
            break;
    }
    if (*count == 0)
        return kvr_fail(err, KVR_UNSUPPORTED, "opencl: no platform has a device");
    return KVR_OK;
}

static enum kvr_status count_devices(unsigned *count, struct kvr_error *err)
{
    const struct opencl_api *api;
    cl_device ids[MOST_DEVICES];
    enum kvr_status status = opencl_api_load(&api, err);
    return status == KVR_OK ? list_devices(api, ids, count, err) : status;
}

static void read_text(const struct opencl_device *device, uint32_t what, char *text, size_t size)
{
    if (device->api->GetDeviceInfo(device->id, what, size, text, NULL) != CL_OK)
        snprintf(text, size, "unknown");
    text[size - 1] = '\0';
    kvr_make_printable(text);
}

/* A number of at most 8 bytes; 0 where the driver does not say. */
static uint64_t read_number(const struct opencl_device *device, uint32_t what)
{
    union {
        uint32_t narrow;
        uint64_t wide;
    } value = {.wide = 0};
    size_t size = 0;
    if (device->api->GetDeviceInfo(device->id, what, sizeof value, &value, &size) != CL_OK)
        return 0;
    return size == sizeof value.narrow ? value.narrow : value.wide;
}

static void read_limits(struct opencl_device *device)
{
    struct kvr_device_limits *limits = &device->base.limits;
    char driver[sizeof limits->version / 2 - 2], version[sizeof limits->version / 2];
    read_text(device, CL_DEVICE_NAME_INFO, limits->name, sizeof limits->name);
    read_text(device, CL_DRIVER_VERSION_INFO, driver, sizeof driver);
    read_text(device, CL_DEVICE_VERSION_INFO, version, sizeof version);
    snprintf(limits->version, sizeof limits->version, "%s, %s", version, driver);
    limits->memory = read_number(device, CL_DEVICE_MEMORY_INFO);
    limits->largest_buffer = read_number(device, CL_DEVICE_LARGEST_BUFFER_INFO);
    limits->group_items = (size_t)read_number(device, CL_DEVICE_GROUP_INFO);
    limits->local_bytes = (size_t)read_number(device, CL_DEVICE_LOCAL_INFO);
    limits->units = (unsigned)read_number(device, CL_DEVICE_UNITS_INFO);
    limits->doubles = read_number(device, CL_DEVICE_DOUBLES_INFO) != 0;
    uint64_t type = read_number(device, CL_DEVICE_TYPE_INFO);
    limits->is_gpu = (type & (CL_TYPE_GPU | CL_TYPE_ACCELERATOR)) != 0;
}

static void close_device(struct kvr_device *base)
{
    struct opencl_device *device = opened(base);
    if (device->program != NULL)
        device->api->ReleaseProgram(device->program);
    if (device->context != NULL)
        device->api->ReleaseContext(device->context);
    free(device);
}

static enum kvr_status open_device(unsigned number, struct kvr_device **out, struct kvr_error *err)
{
    const struct opencl_api *api;
    cl_device ids[MOST_DEVICES];
    unsigned count = 0;
    enum kvr_status status = opencl_api_load(&api, err);
    if (status == KVR_OK)
        status = list_devices(api, ids, &count, err);
    if (status != KVR_OK)
        return status;
    if (number >= count)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "opencl:%u: there %s only %u device%s, from 0 on",
                        number, count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
    struct opencl_device *device = kvr_alloc(1, sizeof *device, err);
    if (device == NULL)
        return KVR_NO_MEMORY;
    device->base.host = &kvr_opencl_host;
    device->base.number = number;
    device->api = api;
    device->id = ids[number];
    read_limits(device);
    if (read_number(device, CL_DEVICE_LITTLE_ENDIAN_INFO) == 0) {
        status = kvr_fail(err, KVR_UNSUPPORTED, "opencl:%u: big-endian devices are not supported",
                          number);
    } else {
        cl_status failure = CL_OK;
        device->context = api->CreateContext(NULL, 1, &device->id, NULL, NULL, &failure);
        if (failure != CL_OK)
            status = failed(device, "opening the device", failure, err);
    }
    if (status != KVR_OK)
        close_device(&device->base);
    else
        *out = &device->base;
    return status;
}

/* ------------------------------------------------------------------------------ programs */

/* The first line of the compiler's log that names an error. */
static void fail_build(const struct opencl_device *device, cl_status failure, struct kvr_error *err)
{
    char log[16384] = "";
    device->api->GetProgramBuildInfo(device->program, device->id, CL_PROGRAM_LOG_INFO, sizeof log,
                                     log, NULL);
    log[sizeof log - 1] = '\0';
    const char *line = strstr(log, "error");
    line = line != NULL ? line : log;
    int length = (int)strcspn(line, "\r\n");
    kvr_fail(err, KVR_IO, "opencl:%u: compiling the kernels: %s (%d)%s%.*s", device->base.number,
             opencl_status_text(failure), failure, length > 0 ? ": " : "",
             length < 400 ? length : 400, line);
    kvr_make_printable(err != NULL ? err->message : log);
    kvr_hint(err, "is the driver's kernel cache writable?");
}

static enum kvr_status build(struct kvr_device *base, const char *program, struct kvr_error *err)
{
    struct opencl_device *device = opened(base);
    const struct opencl_api *api = device->api;
    cl_status failure = CL_OK;
    device->program = api->CreateProgramWithSource(device->context, 1, &program, NULL, &failure);
    if (failure != CL_OK)
        return failed(device, "compiling the kernels", failure, err);
    char options[128];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DKVR_OPENCL -DKVR_GROUP=%zu -DKVR_DOUBLES=%d",
             base->group, base->limits.doubles ? 1 : 0);
    failure = api->BuildProgram(device->program, 1, &device->id, options, NULL, NULL);
    if (failure == CL_OK)
        return KVR_OK;
    fail_build(device, failure, err);
    return KVR_IO;
}

static enum kvr_status find_kernel(struct kvr_device *base, const char *name,
                                   struct kvr_kernel **out, struct kvr_error *err)
{
    struct opencl_device *device = opened(base);
    struct kvr_kernel *kernel = kvr_alloc(1, sizeof *kernel, err);
    if (kernel == NULL)
        return KVR_NO_MEMORY;
    cl_status failure = CL_OK;
    kernel->device = device;
    kernel->kernel = device->api->CreateKernel(device->program, name, &failure);
    if (failure != CL_OK) {
        free(kernel);
        return failed(device, name, failure, err);
    }
    *out = kernel;
    return KVR_OK;
}

static void drop_kernel(struct kvr_kernel *kernel)
{
    if (kernel != NULL)
        kernel->device->api->ReleaseKernel(kernel->kernel);
    free(kernel);
}

/* ------------------------------------------------------------------------------ queues */

static enum kvr_status open_queue(struct kvr_device *base, struct kvr_queue **out,
                                  struct kvr_error *err)
{
    struct opencl_device *device = opened(base);
    struct kvr_queue *queue = kvr_alloc(1, sizeof *queue, err);
    if (queue == NULL)
        return KVR_NO_MEMORY;
    cl_status failure = CL_OK;
    queue->device = device;
    queue->queue =
        device->api->CreateCommandQueue(device->context, device->id, CL_PROFILED, &failure);
    if (failure != CL_OK) {
        free(queue);
        return failed(device, "opening a queue", failure, err);
    }
    *out = queue;
    return KVR_OK;
}

static void close_queue(struct kvr_queue *queue)
{
    if (queue != NULL) {
        queue->device->api->Finish(queue->queue);
        queue->device->api->ReleaseCommandQueue(queue->queue);
    }
    free(queue);
}

static enum kvr_status allocate(struct kvr_device *base, size_t bytes, struct kvr_buffer *out,
                                struct kvr_error *err)
{
    struct opencl_device *device = opened(base);
    cl_status failure = CL_OK;
    cl_memory memory =
        device->api->CreateBuffer(device->context, CL_READ_WRITE, bytes, NULL, &failure);
    if (failure != CL_OK)
        return failed(device, "allocating", failure, err);
    *out = (struct kvr_buffer){(uintptr_t)memory, bytes};
    return KVR_OK;
}

static void release(struct kvr_device *base, struct kvr_buffer *buffer)
{
    if (buffer->handle != 0)
        opened(base)->api->ReleaseMemObject((cl_memory)buffer->handle);
    *buffer = (struct kvr_buffer){0, 0};
}

static enum kvr_status stage(struct kvr_queue *queue, size_t size, struct kvr_staging *out,
                             struct kvr_error *err)
{
    struct opencl_device *device = queue->device;
    cl_status failure = CL_OK;
    cl_memory memory = device->api->CreateBuffer(device->context, CL_READ_WRITE | CL_HOST_MEMORY,
                                                 size, NULL, &failure);
    if (failure != CL_OK)
        return failed(device, "allocating", failure, err);
    void *bytes = device->api->EnqueueMapBuffer(queue->queue, memory, 1, CL_MAP_ALL, 0, size, 0,
                                                NULL, NULL, &failure);
    if (failure != CL_OK) {
        device->api->ReleaseMemObject(memory);
        return failed(device, "mapping memory", failure, err);
    }
    *out = (struct kvr_staging){bytes, size, (uintptr_t)memory};
    return KVR_OK;
}

static void unstage(struct kvr_queue *queue, struct kvr_staging *staging)
{
    const struct opencl_api *api = queue->device->api;
    if (staging->handle != 0) {
        cl_memory memory = (cl_memory)staging->handle;
        api->EnqueueUnmapMemObject(queue->queue, memory, staging->bytes, 0, NULL, NULL);
        api->Finish(queue->queue);
        api->ReleaseMemObject(memory);
    }
    *staging = (struct kvr_staging){NULL, 0, 0};
}

static enum kvr_status upload(struct kvr_queue *queue, struct kvr_buffer buffer, size_t offset,
                              const void *from, size_t bytes, struct kvr_error *err)
{
    const struct opencl_api *api = queue->device->api;
    if (bytes == 0)
        return KVR_OK;
    cl_status failure = api->EnqueueWriteBuffer(queue->queue, (cl_memory)buffer.handle, 0, offset,
                                                bytes, from, 0, NULL, NULL);
    return failure == CL_OK ? KVR_OK : failed(queue->device, "uploading", failure, err);
}

static enum kvr_status download(struct kvr_queue *queue, struct kvr_buffer buffer, size_t offset,
                                void *to, size_t bytes, struct kvr_error *err)
{
    const struct opencl_api *api = queue->device->api;
    if (bytes == 0)
        return KVR_OK;
    cl_status failure = api->EnqueueReadBuffer(queue->queue, (cl_memory)buffer.handle, 0, offset,
                                               bytes, to, 0, NULL, NULL);
    return failure == CL_OK ? KVR_OK : failed(queue->device, "downloading", failure, err);
}

static enum kvr_status launch(struct kvr_queue *queue, struct kvr_kernel *kernel, size_t groups,
                              const struct kvr_kernel_argument *arguments, size_t argument_count,
                              struct kvr_error *err)
{
    const struct opencl_api *api = queue->device->api;
    cl_status failure = CL_OK;
    for (size_t i = 0; failure == CL_OK && i < argument_count; i++)
        failure =
            api->SetKernelArg(kernel->kernel, (uint32_t)i, arguments[i].size, arguments[i].value);
    size_t group = queue->device->base.group, items = groups * group;
    if (failure == CL_OK && groups > 0)
        failure = api->EnqueueNDRangeKernel(queue->queue, kernel->kernel, 1, NULL, &items, &group,
                                            0, NULL, NULL);
    return failure == CL_OK ? KVR_OK : failed(queue->device, "running a kernel", failure, err);
}

/* ------------------------------------------------------------------------------ marks */

static void drop_mark(struct kvr_mark *mark)
{
    if (mark != NULL)
        mark->device->api->ReleaseEvent(mark->event);
    free(mark);
}

static enum kvr_status set_mark(struct kvr_queue *queue, struct kvr_mark **mark,
                                struct kvr_error *err)
{
    const struct opencl_api *api = queue->device->api;
    cl_event event = NULL;
    cl_status failure = api->EnqueueMarkerWithWaitList(queue->queue, 0, NULL, &event);
    if (failure == CL_OK)
        failure = api->Flush(queue->queue);
    if (failure != CL_OK)
        return failed(queue->device, "marking a queue", failure, err);
    struct kvr_mark *made = kvr_alloc(1, sizeof *made, err);
    if (made == NULL) {
        api->ReleaseEvent(event);
        return KVR_NO_MEMORY;
    }
    *made = (struct kvr_mark){queue->device, event};
    drop_mark(*mark);
    *mark = made;
    return KVR_OK;
}

static enum kvr_status follow(struct kvr_queue *queue, struct kvr_mark *mark, struct kvr_error *err)
{
    cl_status failure =
        queue->device->api->EnqueueBarrierWithWaitList(queue->queue, 1, &mark->event, NULL);
    return failure == CL_OK ? KVR_OK : failed(queue->device, "ordering queues", failure, err);
}

static enum kvr_status await(struct kvr_mark *mark, struct kvr_error *err)
{
    cl_status failure = mark->device->api->WaitForEvents(1, &mark->event);
    return failure == CL_OK ? KVR_OK : failed(mark->device, "waiting", failure, err);
}

static enum kvr_status elapsed(struct kvr_mark *from, struct kvr_mark *to, double *seconds,
                               struct kvr_error *err)
{
    const struct opencl_api *api = from->device->api;
    uint64_t began = 0, ended = 0;
    cl_status failure =
        api->GetEventProfilingInfo(from->event, CL_EVENT_END_INFO, sizeof began, &began, NULL);
    if (failure == CL_OK)
        failure =
            api->GetEventProfilingInfo(to->event, CL_EVENT_END_INFO, sizeof ended, &ended, NULL);
    if (failure != CL_OK)
        return failed(from->device, "taking the time", failure, err);
    *seconds = 1e-9 * (double)(ended - began);
    return KVR_OK;
}

static enum kvr_status finish(struct kvr_queue *queue, struct kvr_error *err)
{
    cl_status failure = queue->device->api->Finish(queue->queue);
    return failure == CL_OK ? KVR_OK : failed(queue->device, "waiting", failure, err);
}

const struct kvr_device_host kvr_opencl_host = {
    .name = "opencl",
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
