// SPDX-License-Identifier: Apache-2.0
/* device_info.cuh - which GPUs there are, and what is known of each.
 *
 * Used by:  device_cuda.cu: two of these are its `count` and `describe`.
 * Fails:    STATUS_DEVICE when there is no such GPU.
 * Threads:  any; cuda_device_describe makes its GPU the thread's current one.
 */
#ifndef BURIN_DEVICE_INFO_CUH
#define BURIN_DEVICE_INFO_CUH

#include "pipeline/device.h"

#include <cuda_runtime.h>

/* 0: no driver, or no GPU that it may use. */
int cuda_device_count(void);

/* 0 where the device does not know it. */
int cuda_device_attribute(int index, enum cudaDeviceAttr which);

enum status cuda_device_describe(int index, struct device_info *info, struct failure *failure);

#endif
