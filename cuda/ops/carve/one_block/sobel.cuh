// SPDX-License-Identifier: Apache-2.0
/* sobel.cuh - energies by sobel3 and sobel5 in a search of one block, from bytes.
 *
 * Used by:  sweep.cuh, and trace.cuh for single pixels.
 * Source:   pipeline/ops/carve/definition.h and pipeline/ops/carve/energy_map.c define them.
 *
 * How it works: both kernels are differences of sums around the pixel's four corners. A sum weighs
 * the rows and columns around a corner by 1 1, or by 1 3 3 1. With P and Q, the differences of the
 * two pairs of corners that lie opposite each other, the slopes are P - Q and P + Q, and the sum of
 * their squares is 2 (P^2 + Q^2). Turning rows upside down changes signs alone.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_SOBEL_CUH
#define BURIN_CARVE_ONE_BLOCK_SOBEL_CUH

#include "cuda/ops/carve/one_block/layout.cuh"

/* floor(sqrt(2 (P^2 + Q^2))) in the low 16 bits of what is returned. Conversions are slow, so
 * numbers below 2^23 become floats, and floats numbers, by adding 2^23. sqrt_near() errs by 2^-23
 * of the root R at most. By sobel3, where R is at most 1140, sqrt(n + 1/2) is further than that
 * from any whole number: 1 / 4R. By sobel5 the nearest number is the right one or one more. */
template <int REACH> DEVICE uint32_t sobel_root(int p, int q) {
    constexpr uint32_t FLOAT = 0x4b000000; /* 2^23 as a float */
    const uint32_t n = 2 * (uint32_t)(p * p + q * q);
    if constexpr (REACH == 1)
        return __float_as_uint(
            __fadd_rd(sqrt_near(__uint_as_float(FLOAT + n) - 8388607.5f), 8388608.f));
    const uint32_t near = __float_as_uint(sqrt_near((float)n) + 8388608.f) - FLOAT;
    return near - (near * near > n);
}

/* Sum of numbers that lie one after another around a corner, of which the first is *FROM. */
template <int REACH> DEVICE uint32_t corner_sum(const uint32_t *from) {
    return REACH == 1 ? from[0] + from[1] : from[0] + 3 * (from[1] + from[2]) + from[3];
}

/* The last rows of a lane. */
template <int WORDS, int REACH> struct sobel_rows {
    /* By sobel3 the row before, with a word of the lanes on both sides. By sobel5 four bytes for
     * each column: of the last four rows, the latest on top. */
    uint32_t rows[REACH == 1 ? WORDS + 2 : 4 * WORDS];
    uint32_t corners[2 * WORDS + 1]; /* sums left of each column and right of the last, in pairs */
};

/* Makes the sums around corners between rows, now that WORDS are the latest row of the lane, whose
 * first column is X. The image's first column repeats beyond the border. */
template <int WORDS>
DEVICE void corners_of(struct sobel_rows<WORDS, 1> &last, int x, const uint32_t (&words)[WORDS],
                       uint32_t (&sums)[4 * WORDS + 1]) {
    uint32_t row[WORDS + 2];
    row[0] = __shfl_up_sync(~0u, words[WORDS - 1], 1);
    row[WORDS + 1] = __shfl_down_sync(~0u, words[0], 1);
    if (x == 0) row[0] = words[0] << 24;
#pragma unroll
    for (int i = 0; i < WORDS; i++) row[i + 1] = words[i];
#pragma unroll
    for (int i = 0; i <= 4 * WORDS; i++) {
        const int word = (i + 3) / 4, byte = (i + 3) % 4; /* left of the corner */
        const uint32_t weights = 0x0101u << 8 * byte;
        sums[i] = __dp4a(row[word], weights, __dp4a(last.rows[word], weights, 0u));
        if (byte == 3)
            sums[i] = __dp4a(row[word + 1], 1u, __dp4a(last.rows[word + 1], 1u, sums[i]));
    }
#pragma unroll
    for (int i = 0; i < WORDS + 2; i++) last.rows[i] = row[i];
}

template <int WORDS>
DEVICE void corners_of(struct sobel_rows<WORDS, 2> &last, int x, const uint32_t (&words)[WORDS],
                       uint32_t (&sums)[4 * WORDS + 1]) {
    constexpr int COLUMNS = 4 * WORDS;
    uint32_t columns[COLUMNS + 4]; /* two of the left lane, the lane's, two of the right one */
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
        last.rows[i] = __byte_perm(last.rows[i], words[i / 4], 0x4321 + i % 4 * 0x1000);
        columns[i + 2] = __dp4a(last.rows[i], 0x01030301u, 0u);
    }
    uint32_t left = __shfl_up_sync(~0u, columns[COLUMNS] | columns[COLUMNS + 1] << 16, 1);
    const uint32_t right = __shfl_down_sync(~0u, columns[2] | columns[3] << 16, 1);
    if (x == 0) left = columns[2] * 0x10001u;
    columns[0] = left & 0xffff, columns[1] = left >> 16;
    columns[COLUMNS + 2] = right & 0xffff, columns[COLUMNS + 3] = right >> 16;
#pragma unroll
    for (int i = 0; i <= COLUMNS; i++) sums[i] = corner_sum<2>(&columns[i]);
}

/* Adds the next row, WORDS of the lane at column X, and makes the energies of the row REACH before,
 * in pairs as energies_of() does. */
template <int WORDS, int REACH>
DEVICE void add_sobel_row(struct sobel_rows<WORDS, REACH> &last, int x,
                          const uint32_t (&words)[WORDS], uint32_t (&energies)[2 * WORDS]) {
    constexpr int COLUMNS = 4 * WORDS;
    uint32_t sums[COLUMNS + 1], before[COLUMNS + 1], roots[COLUMNS];
    corners_of(last, x, words, sums);
#pragma unroll
    for (int i = 0; i <= COLUMNS; i++)
        before[i] = i % 2 ? last.corners[i / 2] >> 16 : last.corners[i / 2] & 0xffff;
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        roots[i] =
            sobel_root<REACH>((int)(sums[i + 1] - before[i]), (int)(sums[i] - before[i + 1]));
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) {
        const int first = i / 2 * 4 + i % 2;
        energies[i] = __byte_perm(roots[first], roots[first + 2], 0x5410);
        last.corners[i] = sums[2 * i] | sums[2 * i + 1] << 16;
    }
    last.corners[2 * WORDS] = sums[COLUMNS];
}

#endif
