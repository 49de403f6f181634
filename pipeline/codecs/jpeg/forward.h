// SPDX-License-Identifier: Apache-2.0
/* forward.h - a block's samples to its quantized coefficients: the forward transform that
 * libjpeg calls islow, and its division.
 *
 * Rows first, then columns; each output is a sum of products of which only the last is rounded, so
 * that the order of additions does not matter. A row's output is a dot product of eight bytes, the
 * last four in reverse: outputs 0, 2, 4 and 6 add both halves, the others subtract them (~x is
 * -x - 1, so a constant corrects it). Columns go by twos, in the halves of a word: both numbers are
 * kept above 0 by a constant that the sum is known to hold.
 * A coefficient comes out 8 times too large. Its quotient by 8q is rounded half away from 0: a
 * float multiplication by (1 + 2^-17) / 8q and the addition of 1.5 * 2^23, rounded once, give it in
 * the lowest bits of the float. The factor pushes halves over the edge and reaches no other number.
 *
 * Used by:  jpeg_tiles.c, cuda/codecs/.
 * Source:   jfdctint.c and jcdctmgr.c of libjpeg-turbo; tests/pipeline/codecs/jpeg/forward.c tries
 *           every divisor with every coefficient.
 * Limits:   quantization steps 1..255.
 */
#ifndef BURIN_JPEG_FORWARD_H
#define BURIN_JPEG_FORWARD_H

#include "pipeline/codecs/jpeg/packed_bytes.h"
#include "pipeline/codecs/jpeg/zigzag.h"

#include <math.h>
#include <string.h>

enum {
    JPEG_BLOCK_WORDS = 16, /* of samples, two a row */
    /* cos(k pi / 16) times the square root of 2 and 8192, as the sums of libjpeg's constants are */
    JPEG_C1 = 11363,
    JPEG_C2 = 10703,
    JPEG_C3 = 9633,
    JPEG_C5 = 6437,
    JPEG_C6 = 4433,
    JPEG_C7 = 2260,
    JPEG_ROW_BIAS = 4096, /* what a row's output is kept above 0 by */
    JPEG_ROW_START = (1 << 10) + (JPEG_ROW_BIAS << 11)
};

/* ---- rows */

/* An output that adds both ends of the row, or subtracts them where REVERSED has its bits turned
 * and START holds the sum of the weights. */
HOST_DEVICE uint32_t jpeg_row_output(uint32_t first, uint32_t second, uint32_t forward,
                                     uint32_t reversed, int32_t start) {
    int32_t sum = packed_sdot2_low(first, forward, start);
    sum = packed_sdot2_high(second, forward, sum);
    sum = packed_sdot2_low(first, reversed, sum);
    return (uint32_t)packed_sdot2_high(second, reversed, sum);
}

/* Two outputs, shifted and each in its half. Both are above 0 and below 2^27. */
HOST_DEVICE uint32_t jpeg_row_pair(uint32_t even, uint32_t odd) {
    return even >> 11 | (odd << 5 & 0xffff0000u);
}

/* Eight signed samples to eight outputs plus JPEG_ROW_BIAS: columns 0 and 1 in out[0], and so on.
 * The weights of outputs 3 and 5 differ by 1 from those of 1 and 7, as libjpeg's do. */
HOST_DEVICE void jpeg_forward_row(uint32_t left, uint32_t right, uint32_t *out) {
    const uint32_t reversed = packed_select(right, 0, 0x0123), turned = ~reversed;
    const uint32_t out0 =
        (uint32_t)packed_sdot4(0x04040404, reversed, packed_sdot4(0x04040404, left, JPEG_ROW_BIAS));
    const uint32_t out4 =
        (uint32_t)packed_sdot4(0x04fcfc04, reversed, packed_sdot4(0x04fcfc04, left, JPEG_ROW_BIAS));
    const uint32_t out2 =
        jpeg_row_output(PACKED_PAIR(JPEG_C2, JPEG_C6), PACKED_PAIR(-JPEG_C6, -JPEG_C2), left,
                        reversed, JPEG_ROW_START);
    const uint32_t out6 =
        jpeg_row_output(PACKED_PAIR(JPEG_C6, -JPEG_C2 - 1), PACKED_PAIR(JPEG_C2 + 1, -JPEG_C6),
                        left, reversed, JPEG_ROW_START);
    const uint32_t out1 =
        jpeg_row_output(PACKED_PAIR(JPEG_C1, JPEG_C3), PACKED_PAIR(JPEG_C5, JPEG_C7), left, turned,
                        JPEG_ROW_START + JPEG_C1 + JPEG_C3 + JPEG_C5 + JPEG_C7);
    const uint32_t out3 =
        jpeg_row_output(PACKED_PAIR(JPEG_C3, 1 - JPEG_C7), PACKED_PAIR(1 - JPEG_C1, 1 - JPEG_C5),
                        left, turned, JPEG_ROW_START + JPEG_C3 + 3 - JPEG_C7 - JPEG_C1 - JPEG_C5);
    const uint32_t out5 =
        jpeg_row_output(PACKED_PAIR(JPEG_C5, 1 - JPEG_C1), PACKED_PAIR(JPEG_C7 + 1, JPEG_C3), left,
                        turned, JPEG_ROW_START + JPEG_C5 + 2 - JPEG_C1 + JPEG_C7 + JPEG_C3);
    const uint32_t out7 =
        jpeg_row_output(PACKED_PAIR(JPEG_C7, 1 - JPEG_C5), PACKED_PAIR(JPEG_C3, -JPEG_C1), left,
                        turned, JPEG_ROW_START + JPEG_C7 + 1 - JPEG_C5 + JPEG_C3 - JPEG_C1);
    out[0] = out0 | (out1 << 5 & 0xffff0000u);
    out[1] = jpeg_row_pair(out2, out3);
    out[2] = out4 | (out5 << 5 & 0xffff0000u);
    out[3] = jpeg_row_pair(out6, out7);
}

/* ---- columns */

/* Eight words of two columns after the first additions, each half plus a bias: */
struct jpeg_column_pair {
    uint32_t out0, out4;     /* plus 32768 */
    uint32_t t12, t13;       /* plus 16384 */
    uint32_t t4, t5, t6, t7; /* plus 8192; the names are libjpeg's */
};

HOST_DEVICE struct jpeg_column_pair jpeg_column_sums(const uint32_t *rows) {
    struct jpeg_column_pair pair;
    const uint32_t t0 = rows[0] + rows[7], t1 = rows[1] + rows[6];
    const uint32_t t2 = rows[2] + rows[5], t3 = rows[3] + rows[4];
    const uint32_t t10 = t0 + t3, t11 = t1 + t2;
    pair.t7 = rows[0] - rows[7] + 0x20002000u;
    pair.t6 = rows[1] - rows[6] + 0x20002000u;
    pair.t5 = rows[2] - rows[5] + 0x20002000u;
    pair.t4 = rows[3] - rows[4] + 0x20002000u;
    pair.t13 = t0 - t3 + 0x40004000u;
    pair.t12 = t1 - t2 + 0x40004000u;
    pair.out0 = t10 + t11;
    pair.out4 = t10 - t11 + 0x80008000u;
    return pair;
}

HOST_DEVICE int32_t jpeg_column_half(uint32_t pair, int which) {
    return (int32_t)(which ? pair >> 16 : pair & 0xffff);
}

/* The column in half WHICH: eight coefficients, 8 times too large, by row. */
HOST_DEVICE void jpeg_forward_column(const struct jpeg_column_pair *pair, int which, int32_t *out) {
    const int32_t t12 = jpeg_column_half(pair->t12, which);
    const int32_t t13 = jpeg_column_half(pair->t13, which);
    const int32_t t4 = jpeg_column_half(pair->t4, which), t5 = jpeg_column_half(pair->t5, which);
    const int32_t t6 = jpeg_column_half(pair->t6, which), t7 = jpeg_column_half(pair->t7, which);
    const int32_t half = 1 << 14;
    out[0] = (jpeg_column_half(pair->out0, which) - 32768 + 2) >> 2;
    out[4] = (jpeg_column_half(pair->out4, which) - 32768 + 2) >> 2;
    out[2] = (half - 16384 * (JPEG_C6 + JPEG_C2) + JPEG_C6 * t12 + JPEG_C2 * t13) >> 15;
    out[6] = (half - 16384 * (JPEG_C6 - JPEG_C2 - 1) + JPEG_C6 * t13 - (JPEG_C2 + 1) * t12) >> 15;
    out[1] = (half - 8192 * (JPEG_C1 + JPEG_C3 + JPEG_C5 + JPEG_C7) + JPEG_C1 * t7 + JPEG_C3 * t6 +
              JPEG_C5 * t5 + JPEG_C7 * t4) >>
             15;
    out[3] = (half - 8192 * (JPEG_C3 - JPEG_C7 - JPEG_C1 - JPEG_C5 + 3) + JPEG_C3 * t7 -
              (JPEG_C7 - 1) * t6 - (JPEG_C1 - 1) * t5 - (JPEG_C5 - 1) * t4) >>
             15;
    out[5] = (half - 8192 * (JPEG_C5 - JPEG_C1 + JPEG_C7 + JPEG_C3 + 2) + JPEG_C5 * t7 -
              (JPEG_C1 - 1) * t6 + (JPEG_C7 + 1) * t5 + JPEG_C3 * t4) >>
             15;
    out[7] = (half - 8192 * (JPEG_C7 - JPEG_C5 + JPEG_C3 - JPEG_C1 + 1) + JPEG_C7 * t7 -
              (JPEG_C5 - 1) * t6 + JPEG_C3 * t5 - JPEG_C1 * t4) >>
             15;
}

/* ---- quantization */

/* 1.5 * 2^23: a float of this size has no bits after the point. */
#define JPEG_ROUNDER      12582912.0f
#define JPEG_ROUNDER_BITS 0x4b400000u

HOST_DEVICE uint32_t jpeg_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* On the host; what jpeg_quotient multiplies by. */
static inline float jpeg_reciprocal(unsigned step) {
    return (float)((1 + 1.0 / 131072) / (8.0 * step));
}

/* JPEG_ROUNDER_BITS plus the rounded quotient. */
HOST_DEVICE uint32_t jpeg_quotient(int32_t coefficient, float reciprocal) {
    return jpeg_float_bits(fmaf((float)coefficient, reciprocal, JPEG_ROUNDER));
}

/* The place at which jpeg_forward reads the reciprocal of the coefficient at 8 * row + column. */
HOST_DEVICE int jpeg_reciprocal_place(int row, int column) {
    return column / 2 * 16 + row * 2 + column % 2;
}

/* On the host, from the steps at 8 * row + column. */
static inline void jpeg_reciprocals_init(float reciprocals[JPEG_BLOCK],
                                         const uint8_t steps[JPEG_BLOCK]) {
    for (int i = 0; i < JPEG_BLOCK; i++)
        reciprocals[jpeg_reciprocal_place(i / 8, i % 8)] = jpeg_reciprocal(steps[i]);
}

/* Samples of a block, two words a row, to coefficients in zigzag order. RECIPROCALS begin at a
 * multiple of 16 bytes. Returns a bit for each that is not 0, the DC left out: number 1 is the
 * highest, 63 is bit 1. */
HOST_DEVICE uint64_t jpeg_forward(const uint32_t *samples, const float *reciprocals,
                                  int16_t *coefficients) {
    const uint8_t number[JPEG_BLOCK] = JPEG_ZIGZAG_NUMBER;
    const float *aligned = (const float *)__builtin_assume_aligned(reciprocals, 16);
    uint32_t rows[4][8], high = 0, low = 0;
    PACKED_UNROLL
    for (int r = 0; r < 8; r++) {
        uint32_t out[4];
        jpeg_forward_row(samples[2 * r], samples[2 * r + 1], out);
        PACKED_UNROLL
        for (int p = 0; p < 4; p++) rows[p][r] = out[p];
    }
    PACKED_UNROLL
    for (int p = 0; p < 4; p++) {
        const struct jpeg_column_pair pair = jpeg_column_sums(rows[p]);
        int32_t columns[2][8];
        float by[16]; /* all before the first store, so that they are read four at a time */
        PACKED_UNROLL
        for (int i = 0; i < 16; i++) by[i] = aligned[16 * p + i];
        jpeg_forward_column(&pair, 0, columns[0]);
        jpeg_forward_column(&pair, 1, columns[1]);
        PACKED_UNROLL
        for (int i = 0; i < 16; i++) {
            const int k = number[8 * (i / 2) + 2 * p + i % 2];
            const uint32_t bits = jpeg_quotient(columns[i % 2][i / 2], by[i]);
            coefficients[k] = (int16_t)(uint16_t)bits;
            if (k == 0) continue;
            if (k <= 32)
                high = packed_mark(high, 1u << (32 - k), bits, JPEG_ROUNDER_BITS);
            else
                low = packed_mark(low, 1u << (64 - k), bits, JPEG_ROUNDER_BITS);
        }
    }
    return (uint64_t)high << 32 | low;
}

/* ---- the same in loops, for a GPU that would wait for instructions: few images at once, where no
 * other warp has read them into a cache before */

/* Places for jpeg_forward_rolled: PLACES[16 p + i] is the number of the coefficient that comes i-th
 * in the columns 2p and 2p + 1. */
static inline void jpeg_places_init(uint8_t places[JPEG_BLOCK]) {
    const uint8_t number[JPEG_BLOCK] = JPEG_ZIGZAG_NUMBER;
    for (int p = 0; p < 4; p++)
        for (int i = 0; i < 16; i++) places[16 * p + i] = number[8 * (i / 2) + 2 * p + i % 2];
}

/* The 16 lowest bits, each to twice its place. */
HOST_DEVICE uint32_t jpeg_spread(uint32_t bits) {
    bits = (bits | bits << 8) & 0x00ff00ffu;
    bits = (bits | bits << 4) & 0x0f0f0f0fu;
    bits = (bits | bits << 2) & 0x33333333u;
    return (bits | bits << 1) & 0x55555555u;
}

/* Which coefficients are not 0, the first in the highest bit. They begin at a whole word. */
HOST_DEVICE uint64_t jpeg_mask_of(const int16_t *coefficients) {
    uint64_t mask = 0;
    PACKED_NO_UNROLL
    for (int half = 0; half < 2; half++) {
        uint32_t flags = 0; /* of even coefficients in the lower half, of odd ones in the upper */
        PACKED_UNROLL
        for (int i = 0; i < 32; i += 2) {
            uint32_t two;
            memcpy(&two, __builtin_assume_aligned(coefficients + 32 * half + i, 4), sizeof two);
            flags = (flags << 1) + packed_nonzero2(two);
        }
        mask = mask << 32 | jpeg_spread(flags & 0xffff) << 1 | jpeg_spread(flags >> 16);
    }
    return mask;
}

/* Same result as jpeg_forward; COEFFICIENTS may overlap SAMPLES. */
HOST_DEVICE uint64_t jpeg_forward_rolled(const uint32_t *samples, const float *reciprocals,
                                         const uint8_t *places, int16_t *coefficients) {
    const float *aligned = (const float *)__builtin_assume_aligned(reciprocals, 16);
    const uint8_t *numbers = (const uint8_t *)__builtin_assume_aligned(places, 16);
    uint32_t rows[4][8] = { { 0 } }; /* two rows come in at the end of each, the others move up */
    PACKED_NO_UNROLL
    for (int r = 0; r < 8; r += 2) {
        uint32_t first[4], second[4];
        jpeg_forward_row(samples[2 * r], samples[2 * r + 1], first);
        jpeg_forward_row(samples[2 * r + 2], samples[2 * r + 3], second);
        PACKED_UNROLL
        for (int p = 0; p < 4; p++) {
            PACKED_UNROLL
            for (int i = 0; i < 6; i++) rows[p][i] = rows[p][i + 2];
            rows[p][6] = first[p];
            rows[p][7] = second[p];
        }
    }
    PACKED_NO_UNROLL
    for (int p = 0; p < 4; p++) {
        const struct jpeg_column_pair pair = jpeg_column_sums(rows[0]);
        int32_t columns[2][8];
        float by[16];
        uint8_t to[16];
        PACKED_UNROLL
        for (int i = 0; i < 16; i++) by[i] = aligned[16 * p + i];
        PACKED_UNROLL
        for (int i = 0; i < 16; i++) to[i] = numbers[16 * p + i];
        jpeg_forward_column(&pair, 0, columns[0]);
        jpeg_forward_column(&pair, 1, columns[1]);
        PACKED_UNROLL
        for (int i = 0; i < 16; i++)
            coefficients[to[i]] = (int16_t)(uint16_t)jpeg_quotient(columns[i % 2][i / 2], by[i]);
        PACKED_UNROLL
        for (int i = 0; i < 8; i++) {
            rows[0][i] = rows[1][i];
            rows[1][i] = rows[2][i];
            rows[2][i] = rows[3][i];
        }
    }
    return jpeg_mask_of(coefficients) << 1; /* without the DC */
}

/* The DC alone: the sum of all samples. */
HOST_DEVICE int32_t jpeg_forward_dc(const uint32_t *samples, const float *reciprocals) {
    int32_t sum = 0;
    for (int i = 0; i < JPEG_BLOCK_WORDS; i++) sum = packed_sdot4(0x01010101, samples[i], sum);
    return (int32_t)(jpeg_quotient(sum, reciprocals[0]) - JPEG_ROUNDER_BITS);
}

#endif
