/*
 * The kernels for AVX-512.
 */
#include "replay/cpu/cpu_kernels.h"

#if KVR_CPU_X86
#include "replay/cpu/vector_avx512.h"

#include "replay/cpu/quads_x86.h"

#include "replay/cpu/kernels_template.h"

const struct kvr_kernels kvr_kernels_avx512 = KVR_KERNELS;
#endif
