// SPDX-License-Identifier: Apache-2.0
/* pinned_ranges.cuh - memory of callers that is registered with the driver: kernels read and write
 * it in place.
 *
 * Used by:  lane_codec.cu; device_cuda.cu, as `pin` and `unpin` of device.h.
 * Owns:     the list of ranges that this process has registered, with every GPU.
 * Fails:    the memory stays unregistered.
 * Threads:  one adds and removes, while no lane works; then any look up.
 */
#ifndef BURIN_PINNED_RANGES_CUH
#define BURIN_PINNED_RANGES_CUH

#include "pipeline/status.h"

#include <stddef.h>
#include <stdint.h>

enum status pinned_ranges_add(int index, uint8_t *bytes, size_t length, struct failure *failure);
void pinned_ranges_remove(int index, uint8_t *bytes);

/* The device address of BYTES. WITHIN: how many of LENGTH lie within the same range from there on;
 * or, with a result of NULL, how many lie before the next range. */
uint8_t *pinned_ranges_find(const uint8_t *bytes, size_t length, size_t *within);

#endif
