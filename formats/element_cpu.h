/*
 * Whether the processor converts halves itself. Private to the conversions of formats/.
 */
#ifndef KVR_ELEMENT_CPU_H
#define KVR_ELEMENT_CPU_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define KVR_ELEMENT_F16C 1
#else
#define KVR_ELEMENT_F16C 0
#endif

/* True if the F16C variants may run; KVREPLAY_CPU=scalar in the environment forbids them. */
bool kvr_element_use_f16c(void);

#endif
