/*
 * Devices through OpenCL: NVIDIA, AMD, Intel, and processors by PoCL.
 */
#ifndef KVR_OPENCL_HOST_H
#define KVR_OPENCL_HOST_H

#include "replay/gpu/device.h"

extern const struct kvr_device_host kvr_opencl_host;

#endif
