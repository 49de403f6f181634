// SPDX-License-Identifier: Apache-2.0
/* device_info.cuh - the GPUs of this machine and their properties.
 *
 * Used by:  device_cuda.cu, whose `count` and `describe` are two of these functions.
 * Fails:    STATUS_DEVICE when there is no such GPU.
 * Threads:  any; cuda_device_describe makes its GPU the thread's current one.
 */
#ifndef BURIN_DEVICE_INFO_CUH
#define BURIN_DEVICE_INFO_CUH

#include "pipeline/device.h"

#include <cuda_runtime.h>

/* Returns 0 without a driver or a GPU that it may use. */
int cuda_device_count(void);

/* Returns 0 for an attribute that the device does not know. */
int cuda_device_attribute(int index, enum cudaDeviceAttr which);

enum status cuda_device_describe(int index, struct device_info *info, struct failure *failure);

#endif
