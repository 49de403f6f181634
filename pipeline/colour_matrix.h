// SPDX-License-Identifier: Apache-2.0
/* colour_matrix.h - each colour channel of the result as a weighted sum of red, green, blue and
 * white: the shared arithmetic.
 *
 * Integers only. Weights are in units of 2^-12, sums are rounded half up and clamped to 0..M:
 *
 *   c' = clamp((w0 R + w1 G + w2 B + w3 M + 2^11) >> 12)
 *
 * A weight, at most 7.999, fits 16 bits. It is within 1/8192 of the exact one, so that three move a
 * result by at most 0.1 levels of 255. 8-bit sums are below 4 * 32764 * 255 + 2^11 < 2^25. 16-bit
 * samples are split into upper and lower bytes, with two such sums H and L: the shift of the whole
 * sum 256 H + L + 2^11 by 12 is that of H + ((L + 2^11) >> 8) by 4, since both round down.
 *
 * Gray counts as red, green and blue. The gray of an operator that keeps grays is copied.
 *
 * Used by:  matrix, sepia, saturation, hue and tint, on both devices.
 * Threads:  any; no state.
 */
#ifndef BURIN_COLOUR_MATRIX_H
#define BURIN_COLOUR_MATRIX_H

#include "pipeline/host_device.h"

#include <stdint.h>

enum { COLOUR_MATRIX_BITS = 12, COLOUR_MATRIX_ONE = 1 << COLOUR_MATRIX_BITS };

/* Weights of red, green, blue and white for each channel of the result. */
struct colour_matrix {
    int16_t weight[3][4];
};

/* Weight C of luma.h, in 1/256. */
HOST_DEVICE int32_t colour_matrix_luma(int c) {
    return c == 0 ? 77 : c == 1 ? 150 : 29;
}

/* A weight, NUMBER / DIVISOR below 8 in size, rounded half up. Of the host alone. */
HOST_DEVICE int16_t colour_matrix_weight(int64_t number, int64_t divisor) {
    const int64_t n = 2 * number * COLOUR_MATRIX_ONE + divisor, d = 2 * divisor;
    return (int16_t)(n >= 0 ? n / d : -((d - 1 - n) / d));
}

/* Sets the weight of each channel by itself so that every row's sum is 1: grays stay as they
 * are. */
HOST_DEVICE void colour_matrix_keep_gray(struct colour_matrix *matrix) {
    for (int c = 0; c < 3; c++)
        matrix->weight[c][c] =
            (int16_t)(COLOUR_MATRIX_ONE - matrix->weight[c][(c + 1) % 3] -
                      matrix->weight[c][(c + 2) % 3]);
}

HOST_DEVICE int32_t colour_matrix_sum(const int16_t weight[4], int32_t red, int32_t green,
                                      int32_t blue) {
    return weight[0] * red + weight[1] * green + weight[2] * blue + weight[3] * 255;
}

HOST_DEVICE uint32_t colour_matrix_of(const int16_t weight[4], uint32_t red, uint32_t green,
                                      uint32_t blue, unsigned depth) {
    const int32_t half = COLOUR_MATRIX_ONE / 2, max = depth == 8 ? 255 : 65535;
    const uint32_t low = depth == 8 ? 0xffff : 255;
    int32_t level = half + colour_matrix_sum(weight, (int32_t)(red & low), (int32_t)(green & low),
                                             (int32_t)(blue & low));
    if (depth == 8)
        level >>= COLOUR_MATRIX_BITS;
    else
        level = ((level >> 8) + colour_matrix_sum(weight, (int32_t)(red >> 8),
                                                  (int32_t)(green >> 8), (int32_t)(blue >> 8))) >>
                (COLOUR_MATRIX_BITS - 8);
    return (uint32_t)(level < 0 ? 0 : level > max ? max : level);
}

#endif
