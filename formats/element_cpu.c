/*
 * Asking the processor once.
 */
#include "formats/element_cpu.h"

#if KVR_ELEMENT_F16C
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

/* Not all compilers know "f16c" as a name; "avx2" also asks whether the system saves registers. */
static bool processor_has_f16c(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

bool kvr_element_use_f16c(void)
{
    /* -1: not asked yet. Threads that ask at the same time find the same answer. */
    static int known = -1;
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer < 0) {
        const char *isa = getenv("KVREPLAY_CPU");
        bool scalar = isa != NULL && strcmp(isa, "scalar") == 0;
        answer = !scalar && processor_has_f16c();
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer != 0;
}
#else
bool kvr_element_use_f16c(void)
{
    return false;
}
#endif
