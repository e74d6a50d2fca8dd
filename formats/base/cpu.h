/*
 * Which instructions the kernels may use: asked once, the same for the whole run.
 *
 * Every kernel has a plain version, and all versions of one give the same bits; so the choice
 * changes speed only. KVREPLAY_CPU=scalar, avx2 or avx512 in the environment takes a lower one.
 */
#ifndef KVR_CPU_H
#define KVR_CPU_H

#include <stdbool.h>

#include "formats/base/status.h"

/* 1 where kernels for x86-64 extensions are compiled. */
#if defined(__x86_64__) && defined(__GNUC__)
#define KVR_CPU_X86 1
#else
#define KVR_CPU_X86 0
#endif

/* What the kernels of a level are compiled for. */
#define KVR_TARGET_AVX2 __attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")))
#define KVR_TARGET_AVX512                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2,lzcnt,"       \
                          "popcnt")))

/* Each level has everything of those before it. */
enum kvr_cpu {
    KVR_CPU_SCALAR, /* what the compiler makes of plain C for every machine of its target; on
                       AArch64 that is NEON */
    KVR_CPU_AVX2,   /* and FMA, F16C, BMI2, LZCNT, POPCNT: x86-64 since about 2013 */
    KVR_CPU_AVX512, /* F, BW, DQ and VL */
    KVR_CPU_LEVELS,
};

/*
 * The level in force: the one that KVREPLAY_CPU names, else the highest that processor, system
 * and this build have. A name that kvr_cpu_check refuses counts as none. Thread-safe.
 */
enum kvr_cpu kvr_cpu_level(void);

/* True if processor, system and this build have the level. */
bool kvr_cpu_supports(enum kvr_cpu level);

/* "scalar", "avx2", "avx512". */
const char *kvr_cpu_name(enum kvr_cpu level);

/* KVR_BAD_ARGUMENT if KVREPLAY_CPU names no level, KVR_UNSUPPORTED if one that is not to be had. */
enum kvr_status kvr_cpu_check(struct kvr_error *err);

#endif
