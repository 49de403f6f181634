// SPDX-License-Identifier: Apache-2.0
/* inverse.h - from a block's coefficients to its samples, as libjpeg-turbo's accurate integer
 * transform gives them: the arithmetic that both devices share.
 *
 * Columns first, then rows, each by one exact sum of products that is rounded once. libjpeg's
 * AVX2 code adds some pairs in 16 bits: within jpeg_inverse_fits() it gives the same.
 *
 * Used by:  the decoders of JPEGs of both devices.
 * Limits:   sums of magnitudes as scan.h says.
 * Source:   Loeffler, Ligtenberg, Moschytz, ICASSP 1989; libjpeg's jidctint.c.
 */
#ifndef BURIN_JPEG_INVERSE_H
#define BURIN_JPEG_INVERSE_H

#include "pipeline/host_device.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    JPEG_SUM_MAX = 5900,
    JPEG_PAIRS = 4,
    JPEG_COLUMN_SHIFT = 11,
    JPEG_ROW_SHIFT = 18,
    JPEG_ROW_LEVEL = 128 << (JPEG_ROW_SHIFT - 13), /* what makes every value of a row 128 more */
};

/* The columns whose sums are bounded together, except the last two, which are bounded each. */
HOST_DEVICE uint32_t jpeg_pair_first(uint32_t pair) {
    return pair == 3 ? 2 : pair == 2 ? 3 : pair;
}

HOST_DEVICE uint32_t jpeg_pair_second(uint32_t pair) {
    return jpeg_pair_first(pair) + 4;
}

HOST_DEVICE uint32_t jpeg_magnitudes(const int32_t column[8]) {
    uint32_t sum = 0;
    for (int i = 0; i < 8; i++) sum += (uint32_t)(column[i] < 0 ? -column[i] : column[i]);
    return sum;
}

/* Sums of magnitudes of the two columns of PAIR. */
HOST_DEVICE bool jpeg_inverse_fits(uint32_t pair, uint32_t first, uint32_t second) {
    if (pair == 3) return first <= JPEG_SUM_MAX && second <= JPEG_SUM_MAX;
    return first + second <= JPEG_SUM_MAX;
}

/* Eight values in place, a column or a row, to 2^SHIFT-th parts rounded half up. Weights are
 * cosines in 1/8192. */
HOST_DEVICE void jpeg_inverse_line(int32_t v[8], int shift) {
    const int32_t half = 1 << (shift - 1);
    const int32_t turn = (v[2] + v[6]) * 4433;
    const int32_t low = turn - v[6] * 15137, high = turn + v[2] * 6270;
    const int32_t sum = (v[0] + v[4]) * 8192 + half, difference = (v[0] - v[4]) * 8192 + half;
    const int32_t even0 = sum + high, even3 = sum - high;
    const int32_t even1 = difference + low, even2 = difference - low;
    const int32_t outer = (v[7] + v[1]) * -7373, inner = (v[5] + v[3]) * -20995;
    const int32_t z3 = v[7] + v[3], z4 = v[5] + v[1], z5 = (z3 + z4) * 9633;
    const int32_t a = z5 - z3 * 16069, b = z5 - z4 * 3196;
    const int32_t odd0 = v[1] * 12299 + outer + b, odd1 = v[3] * 25172 + inner + a;
    const int32_t odd2 = v[5] * 16819 + inner + b, odd3 = v[7] * 2446 + outer + a;
    v[0] = (even0 + odd0) >> shift;
    v[7] = (even0 - odd0) >> shift;
    v[1] = (even1 + odd1) >> shift;
    v[6] = (even1 - odd1) >> shift;
    v[2] = (even2 + odd2) >> shift;
    v[5] = (even2 - odd2) >> shift;
    v[3] = (even3 + odd3) >> shift;
    v[4] = (even3 - odd3) >> shift;
}

HOST_DEVICE void jpeg_inverse_column(int32_t v[8]) {
    jpeg_inverse_line(v, JPEG_COLUMN_SHIFT);
}

/* Makes samples, not clamped yet. */
HOST_DEVICE void jpeg_inverse_row(int32_t v[8]) {
    v[0] += JPEG_ROW_LEVEL;
    jpeg_inverse_line(v, JPEG_ROW_SHIFT);
}

#endif
