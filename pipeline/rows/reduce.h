// SPDX-License-Identifier: Apache-2.0
/* reduce.h - interleaved samples reduced to one number a channel: least, largest, sum; with AVX2
 * where the CPU has it.
 *
 * Used by:  ops/reduction.h.
 * Threads:  any; no state.
 * Limits:   sums of fewer than 2^48 samples.
 */
#ifndef BURIN_REDUCE_H
#define BURIN_REDUCE_H

#include <stddef.h>
#include <stdint.h>

enum { REDUCE_CHANNELS_MAX = 4 };

/* Updates RESULT, one number for each of CHANNELS, with SAMPLES samples of DEPTH bits at BYTES, a
 * whole number of pixels. Alpha counts as a channel. */
typedef void reduce_function(const uint8_t *bytes, size_t samples, unsigned depth,
                             unsigned channels, uint64_t result[REDUCE_CHANNELS_MAX]);
reduce_function reduce_minimum, reduce_maximum, reduce_sum;

#endif
