/*
 * Asking the processor, and the environment, once. It must not know any kernel.
 */
#include "formats/base/cpu.h"

#include <stdlib.h>
#include <string.h>

#if KVR_CPU_X86
#include <cpuid.h>
#endif

static const char variable[] = "KVREPLAY_CPU";
static const char *const names[KVR_CPU_LEVELS] = {"scalar", "avx2", "avx512"};

const char *kvr_cpu_name(enum kvr_cpu level)
{
    return names[level];
}

#if KVR_CPU_X86
/* Not all compilers know "f16c" and "lzcnt" as names; "avx2" also asks whether the system saves
   the registers. */
static bool has_avx2(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt") && __get_cpuid(1, &a, &b, &c, &d) &&
           (c & bit_F16C) != 0 && __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c & bit_LZCNT) != 0;
}

bool kvr_cpu_supports(enum kvr_cpu level)
{
    switch (level) {
    case KVR_CPU_SCALAR:
        return true;
    case KVR_CPU_AVX2:
        return has_avx2();
    case KVR_CPU_AVX512:
        return has_avx2() && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    case KVR_CPU_LEVELS:
        break;
    }
    return false;
}
#else
bool kvr_cpu_supports(enum kvr_cpu level)
{
    return level == KVR_CPU_SCALAR;
}
#endif

static int level_named(const char *name)
{
    for (int level = 0; level < KVR_CPU_LEVELS; level++)
        if (strcmp(names[level], name) == 0)
            return level;
    return -1;
}

static enum kvr_cpu choose(void)
{
    const char *name = getenv(variable);
    int wanted = name != NULL ? level_named(name) : -1;
    if (wanted >= 0 && kvr_cpu_supports((enum kvr_cpu)wanted))
        return (enum kvr_cpu)wanted;
    enum kvr_cpu level = KVR_CPU_SCALAR;
    while (level + 1 < KVR_CPU_LEVELS && kvr_cpu_supports(level + 1))
        level++;
    return level;
}

enum kvr_cpu kvr_cpu_level(void)
{
    /* -1: not asked yet. Threads that ask at the same time find the same answer. */
    static int known = -1;
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (level < 0) {
        level = (int)choose();
        __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    }
    return (enum kvr_cpu)level;
}

enum kvr_status kvr_cpu_check(struct kvr_error *err)
{
    const char *name = getenv(variable);
    if (name == NULL || *name == '\0')
        return KVR_OK;
    int level = level_named(name);
    if (level < 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected scalar, avx2 or avx512, found \"%s\"",
                        variable, name);
    if (!kvr_cpu_supports((enum kvr_cpu)level))
        return kvr_fail(err, KVR_UNSUPPORTED, "%s: this machine or build has no %s", variable,
                        name);
    return KVR_OK;
}
