/*
 * Loading the OpenCL loader. It must not know what the calls are made for.
 */
#include "replay/gpu/opencl_api.h"

#include <pthread.h>

#include "replay/gpu/shared_library.h"

#define SYMBOL(name)                                                                               \
    {                                                                                              \
        "cl" #name, offsetof(struct opencl_api, name)                                              \
    }

static const struct kvr_library_symbol symbols[] = {
    SYMBOL(GetPlatformIDs),
    SYMBOL(GetPlatformInfo),
    SYMBOL(GetDeviceIDs),
    SYMBOL(GetDeviceInfo),
    SYMBOL(CreateContext),
    SYMBOL(ReleaseContext),
    SYMBOL(CreateCommandQueue),
    SYMBOL(ReleaseCommandQueue),
    SYMBOL(CreateBuffer),
    SYMBOL(ReleaseMemObject),
    SYMBOL(CreateProgramWithSource),
    SYMBOL(BuildProgram),
    SYMBOL(GetProgramBuildInfo),
    SYMBOL(ReleaseProgram),
    SYMBOL(CreateKernel),
    SYMBOL(ReleaseKernel),
    SYMBOL(SetKernelArg),
    SYMBOL(EnqueueWriteBuffer),
    SYMBOL(EnqueueReadBuffer),
    SYMBOL(EnqueueMapBuffer),
    SYMBOL(EnqueueUnmapMemObject),
    SYMBOL(EnqueueNDRangeKernel),
    SYMBOL(EnqueueMarkerWithWaitList),
    SYMBOL(EnqueueBarrierWithWaitList),
    SYMBOL(WaitForEvents),
    SYMBOL(GetEventProfilingInfo),
    SYMBOL(ReleaseEvent),
    SYMBOL(Flush),
    SYMBOL(Finish),
};

static struct opencl_api loaded;
static enum kvr_status load_status;
static struct kvr_error load_error;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    load_status = kvr_library_load("opencl", names, symbols, sizeof symbols / sizeof *symbols,
                                   &loaded, &load_error);
    if (load_status != KVR_OK)
        kvr_hint(&load_error, "install an OpenCL loader (ocl-icd-libopencl1) and a driver");
}

enum kvr_status opencl_api_load(const struct opencl_api **api, struct kvr_error *err)
{
    pthread_once(&once, load);
    *api = &loaded;
    if (load_status != KVR_OK && err != NULL)
        *err = load_error;
    return load_status;
}

const char *opencl_status_text(cl_status status)
{
    switch (status) {
    case CL_NO_DEVICE:
        return "no device was found";
    case CL_NO_BUFFER_MEMORY:
    case CL_BAD_BUFFER_SIZE:
        return "out of device memory";
    case CL_NO_RESOURCES:
        return "out of device resources";
    case CL_NO_HOST_MEMORY:
        return "out of memory";
    case CL_NO_PLATFORM:
        return "no OpenCL platform is installed";
    case -2:
        return "the device is not available";
    case -3:
        return "no compiler is available";
    case -11:
        return "the program could not be built";
    default:
        return "the call failed";
    }
}
