/*
 * The ways to reach devices.
 */
#include "replay/gpu/device.h"

#include "replay/gpu/cuda_host.h"
#include "replay/gpu/opencl_host.h"

const struct kvr_device_host *const kvr_device_hosts[] = {
    &kvr_cuda_host,
    &kvr_opencl_host,
    NULL,
};
