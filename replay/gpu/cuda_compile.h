/*
 * Compiling kernels for NVIDIA with NVRTC, which is loaded at run time and needs no device.
 */
#ifndef KVR_CUDA_COMPILE_H
#define KVR_CUDA_COMPILE_H

#include <stddef.h>

#include "formats/base/status.h"

/*
 * Compiles a program to PTX for compute capability `capability` (90 for
 * 9.0), or for the highest one below that the compiler knows; groups have `group` items. *ptx is to
 * be freed. KVR_UNSUPPORTED if there is no NVRTC, KVR_IO with the compiler's first error.
 */
enum kvr_status cuda_compile(const char *text, unsigned capability, size_t group, char **ptx,
                             struct kvr_error *err);

#endif
