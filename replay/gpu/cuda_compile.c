/*
 * NVRTC, as far as it is used here. It must not know what the kernels compute.
 */
#include "replay/gpu/cuda_compile.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/gpu/shared_library.h"

/* Each field is the function of that name with the prefix nvrtc; 0 is success. */
struct nvrtc_api {
    int (*CreateProgram)(void **program, const char *text, const char *name, int header_count,
                         const char *const *headers, const char *const *header_names);
    int (*DestroyProgram)(void **program);
    int (*CompileProgram)(void *program, int option_count, const char *const *options);
    int (*GetProgramLogSize)(void *program, size_t *size);
    int (*GetProgramLog)(void *program, char *log);
    int (*GetPTXSize)(void *program, size_t *size);
    int (*GetPTX)(void *program, char *ptx);
    int (*GetNumSupportedArchs)(int *count);
    int (*GetSupportedArchs)(int *capabilities);
    const char *(*GetErrorString)(int result);
};

#define SYMBOL(name)                                                                               \
    {                                                                                              \
        "nvrtc" #name, offsetof(struct nvrtc_api, name)                                            \
    }

static const struct kvr_library_symbol symbols[] = {
    SYMBOL(CreateProgram),
    SYMBOL(DestroyProgram),
    SYMBOL(CompileProgram),
    SYMBOL(GetProgramLogSize),
    SYMBOL(GetProgramLog),
    SYMBOL(GetPTXSize),
    SYMBOL(GetPTX),
    SYMBOL(GetNumSupportedArchs),
    SYMBOL(GetSupportedArchs),
    SYMBOL(GetErrorString),
};

static struct nvrtc_api nvrtc;
static enum kvr_status load_status;
static struct kvr_error load_error;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const char *const names[] = {
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        "libnvrtc.so",
        "/usr/local/cuda/lib64/libnvrtc.so",
        NULL,
    };
    load_status = kvr_library_load("cuda", names, symbols, sizeof symbols / sizeof *symbols, &nvrtc,
                                   &load_error);
    if (load_status != KVR_OK)
        kvr_hint(&load_error, "it comes with the CUDA toolkit; see LD_LIBRARY_PATH");
}

static enum kvr_status failed(const char *doing, int result, struct kvr_error *err)
{
    return kvr_fail(err, KVR_IO, "cuda: %s: %s", doing, nvrtc.GetErrorString(result));
}

enum { MOST_CAPABILITIES = 128 };

/* The highest capability up to `wanted` that the compiler knows; 0 if it knows none. */
static unsigned known_capability(unsigned wanted)
{
    int count = 0, known[MOST_CAPABILITIES];
    unsigned best = 0;
    if (nvrtc.GetNumSupportedArchs(&count) != 0 || count > MOST_CAPABILITIES ||
        nvrtc.GetSupportedArchs(known) != 0)
        return 0;
    for (int i = 0; i < count; i++)
        if (known[i] > 0 && (unsigned)known[i] <= wanted && (unsigned)known[i] > best)
            best = (unsigned)known[i];
    return best;
}

/* The first line of the compiler's log that names an error. */
static enum kvr_status fail_compile(void *program, int result, struct kvr_error *err)
{
    size_t size = 0;
    char *log = NULL;
    if (nvrtc.GetProgramLogSize(program, &size) == 0 && size > 1)
        log = kvr_alloc(size + 1, 1, err);
    if (log == NULL || nvrtc.GetProgramLog(program, log) != 0) {
        free(log);
        return failed("compiling the kernels", result, err);
    }
    const char *line = strstr(log, "error");
    line = line != NULL ? line : log;
    int length = (int)strcspn(line, "\r\n");
    kvr_fail(err, KVR_IO, "cuda: compiling the kernels: %s: %.*s", nvrtc.GetErrorString(result),
             length < 400 ? length : 400, line);
    free(log);
    return KVR_IO;
}

static enum kvr_status compile(void *program, unsigned capability, size_t group, char **ptx,
                               struct kvr_error *err)
{
    char architecture[40], items[32];
    snprintf(architecture, sizeof architecture, "--gpu-architecture=compute_%u", capability);
    snprintf(items, sizeof items, "-DKVR_GROUP=%zu", group);
    const char *const options[] = {architecture, items, "-DKVR_DOUBLES=1", "--fmad=false"};
    int result = nvrtc.CompileProgram(program, sizeof options / sizeof *options, options);
    if (result != 0)
        return fail_compile(program, result, err);
    size_t size = 0;
    result = nvrtc.GetPTXSize(program, &size);
    char *text = result == 0 ? kvr_alloc(size + 1, 1, err) : NULL;
    if (result == 0 && text == NULL)
        return KVR_NO_MEMORY;
    if (result == 0)
        result = nvrtc.GetPTX(program, text);
    if (result != 0) {
        free(text);
        return failed("fetching the compiled kernels", result, err);
    }
    *ptx = text;
    return KVR_OK;
}

enum kvr_status cuda_compile(const char *text, unsigned capability, size_t group, char **ptx,
                             struct kvr_error *err)
{
    pthread_once(&once, load);
    if (load_status != KVR_OK) {
        if (err != NULL)
            *err = load_error;
        return load_status;
    }
    unsigned known = known_capability(capability);
    if (known == 0)
        return kvr_fail(err, KVR_UNSUPPORTED,
                        "cuda: the compiler NVRTC is too new for a device of capability %u.%u",
                        capability / 10, capability % 10);
    void *program = NULL;
    int result = nvrtc.CreateProgram(&program, text, "kernels.cu", 0, NULL, NULL);
    if (result != 0)
        return failed("compiling the kernels", result, err);
    enum kvr_status status = compile(program, known, group, ptx, err);
    nvrtc.DestroyProgram(&program);
    return status;
}
