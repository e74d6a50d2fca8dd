/*
 * The text of the kernels, carried by the program: the Makefile makes it from kernels/NAME.cl.
 */
#ifndef KVR_KERNELS_H
#define KVR_KERNELS_H

#include <stddef.h>

#include "formats/base/text.h"

struct kvr_kernel_file {
    const char *name;         /* "select" */
    const char *const *lines; /* ends with NULL */
};

/* Ends with a NULL name. */
extern const struct kvr_kernel_file kvr_kernel_files[];

/* Adds the program of a host ("opencl", "cuda"): its prelude, then every kernel. */
void kvr_kernel_program(const char *host, struct kvr_text *text);

#endif
