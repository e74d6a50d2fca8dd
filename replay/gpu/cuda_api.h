/*
 * The part of CUDA's driver API that is used here, declared by ourselves and loaded at run time. It
 * must not know what the calls are made for.
 *
 * Names and numbers are those of the CUDA driver API; the suffix _v2 belongs to the function.
 */
#ifndef KVR_CUDA_API_H
#define KVR_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

typedef int cuda_result;
typedef int cuda_device_id;
typedef uintptr_t cuda_pointer; /* CUdeviceptr */
typedef struct cuda_context *cuda_context;
typedef struct cuda_module *cuda_module;
typedef struct cuda_function *cuda_function;
typedef struct cuda_stream *cuda_stream;
typedef struct cuda_event *cuda_event;

enum { CUDA_OK = 0, CUDA_NO_MEMORY = 2, CUDA_NO_DEVICE = 100 };

enum {
    CUDA_GROUP_ITEMS = 1,
    CUDA_LOCAL_BYTES = 8,
    CUDA_UNITS = 16,
    CUDA_CAPABILITY_MAJOR = 75,
    CUDA_CAPABILITY_MINOR = 76,
};

enum { CUDA_STREAM_NON_BLOCKING = 1 };

/* The calls; each field is the function of that name with the prefix cu. */
struct cuda_api {
    cuda_result (*Init)(unsigned);
    cuda_result (*GetErrorString)(cuda_result, const char **);
    cuda_result (*DriverGetVersion)(int *);
    cuda_result (*DeviceGetCount)(int *);
    cuda_result (*DeviceGet)(cuda_device_id *, int);
    cuda_result (*DeviceGetName)(char *, int, cuda_device_id);
    cuda_result (*DeviceTotalMem_v2)(size_t *, cuda_device_id);
    cuda_result (*DeviceGetAttribute)(int *, int, cuda_device_id);
    cuda_result (*DevicePrimaryCtxRetain)(cuda_context *, cuda_device_id);
    cuda_result (*DevicePrimaryCtxRelease_v2)(cuda_device_id);
    cuda_result (*CtxSetCurrent)(cuda_context);
    cuda_result (*ModuleLoadData)(cuda_module *, const void *);
    cuda_result (*ModuleUnload)(cuda_module);
    cuda_result (*ModuleGetFunction)(cuda_function *, cuda_module, const char *);
    cuda_result (*MemAlloc_v2)(cuda_pointer *, size_t);
    cuda_result (*MemFree_v2)(cuda_pointer);
    cuda_result (*MemAllocHost_v2)(void **, size_t);
    cuda_result (*MemFreeHost)(void *);
    cuda_result (*MemcpyHtoDAsync_v2)(cuda_pointer, const void *, size_t, cuda_stream);
    cuda_result (*MemcpyDtoHAsync_v2)(void *, cuda_pointer, size_t, cuda_stream);
    cuda_result (*LaunchKernel)(cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, unsigned, cuda_stream, void **, void **);
    cuda_result (*StreamCreate)(cuda_stream *, unsigned);
    cuda_result (*StreamDestroy_v2)(cuda_stream);
    cuda_result (*StreamSynchronize)(cuda_stream);
    cuda_result (*StreamWaitEvent)(cuda_stream, cuda_event, unsigned);
    cuda_result (*EventCreate)(cuda_event *, unsigned);
    cuda_result (*EventDestroy_v2)(cuda_event);
    cuda_result (*EventRecord)(cuda_event, cuda_stream);
    cuda_result (*EventSynchronize)(cuda_event);
    cuda_result (*EventElapsedTime)(float *, cuda_event, cuda_event);
};

/* Loads the driver once and initialises it; *api stays valid until the program ends. Thread-safe.
 */
enum kvr_status cuda_api_load(const struct cuda_api **api, struct kvr_error *err);

#endif
