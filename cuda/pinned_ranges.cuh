// SPDX-License-Identifier: Apache-2.0
/* pinned_ranges.cuh - memory of callers that is registered with the driver: kernels read and write
 * it in place.
 *
 * Used by:  lane_codec.cu; device_cuda.cu, as `pin` and `unpin` of device.h.
 * Owns:     the list of ranges that this process has registered, with every GPU.
 * Fails:    the memory stays unregistered.
 * Threads:  any; nothing may use memory that is being removed.
 */
#ifndef BURIN_PINNED_RANGES_CUH
#define BURIN_PINNED_RANGES_CUH

#include "pipeline/status.h"

#include <stddef.h>
#include <stdint.h>

enum status pinned_ranges_add(int index, uint8_t *bytes, size_t length, struct failure *failure);
/* Removes all ranges that begin in BYTES..+LENGTH. */
void pinned_ranges_remove(int index, uint8_t *bytes, size_t length);

/* The device address of BYTES, for kernels; NULL: it is not registered. WITHIN: how many of LENGTH
 * bytes are registered from there on, in adjacent ranges. */
uint8_t *pinned_ranges_find(const uint8_t *bytes, size_t length, size_t *within);

/* How many of LENGTH bytes one copy of the driver may move: up to the next range's begin or end. */
size_t pinned_ranges_piece(const uint8_t *bytes, size_t length);

#endif
