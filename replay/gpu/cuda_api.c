/*
 * Loading CUDA's driver. It must not know what the calls are made for.
 */
#include "replay/gpu/cuda_api.h"

#include <pthread.h>

#include "replay/gpu/shared_library.h"

#define SYMBOL(name)                                                                               \
    {                                                                                              \
        "cu" #name, offsetof(struct cuda_api, name)                                                \
    }

static const struct kvr_library_symbol symbols[] = {
    SYMBOL(Init),
    SYMBOL(GetErrorString),
    SYMBOL(DriverGetVersion),
    SYMBOL(DeviceGetCount),
    SYMBOL(DeviceGet),
    SYMBOL(DeviceGetName),
    SYMBOL(DeviceTotalMem_v2),
    SYMBOL(DeviceGetAttribute),
    SYMBOL(DevicePrimaryCtxRetain),
    SYMBOL(DevicePrimaryCtxRelease_v2),
    SYMBOL(CtxSetCurrent),
    SYMBOL(ModuleLoadData),
    SYMBOL(ModuleUnload),
    SYMBOL(ModuleGetFunction),
    SYMBOL(MemAlloc_v2),
    SYMBOL(MemFree_v2),
    SYMBOL(MemAllocHost_v2),
    SYMBOL(MemFreeHost),
    SYMBOL(MemcpyHtoDAsync_v2),
    SYMBOL(MemcpyDtoHAsync_v2),
    SYMBOL(LaunchKernel),
    SYMBOL(StreamCreate),
    SYMBOL(StreamDestroy_v2),
    SYMBOL(StreamSynchronize),
    SYMBOL(StreamWaitEvent),
    SYMBOL(EventCreate),
    SYMBOL(EventDestroy_v2),
    SYMBOL(EventRecord),
    SYMBOL(EventSynchronize),
    SYMBOL(EventElapsedTime),
};

static struct cuda_api loaded;
static enum kvr_status load_status;
static struct kvr_error load_error;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    load_status = kvr_library_load("cuda", names, symbols, sizeof symbols / sizeof *symbols,
                                   &loaded, &load_error);
    if (load_status != KVR_OK) {
        kvr_hint(&load_error, "it comes with the driver of an NVIDIA GPU");
        return;
    }
    cuda_result result = loaded.Init(0);
    const char *text = "unknown error";
    if (result == CUDA_OK)
        return;
    loaded.GetErrorString(result, &text);
    load_status = kvr_fail(&load_error, KVR_UNSUPPORTED, "cuda: the driver does not start: %s (%d)",
                           text, result);
}

enum kvr_status cuda_api_load(const struct cuda_api **api, struct kvr_error *err)
{
    pthread_once(&once, load);
    *api = &loaded;
    if (load_status != KVR_OK && err != NULL)
        *err = load_error;
    return load_status;
}
