/*
 * A stand-in for CUDA's driver and compiler: the processor plays the device, so that the CUDA host
 * is run, argument by argument, where there is no GPU. Kernels are compiled as plain C.
 *
 * The items of a group are coroutines that take turns at each barrier; launches run at once, one at
 * a time, so queues and marks have nothing left to do. Memory of the device is the host's. It says
 * nothing about speed, nor about what NVIDIA's compiler makes of the kernels.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { KVR_GROUP = 64, STACK_BYTES = 64 << 10, MEMORY = 1 << 30, CAPABILITY = 90 };
#define KVR_DOUBLES 1

/* ------------------------------------------------------------------------------ a group */

static struct {
    uint64_t group;
    uint32_t item;
    int done[KVR_GROUP];
    ucontext_t scheduler, items[KVR_GROUP];
    unsigned char *stacks;
    void (*kernel)(void **arguments);
    void **arguments;
} running;

static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;

static void barrier(void)
{
    uint32_t item = running.item;
    /* cppcheck-suppress swapcontextCalled */
    swapcontext(&running.items[item], &running.scheduler);
}

static void run_item(void)
{
    running.kernel(running.arguments);
    running.done[running.item] = 1;
}

static void run_group(uint64_t group)
{
    running.group = group;
    for (uint32_t i = 0; i < KVR_GROUP; i++) {
        running.done[i] = 0;
        /* cppcheck-suppress getcontextCalled */
        getcontext(&running.items[i]);
        running.items[i].uc_stack.ss_sp = running.stacks + (size_t)i * STACK_BYTES;
        running.items[i].uc_stack.ss_size = STACK_BYTES;
        running.items[i].uc_link = &running.scheduler;
        /* cppcheck-suppress makecontextCalled */
        makecontext(&running.items[i], run_item, 0);
    }
    for (int left = KVR_GROUP; left > 0;)
        for (uint32_t i = 0; i < KVR_GROUP; i++) {
            if (running.done[i])
                continue;
            running.item = i;
            /* cppcheck-suppress swapcontextCalled */
            swapcontext(&running.scheduler, &running.items[i]);
            left -= running.done[i];
        }
}

/* ------------------------------------------------------------------------------ the dialect */

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

#define KERNEL static void
#define FUNCTION static
#define GLOBAL
#define LOCAL
#define LOCAL_ROOM static
#define ITEM running.item
#define GROUP_INDEX running.group
#define BARRIER() barrier()
#define LOCAL_ADD(place, value) (*(place) += (value))
#define POPCOUNT(word) ((u32)__builtin_popcountll(word))
#define ROUND_EVEN(value) rint(value)
#define MAGNITUDE(value) _Generic((value), f32 : fabsf, f64 : fabs)(value)
#define FUSED(a, b, c) fmaf(a, b, c)

static f32 FLOAT_OF_BITS(u32 bits)
{
    f32 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static u32 BITS_OF_FLOAT(f32 value)
{
    u32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static u64 BITS_OF_DOUBLE(f64 value)
{
    u64 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static f64 DOUBLE_OF_BITS(u64 bits)
{
    f64 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The kernels, then a function call_NAME(void **) for each and a table of them, from thunks.awk. */
#include "tests/cuda/kernels.inc"

/* ------------------------------------------------------------------------------ the driver */

int cuInit(unsigned flags)
{
    return (int)flags;
}

int cuGetErrorString(int result, const char **text)
{
    *text = result == 2 ? "out of memory" : "it failed";
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = 1;
    return 0;
}

int cuDeviceGet(int *id, int number)
{
    *id = number;
    return 0;
}

int cuDeviceGetName(char *name, int size, int id)
{
    snprintf(name, (size_t)size, "stand-in %d", id);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int id)
{
    (void)id;
    *bytes = MEMORY;
    return 0;
}

int cuDeviceGetAttribute(int *value, int what, int id)
{
    (void)id;
    *value = what == 1 ? KVR_GROUP : what == 8 ? 49152 : what == 16 ? 1 : what == 75 ? 9 : 0;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int id)
{
    (void)id;
    *context = &running;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int id)
{
    return id;
}

/* A context belongs to a thread: everything below refuses to work without. */
static _Thread_local void *current;

int cuCtxSetCurrent(void *context)
{
    current = context;
    return 0;
}

enum { NO_CONTEXT = 201, NOT_FOUND = 500 };

int cuModuleLoadData(void **module, const void *image)
{
    *module = &running;
    return current != NULL && strcmp(image, "compiled") == 0 ? 0 : NO_CONTEXT;
}

int cuModuleUnload(void *module)
{
    return module != NULL ? 0 : NOT_FOUND;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    (void)module;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) {
            *function = (void *)(uintptr_t)(i + 1);
            return current != NULL ? 0 : NO_CONTEXT;
        }
    return NOT_FOUND;
}

int cuMemAlloc_v2(uintptr_t *pointer, size_t bytes)
{
    void *memory = bytes <= MEMORY ? malloc(bytes) : NULL;
    *pointer = (uintptr_t)memory;
    return current == NULL ? NO_CONTEXT : memory != NULL ? 0 : 2;
}

int cuMemFree_v2(uintptr_t pointer)
{
    free((void *)pointer);
    return 0;
}

int cuMemAllocHost_v2(void **memory, size_t bytes)
{
    *memory = malloc(bytes);
    return *memory != NULL ? 0 : 2;
}

int cuMemFreeHost(void *memory)
{
    free(memory);
    return 0;
}

int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t bytes, void *stream)
{
    memcpy((void *)to, from, bytes);
    return current != NULL && stream != NULL ? 0 : NO_CONTEXT;
}

int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t bytes, void *stream)
{
    memcpy(to, (const void *)from, bytes);
    return current != NULL && stream != NULL ? 0 : NO_CONTEXT;
}

int cuLaunchKernel(void *function, unsigned groups, unsigned y, unsigned z, unsigned items,
                   unsigned items_y, unsigned items_z, unsigned shared, void *stream,
                   void **arguments, void **extra)
{
    if (current == NULL || stream == NULL || y * z * items_y * items_z != 1 || shared != 0 ||
        items != KVR_GROUP || extra != NULL)
        return NO_CONTEXT;
    pthread_mutex_lock(&device);
    if (running.stacks == NULL)
        running.stacks = malloc((size_t)KVR_GROUP * STACK_BYTES);
    running.kernel = kernels[(uintptr_t)function - 1].call;
    running.arguments = arguments;
    for (unsigned group = 0; group < groups; group++)
        run_group(group);
    pthread_mutex_unlock(&device);
    return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    *stream = malloc(1);
    return flags == 1 ? 0 : NOT_FOUND;
}

int cuStreamDestroy_v2(void *stream)
{
    free(stream);
    return 0;
}

int cuStreamSynchronize(void *stream)
{
    return current != NULL && stream != NULL ? 0 : NO_CONTEXT;
}

int cuStreamWaitEvent(void *stream, const int *event, unsigned flags)
{
    return stream != NULL && *event == 1 ? (int)flags : NOT_FOUND; /* it has been recorded */
}

int cuEventCreate(int **event, unsigned flags)
{
    *event = calloc(1, sizeof **event);
    return (int)flags;
}

int cuEventDestroy_v2(int *event)
{
    free(event);
    return 0;
}

int cuEventRecord(int *event, void *stream)
{
    *event = 1;
    return stream != NULL ? 0 : NO_CONTEXT;
}

int cuEventSynchronize(const int *event)
{
    return *event == 1 ? 0 : NOT_FOUND;
}

int cuEventElapsedTime(float *milliseconds, const int *from, const int *to)
{
    *milliseconds = 1;
    return *from == 1 && *to == 1 ? 0 : NOT_FOUND;
}

/* ------------------------------------------------------------------------------ the compiler */

int nvrtcCreateProgram(char **program, const char *text, const char *name, int header_count,
                       const char *const *headers, const char *const *header_names)
{
    (void)name;
    (void)headers;
    (void)header_names;
    *program = strdup(text);
    return header_count;
}

int nvrtcDestroyProgram(char **program)
{
    free(*program);
    return 0;
}

/* Takes what looks like the kernels with the options that they need. */
int nvrtcCompileProgram(const char *program, int option_count, const char *const *options)
{
    int needed = 0;
    for (int i = 0; i < option_count; i++)
        needed += strcmp(options[i], "--fmad=false") == 0 ||
                  strcmp(options[i], "-DKVR_GROUP=64") == 0 ||
                  strcmp(options[i], "--gpu-architecture=compute_90") == 0;
    return needed == 3 && strstr(program, "KERNEL select_top(") != NULL ? 0 : 6;
}

int nvrtcGetProgramLogSize(const char *program, size_t *size)
{
    *size = program != NULL ? sizeof "kernels.cu(1): error: no kernel\n" : 0;
    return 0;
}

int nvrtcGetProgramLog(const char *program, char *log)
{
    strcpy(log, "kernels.cu(1): error: no kernel\n");
    return program != NULL ? 0 : 1;
}

int nvrtcGetPTXSize(const char *program, size_t *size)
{
    *size = sizeof "compiled";
    return program != NULL ? 0 : 1;
}

int nvrtcGetPTX(const char *program, char *ptx)
{
    strcpy(ptx, "compiled");
    return program != NULL ? 0 : 1;
}

int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 2;
    return 0;
}

int nvrtcGetSupportedArchs(int *capabilities)
{
    capabilities[0] = 75;
    capabilities[1] = CAPABILITY;
    return 0;
}

const char *nvrtcGetErrorString(int result)
{
    return result == 6 ? "NVRTC_ERROR_COMPILATION" : "it failed";
}
