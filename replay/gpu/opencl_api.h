/*
 * The part of OpenCL 1.2 that is used here, declared by ourselves and loaded at run time: neither
 * headers nor a library are needed to build. It must not know what the calls are made for.
 *
 * Names and numbers are those of the specification (Khronos OpenCL API, version 1.2).
 */
#ifndef KVR_OPENCL_API_H
#define KVR_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

typedef int32_t cl_status;
typedef struct opencl_platform *cl_platform;
typedef struct opencl_device_id *cl_device;
typedef struct opencl_context *cl_context;
typedef struct opencl_queue *cl_queue;
typedef struct opencl_memory *cl_memory;
typedef struct opencl_program *cl_program;
typedef struct opencl_kernel *cl_kernel;
typedef struct opencl_event *cl_event;

enum {
    CL_OK = 0,
    CL_NO_DEVICE = -1,
    CL_NO_BUFFER_MEMORY = -4,
    CL_NO_RESOURCES = -5,
    CL_NO_HOST_MEMORY = -6,
    CL_BAD_BUFFER_SIZE = -61,
    CL_NO_PLATFORM = -1001,
};

enum {
    CL_PLATFORM_NAME_INFO = 0x0902,
    CL_DEVICE_TYPE_INFO = 0x1000,
    CL_DEVICE_UNITS_INFO = 0x1002,
    CL_DEVICE_GROUP_INFO = 0x1004,
    CL_DEVICE_LARGEST_BUFFER_INFO = 0x1010,
    CL_DEVICE_MEMORY_INFO = 0x101F,
    CL_DEVICE_LOCAL_INFO = 0x1023,
    CL_DEVICE_LITTLE_ENDIAN_INFO = 0x1026,
    CL_DEVICE_NAME_INFO = 0x102B,
    CL_DRIVER_VERSION_INFO = 0x102D,
    CL_DEVICE_VERSION_INFO = 0x102F,
    CL_DEVICE_DOUBLES_INFO = 0x1032, /* CL_DEVICE_DOUBLE_FP_CONFIG */
    CL_PROGRAM_LOG_INFO = 0x1183,
    CL_EVENT_END_INFO = 0x1283, /* CL_PROFILING_COMMAND_END */
};

enum {
    CL_TYPE_CPU = 1 << 1,
    CL_TYPE_GPU = 1 << 2,
    CL_TYPE_ACCELERATOR = 1 << 3,
};
#define CL_TYPE_ALL UINT64_C(0xFFFFFFFF)
enum { CL_PROFILED = 1 << 1 };
enum { CL_READ_WRITE = 1 << 0, CL_HOST_MEMORY = 1 << 4 };
enum { CL_MAP_ALL = 1 << 0 | 1 << 1 };

/* The calls; each field is the function of that name with the prefix cl. */
struct opencl_api {
    cl_status (*GetPlatformIDs)(uint32_t, cl_platform *, uint32_t *);
    cl_status (*GetPlatformInfo)(cl_platform, uint32_t, size_t, void *, size_t *);
    cl_status (*GetDeviceIDs)(cl_platform, uint64_t, uint32_t, cl_device *, uint32_t *);
    cl_status (*GetDeviceInfo)(cl_device, uint32_t, size_t, void *, size_t *);
    cl_context (*CreateContext)(const intptr_t *, uint32_t, const cl_device *, void *, void *,
                                cl_status *);
    cl_status (*ReleaseContext)(cl_context);
    cl_queue (*CreateCommandQueue)(cl_context, cl_device, uint64_t, cl_status *);
    cl_status (*ReleaseCommandQueue)(cl_queue);
    cl_memory (*CreateBuffer)(cl_context, uint64_t, size_t, void *, cl_status *);
    cl_status (*ReleaseMemObject)(cl_memory);
    cl_program (*CreateProgramWithSource)(cl_context, uint32_t, const char **, const size_t *,
                                          cl_status *);
    cl_status (*BuildProgram)(cl_program, uint32_t, const cl_device *, const char *, void *,
                              void *);
    cl_status (*GetProgramBuildInfo)(cl_program, cl_device, uint32_t, size_t, void *, size_t *);
    cl_status (*ReleaseProgram)(cl_program);
    cl_kernel (*CreateKernel)(cl_program, const char *, cl_status *);
    cl_status (*ReleaseKernel)(cl_kernel);
    cl_status (*SetKernelArg)(cl_kernel, uint32_t, size_t, const void *);
    cl_status (*EnqueueWriteBuffer)(cl_queue, cl_memory, uint32_t, size_t, size_t, const void *,
                                    uint32_t, const cl_event *, cl_event *);
    cl_status (*EnqueueReadBuffer)(cl_queue, cl_memory, uint32_t, size_t, size_t, void *, uint32_t,
                                   const cl_event *, cl_event *);
    void *(*EnqueueMapBuffer)(cl_queue, cl_memory, uint32_t, uint64_t, size_t, size_t, uint32_t,
                              const cl_event *, cl_event *, cl_status *);
    cl_status (*EnqueueUnmapMemObject)(cl_queue, cl_memory, void *, uint32_t, const cl_event *,
                                       cl_event *);
    cl_status (*EnqueueNDRangeKernel)(cl_queue, cl_kernel, uint32_t, const size_t *, const size_t *,
                                      const size_t *, uint32_t, const cl_event *, cl_event *);
    cl_status (*EnqueueMarkerWithWaitList)(cl_queue, uint32_t, const cl_event *, cl_event *);
    cl_status (*EnqueueBarrierWithWaitList)(cl_queue, uint32_t, const cl_event *, cl_event *);
    cl_status (*WaitForEvents)(uint32_t, const cl_event *);
    cl_status (*GetEventProfilingInfo)(cl_event, uint32_t, size_t, void *, size_t *);
    cl_status (*ReleaseEvent)(cl_event);
    cl_status (*Flush)(cl_queue);
    cl_status (*Finish)(cl_queue);
};

/* Loads the library once; *api stays valid until the program ends. Thread-safe. */
enum kvr_status opencl_api_load(const struct opencl_api **api, struct kvr_error *err);

/* "memory for the buffer (-4)", for messages. */
const char *opencl_status_text(cl_status status);

#endif
