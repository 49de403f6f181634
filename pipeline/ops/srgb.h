// SPDX-License-Identifier: Apache-2.0
/* srgb.h - a pixel of an image with a profile in sRGB, in integers that both devices compute alike.
 *
 * The host makes a table from the profile (srgb_table.h). A colour (v0, v1, v2), each v in 0..M,
 * has light l, of which 2^24 is white:
 *
 *   p_c = curve_c[v_c]
 *   of a profile of curves and a matrix, p_c up to 2^24:
 *     l_k = (p_0 m_0k + p_1 m_1k + p_2 m_2k + 2^23) >> 24
 *   of any other, p_c the place in a grid in 2^-24 of a cell, up to (side - 1) 2^24:
 *     i_c = min(p_c >> 24, side - 2),   f_c = p_c - i_c 2^24
 *     f_x >= f_y >= f_z           the axes by their fractions; equal ones in their own order
 *     corners e0 at i, e1 one further on x, e2 also on y, e3 also on z
 *     l = (e0 (2^24 - f_x) + e1 (f_x - f_y) + e2 (f_y - f_z) + e3 f_z + 2^23) >> 24
 *   l is clipped to 0..2^24
 *   s = (encode[j] (4096 - g) + encode[j + 1] g + 2048) >> 12,  j = l >> 12, g = l & 4095
 *   v' = floor((255 s + 32767) / 65535) for 8 bits, s for 16
 *
 * encode[j] is sRGB's curve at j / 4096, of 65535. Matrix and grid give light, so that clipping
 * comes last. A gray v' is curve_0[v].
 *
 * Used by:  srgb, on both devices; srgb_table.c.
 * Threads:  any.
 */
#ifndef BURIN_OPS_SRGB_H
#define BURIN_OPS_SRGB_H

#include "pipeline/host_device.h"

#include <stdint.h>

enum {
    SRGB_SIDE_MAX = 33,
    SRGB_BITS = 24, /* of fractions, and of light */
    SRGB_ONE = 1 << SRGB_BITS,
    SRGB_ENCODE = 4096, /* steps of sRGB's curve */
    SRGB_ENCODE_BITS = 12,
};

/* Values of `side`. */
enum { SRGB_VOID = 0, SRGB_GRAY = 1, SRGB_MATRIX = 2 };

/* Behind it lie three curves of `levels` numbers each, then nine of a matrix, by samples, or the
 * grid: the first sample's axis is the slowest, and the colours of a corner follow each other. */
struct srgb_table {
    int32_t side; /* SRGB_VOID: pixels stay as they are; 3 and more: of a grid */
    int32_t levels;
    uint16_t encode[SRGB_ENCODE + 2]; /* the last twice */
};

HOST_DEVICE const int32_t *srgb_curves(const struct srgb_table *table) {
    return (const int32_t *)(const void *)(table + 1);
}

HOST_DEVICE uint32_t srgb_encoded(const struct srgb_table *table, int64_t light, unsigned depth) {
    const int64_t white = SRGB_ONE;
    const int32_t clipped = (int32_t)(light < 0 ? 0 : light > white ? white : light);
    const uint32_t at = (uint32_t)clipped >> (SRGB_BITS - SRGB_ENCODE_BITS);
    const uint32_t part = (uint32_t)clipped & (SRGB_ENCODE - 1);
    const uint32_t sample = (table->encode[at] * (SRGB_ENCODE - part) +
                             table->encode[at + 1] * part + SRGB_ENCODE / 2) >>
                            SRGB_ENCODE_BITS;
    return depth == 8 ? (sample * 255 + 32767) / 65535 : sample;
}

struct srgb_axis {
    int32_t fraction;
    uint32_t step; /* of the grid, to the next corner */
};

/* Puts the larger fraction first. */
HOST_DEVICE void srgb_sort(struct srgb_axis *a, struct srgb_axis *b) {
    const struct srgb_axis first = *a, second = *b;
    const int swaps = first.fraction < second.fraction;
    *a = swaps ? second : first;
    *b = swaps ? first : second;
}

/* Sets AXIS to the place of SAMPLE in the curve, and returns the cell's first corner. */
HOST_DEVICE uint32_t srgb_place(const int32_t *curve, uint32_t sample, uint32_t side, uint32_t step,
                                struct srgb_axis *axis) {
    const uint32_t place = (uint32_t)curve[sample], cell = place >> SRGB_BITS;
    const uint32_t first = cell < side - 2 ? cell : side - 2;
    axis->fraction = (int32_t)(place - (first << SRGB_BITS));
    axis->step = step;
    return first * step;
}

/* Sets LIGHT to that of a colour, for a table with a matrix. */
HOST_DEVICE void srgb_by_matrix(const struct srgb_table *table, const uint32_t in[3],
                                int64_t light[3]) {
    const uint32_t levels = (uint32_t)table->levels;
    const int32_t *curves = srgb_curves(table), *matrix = curves + 3 * levels;
    const int64_t x = curves[in[0]], y = curves[levels + in[1]], z = curves[2 * levels + in[2]];
    for (int c = 0; c < 3; c++) light[c] = x * matrix[c] + y * matrix[3 + c] + z * matrix[6 + c];
}

/* The same for a table with a grid. */
HOST_DEVICE void srgb_by_grid(const struct srgb_table *table, const uint32_t in[3],
                              int64_t light[3]) {
    const uint32_t levels = (uint32_t)table->levels, side = (uint32_t)table->side;
    const int32_t *curves = srgb_curves(table), *grid = curves + 3 * levels;
    struct srgb_axis x, y, z;
    grid += srgb_place(curves, in[0], side, 3 * side * side, &x);
    grid += srgb_place(curves + levels, in[1], side, 3 * side, &y);
    grid += srgb_place(curves + 2 * levels, in[2], side, 3, &z);
    srgb_sort(&x, &y);
    srgb_sort(&y, &z);
    srgb_sort(&x, &y);
    const int32_t *one = grid + x.step, *two = one + y.step, *three = two + z.step;
    for (int c = 0; c < 3; c++)
        light[c] = (int64_t)grid[c] * (SRGB_ONE - x.fraction) +
                   (int64_t)one[c] * (x.fraction - y.fraction) +
                   (int64_t)two[c] * (y.fraction - z.fraction) + (int64_t)three[c] * z.fraction;
}

/* OUT: the colour IN in sRGB. */
HOST_DEVICE void srgb_convert(const struct srgb_table *table, const uint32_t in[3], uint32_t out[3],
                              unsigned depth) {
    int64_t light[3];
    if (table->side == SRGB_MATRIX)
        srgb_by_matrix(table, in, light);
    else
        srgb_by_grid(table, in, light);
    for (int c = 0; c < 3; c++)
        out[c] = srgb_encoded(table, (light[c] + SRGB_ONE / 2) >> SRGB_BITS, depth);
}

#endif
