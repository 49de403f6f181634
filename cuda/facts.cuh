// SPDX-License-Identifier: Apache-2.0
/* facts.cuh - which GPUs there are, and what is known of each.
 *
 * Used by:  device_cuda.cu, whose count and describe these are.
 * Threads:  any; describe makes its GPU the thread's current one.
 */
#ifndef BURIN_FACTS_CUH
#define BURIN_FACTS_CUH

#include "pipeline/device.h"

#include <cuda_runtime.h>

/* 0: no driver, or no GPU that it may use. */
int cuda_count(void);

/* 0 where the device does not know it. */
int cuda_attribute(int index, enum cudaDeviceAttr which);

enum status cuda_describe(int index, struct device_info *facts, struct failure *failure);

#endif
