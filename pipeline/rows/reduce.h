// SPDX-License-Identifier: Apache-2.0
/* reduce.h - runs of interleaved samples to a number a channel: least, largest, sum; with AVX2
 * where the CPU has it.
 *
 * Used by:  ops/reduction.h.
 * Threads:  any.
 * Limits:   sums of fewer than 2^48 samples.
 */
#ifndef BURIN_REDUCE_H
#define BURIN_REDUCE_H

#include <stddef.h>
#include <stdint.h>

enum { REDUCE_CHANNELS_MAX = 4 };

/* SAMPLES of 8 or 16 bit (DEPTH) at BYTES, a whole number of pixels; of each of the CHANNELS the
 * result so far is in RESULT and gets better. Alpha is a channel here. */
typedef void reduce_function(const uint8_t *bytes, size_t samples, unsigned depth,
                             unsigned channels, uint64_t result[REDUCE_CHANNELS_MAX]);
reduce_function reduce_minimum, reduce_maximum, reduce_sum;

#endif
