/*
 * The device that tests of replay/gpu/ run on: DEVICE in the environment, else opencl.
 */
#ifndef KVR_DEVICE_FIXTURE_H
#define KVR_DEVICE_FIXTURE_H

#include "replay/gpu/gpu_backend.h"

/*
 * The host and number of that device, or NULL where there is none: then it says once that `what`
 * is skipped, and why. A device that is there but does not work fails the test.
 */
const struct kvr_device_host *device_host(const char *what, unsigned *number);

/* Opens it with at most `memory` bytes (0: all); NULL as above. */
struct kvr_compute *device_open(const char *what, uint64_t memory);

#endif
