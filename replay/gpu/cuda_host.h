/*
 * Devices through CUDA's driver, for NVIDIA.
 */
#ifndef KVR_CUDA_HOST_H
#define KVR_CUDA_HOST_H

#include "replay/gpu/device.h"

extern const struct kvr_device_host kvr_cuda_host;

#endif
