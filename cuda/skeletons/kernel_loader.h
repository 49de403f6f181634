// SPDX-License-Identifier: Apache-2.0
/* kernel_loader.h - loads a kernel's code from memory to the GPU.
 *
 * Used by:  user_twin.cu, as kernel_request.load.
 * Owns:     nothing; loaded code stays for the life of the process.
 * Fails:    STATUS_INTERNAL where the driver does not accept the code, else as check.cuh says.
 * Threads:  any; the kernel is made ready on the thread's current device.
 */
#ifndef BURIN_KERNEL_LOADER_H
#define BURIN_KERNEL_LOADER_H

#include "pipeline/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum status kernel_loader_load(const void *code, size_t bytes, const char *name, void **kernel,
                               struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
