/*
 * Which table of kernels is in force. It must not know what they compute.
 */
#include "replay/cpu/cpu_kernels.h"

const struct kvr_kernels *kvr_kernels_of(enum kvr_cpu level)
{
    switch (level) {
    case KVR_CPU_SCALAR:
        return &kvr_kernels_plain;
#if KVR_CPU_X86
    case KVR_CPU_AVX2:
        return &kvr_kernels_avx2;
    case KVR_CPU_AVX512:
        return &kvr_kernels_avx512;
#else
    case KVR_CPU_AVX2:
    case KVR_CPU_AVX512:
#endif
    case KVR_CPU_LEVELS:
        break;
    }
    return NULL;
}

const struct kvr_kernels *kvr_kernels(void)
{
    return kvr_kernels_of(kvr_cpu_level());
}
