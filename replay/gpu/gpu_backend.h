/*
 * Computing on a device: from its name on the command line to what a plan computes on.
 */
#ifndef KVR_GPU_BACKEND_H
#define KVR_GPU_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "replay/backend.h"
#include "replay/gpu/device.h"

/* Refuses a name that kvr_gpu_open would not know; what it names need not exist. */
enum kvr_status kvr_gpu_check_name(const char *name, struct kvr_error *err);

/*
 * Opens what `name` asks for: "cpu", "opencl", "opencl:1", "cuda", "cuda:1" or "auto", the first
 * GPU that works. *compute is NULL for the CPU. Only `auto` falls back on the CPU, now or while it
 * computes; *note (room for `size` bytes) then says why, and is empty else.
 */
enum kvr_status kvr_gpu_open(const char *name, struct kvr_compute **compute, char *note,
                             size_t size, struct kvr_error *err);

/* The same on one device of one host; kernels are compiled. `memory` bounds the bytes that buffers
   take, 0: what the device has. */
enum kvr_status kvr_gpu_open_device(const struct kvr_device_host *host, unsigned number,
                                    uint64_t memory, struct kvr_compute **compute,
                                    struct kvr_error *err);

void kvr_gpu_close(struct kvr_compute *compute); /* NULL is allowed */

/* "opencl:0", "cpu" for NULL; `name` has room for `size` bytes. */
void kvr_gpu_name(const struct kvr_compute *compute, char *name, size_t size);

/* The device that it computes on. */
const struct kvr_device *kvr_gpu_device(const struct kvr_compute *compute);

/* Whether a device can do a step at all. */
bool kvr_gpu_can(const struct kvr_device_limits *limits, enum kvr_step step);

/* Chooses the size of groups by the limits; 0: the device is too small for the kernels. */
size_t kvr_gpu_group(const struct kvr_device_limits *limits);

#endif
