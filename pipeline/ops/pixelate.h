// SPDX-License-Identifier: Apache-2.0
/* pixelate.h - square blocks of one colour: the arithmetic that both devices share.
 *
 * Blocks of `size` x `size` pixels lie side by side from the upper left corner; those at the right
 * and the lower edge have what is left. Each sample of a block becomes the mean of its channel
 * there, rounded half up. With alpha, colours are weighed by it, so that hidden ones do not count:
 * c' = round(sum(c a) / sum(a)), and 0 where every a is; alpha becomes its own mean.
 *
 * Used by:  pixelate, on both devices.
 * Limits:   PIXELATE_MAX: a block's sum is at most 2^20 * 65535^2 < 2^52.
 */
#ifndef BURIN_OPS_PIXELATE_H
#define BURIN_OPS_PIXELATE_H

#include "pipeline/host_device.h"

#include <stdint.h>

enum { PIXELATE_SIZE, PIXELATE_MAX = 1024 };

HOST_DEVICE uint32_t pixelate_mean(uint64_t sum, uint64_t weight) {
    return weight ? (uint32_t)((2 * sum + weight) / (2 * weight)) : 0;
}

/* Sample C of a block's pixel, from the sums of its COUNT pixels: of each channel, colours weighed
 * by alpha. */
HOST_DEVICE uint32_t pixelate_sample(const uint64_t *sums, uint32_t count, unsigned c,
                                     unsigned channels) {
    const unsigned alpha = channels - 1;
    return pixelate_mean(sums[c], channels % 2 || c == alpha ? count : sums[alpha]);
}

#endif
