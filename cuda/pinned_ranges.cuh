// SPDX-License-Identifier: Apache-2.0
/* pinned_ranges.cuh - memory of the caller's that is registered with the driver: kernels read and
 * write it where it lies.
 *
 * Used by:  lane_codec.cu; device_cuda.cu, as `pin` and `unpin` of device.h.
 * Owns:     a list of what is registered in this process, with every GPU.
 * Fails:    the memory stays as it was.
 * Threads:  one adds and removes, while no lane is at work; then any look up.
 */
#ifndef BURIN_PINNED_RANGES_CUH
#define BURIN_PINNED_RANGES_CUH

#include "pipeline/status.h"

#include <stddef.h>
#include <stdint.h>

enum status pinned_ranges_add(int index, uint8_t *bytes, size_t length, struct failure *failure);
void pinned_ranges_remove(int index, uint8_t *bytes);

/* Where a kernel finds BYTES, and how many of LENGTH from there on lie within the same range;
 * NULL: none do, and as many bytes lie in front of the next range. */
uint8_t *pinned_ranges_find(const uint8_t *bytes, size_t length, size_t *within);

#endif
