// SPDX-License-Identifier: Apache-2.0
/* axis_sum.cuh - sums of weights times samples along one axis, for AXIS_PIXELS adjacent pixels and
 * eight targets along the axis.
 *
 * Used by:  across.cuh, where the pixels are in a column; down.cuh, where they are in a row.
 * Threads:  all lanes of a warp together.
 * Limits:   those of resample_weights.h.
 *
 * How it works. Between reading and writing, a pixel is in planes of bytes: one for each channel,
 * or several where it needs more bits, the highest byte's first; with alpha that one is signed. A
 * word has four neighbours of one
 * plane, along the axis that is summed; table.cuh has the weights for it, as three words of signed
 * bytes. A sum is kept in parts, part e counting 2^(8 e): byte d of a weight and byte b of a sample
 * belong to part d + b. No part overflows: a weight's lowest byte is no larger than the weight, and
 * its others exist only where it is over 127, so that the |bytes| of a window's weights are
 * together under 1.6 * 2^22, times 255 under 2^31.
 *
 * The pixels are summed in halves of MATRIX_ROWS: with g = lane / 4 pixels 4 g + 2 and 4 g + 3 are
 * rows g and g + 8 of the matrix, then 4 g and 4 g + 1. So a lane gets all four of targets 2 t and
 * 2 t + 1, with t = lane % 4, as whole words.
 */
#ifndef BURIN_RESIZE_AXIS_SUM_CUH
#define BURIN_RESIZE_AXIS_SUM_CUH

#include "cuda/ops/resize/matrix.cuh"
#include "pipeline/rows/resample_alpha.h"

enum { AXIS_HALVES = 2, AXIS_PIXELS = AXIS_HALVES * MATRIX_ROWS };

/* Planes of numbers of BYTES bytes, for each of CHANNELS. */
template <int CHANNELS_, int BYTES_, bool SIGNED_ = false> struct work_layout {
    static constexpr int CHANNELS = CHANNELS_, BYTES = BYTES_;
    static constexpr bool WIDE = BYTES_ > 1, SIGNED = SIGNED_;
    static constexpr int PLANES = CHANNELS * BYTES, PARTS = 2 + BYTES;
};

/* Four sums a lane, in the order of matrix.cuh. */
template <class W> struct axis_sums { int32_t part[W::CHANNELS][W::PARTS][4]; };

/* Sums before the first sample. Those of 8 bits begin with the rounding. */
template <class W> static __device__ __forceinline__ struct axis_sums<W> axis_begin(void) {
    struct axis_sums<W> sums = {};
#pragma unroll
    for (int c = 0; c < W::CHANNELS; c++)
#pragma unroll
        for (int i = 0; i < 4; i++) sums.part[c][0][i] = W::WIDE ? 0 : 1 << (RESAMPLE_BITS - 1);
    return sums;
}

/* PLANES: a lane's four words of each; DIGITS: its weights. */
template <class W>
static __device__ __forceinline__ void axis_add(struct axis_sums<W> &sums,
                                                const uint32_t (&planes)[W::PLANES][4],
                                                const uint2 (&digits)[3]) {
#pragma unroll
    for (int d = 0; d < 3; d++)
#pragma unroll
        for (int p = 0; p < W::PLANES; p++) {
            int32_t(&part)[4] = sums.part[p / W::BYTES][W::BYTES - 1 - p % W::BYTES + d];
            if (W::SIGNED && p % W::BYTES == 0)
                matrix_add<true>(part, planes[p], digits[d]);
            else
                matrix_add(part, planes[p], digits[d]);
        }
}

/* The sums of a single step, or of the first one, without clearing registers. */
template <class W>
static __device__ __forceinline__ void axis_first(struct axis_sums<W> &sums,
                                                  const uint32_t (&planes)[W::PLANES][4],
                                                  const uint2 (&digits)[3]) {
    if constexpr (W::WIDE) {
        sums = axis_begin<W>();
        axis_add<W>(sums, planes, digits);
        return;
    } else {
#pragma unroll
        for (int p = 0; p < W::PLANES; p++)
#pragma unroll
            for (int d = 0; d < 3; d++)
                matrix_first(sums.part[p][d], d == 0 ? 1 << (RESAMPLE_BITS - 1) : 0, planes[p],
                             digits[d]);
    }
}

/* A sample of 8 bits, not yet clamped: the whole sum fits 32 bits. */
template <class W>
static __device__ __forceinline__ int32_t axis_value(const struct axis_sums<W> &sums, int channel,
                                                     int i) {
    const int32_t(*const part)[4] = sums.part[channel];
    const uint32_t sum =
        (uint32_t)part[0][i] + ((uint32_t)part[1][i] << 8) + ((uint32_t)part[2][i] << 16);
    return (int32_t)sum >> RESAMPLE_BITS;
}

/* The whole sum. */
template <class W>
static __device__ __forceinline__ int64_t axis_total(const struct axis_sums<W> &sums, int channel,
                                                     int i) {
    int64_t sum = 0;
#pragma unroll
    for (int e = W::PARTS - 1; e >= 0; e--) sum = sum * 256 + sums.part[channel][e][i];
    return sum;
}

/* A sample of 16 bits. */
template <class W>
static __device__ __forceinline__ uint32_t axis_wide(const struct axis_sums<W> &sums, int channel,
                                                     int i) {
    return resample_result(axis_total<W>(sums, channel, i), 65535);
}

/* Four pixels of each plane and of two targets, once both halves are there: each half puts its two
 * into the lower bytes and moves the others up. */
template <class W>
static __device__ __forceinline__ void axis_words(uint32_t (&words)[W::PLANES][2],
                                                  const struct axis_sums<W> &sums) {
#pragma unroll
    for (int c = 0; c < W::CHANNELS; c++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            uint32_t &high = words[W::BYTES * c][i], &low = words[W::BYTES * c + W::BYTES - 1][i];
            if (W::WIDE) {
                const uint32_t pair = axis_wide<W>(sums, c, i) | axis_wide<W>(sums, c, i + 2) << 16;
                high = __byte_perm(pair, high, 0x5431);
                low = __byte_perm(pair, low, 0x5420);
            } else {
                low = pack_bytes(axis_value<W>(sums, c, i), axis_value<W>(sums, c, i + 2), low);
            }
        }
}

/* A sum shifted down by SHIFT, rounded: 32 bits hold it once FOLDS bytes of it are carried. */
template <class W, int SHIFT, int FOLDS>
static __device__ __forceinline__ int32_t axis_rounded(const struct axis_sums<W> &sums, int i) {
    const int32_t(*const part)[4] = sums.part[0];
    int32_t carried = part[0][i];
#pragma unroll
    for (int e = 1; e <= FOLDS; e++) carried = part[e][i] + (carried >> 8);
    uint32_t sum = (uint32_t)carried + (1 << (SHIFT - 8 * FOLDS - 1));
#pragma unroll
    for (int e = FOLDS + 1; e < W::PARTS; e++) sum += (uint32_t)part[e][i] << 8 * (e - FOLDS);
    return (int32_t)sum >> (SHIFT - 8 * FOLDS);
}

/* resample_across() and resample_down() of a channel's sums, of 8 bits or 16: see
 * resample_alpha.h for their sizes. */
template <class W>
static __device__ __forceinline__ auto axis_across(const struct axis_sums<W> &sums, int i) {
    if constexpr (W::BYTES == 2)
        return axis_rounded<W, ALPHA_SHIFT, 1>(sums, i);
    else
        return resample_across(axis_total<W>(sums, 0, i));
}

template <class W>
static __device__ __forceinline__ auto axis_down(const struct axis_sums<W> &sums, int i) {
    if constexpr (W::BYTES == 3)
        return axis_rounded<W, RESAMPLE_BITS, 2>(sums, i);
    else
        return resample_down(axis_total<W>(sums, 0, i));
}

/* The words of a channel with alpha: W, the layout of its sums; B, of what they become. */
template <class W, class B>
static __device__ __forceinline__ void axis_counts(uint32_t (&words)[B::PLANES][2],
                                                   const struct axis_sums<W> &sums) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const auto near = axis_across<W>(sums, i), far = axis_across<W>(sums, i + 2);
#pragma unroll
        for (int b = 0; b < B::BYTES; b += 2) {
            const uint32_t pair =
                __byte_perm((uint32_t)(near >> 8 * b), (uint32_t)(far >> 8 * b), 0x5410);
            uint32_t &low = words[B::BYTES - 1 - b][i];
            low = __byte_perm(pair, low, 0x5420);
            if (b + 1 == B::BYTES) continue;
            uint32_t &high = words[B::BYTES - 2 - b][i];
            high = __byte_perm(pair, high, 0x5431);
        }
    }
}

/* The words of windows of few steps, one channel after another. */
template <class W, int STEPS>
static __device__ __forceinline__ void axis_short(uint32_t (&words)[W::PLANES][2],
                                                  const uint32_t (&planes)[STEPS][W::PLANES][4],
                                                  const uint2 (&digits)[STEPS][3]) {
    typedef work_layout<1, W::BYTES> one;
#pragma unroll
    for (int p = 0; p < W::PLANES; p += one::PLANES) {
        uint32_t made[one::PLANES][2];
#pragma unroll
        for (int i = 0; i < 2 * one::PLANES; i++) made[i / 2][i % 2] = words[p + i / 2][i % 2];
        struct axis_sums<one> sums;
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            uint32_t from[one::PLANES][4];
#pragma unroll
            for (int i = 0; i < 4 * one::PLANES; i++)
                from[i / 4][i % 4] = planes[s][p + i / 4][i % 4];
            if (s == 0)
                axis_first<one>(sums, from, digits[0]);
            else
                axis_add<one>(sums, from, digits[s]);
        }
        axis_words<one>(made, sums);
#pragma unroll
        for (int i = 0; i < 2 * one::PLANES; i++) words[p + i / 2][i % 2] = made[i / 2][i % 2];
    }
}

/* The first of the lane's two targets. */
static __device__ __forceinline__ uint32_t axis_target(void) {
    return threadIdx.x % 4 * 2;
}

/* The first of the lane's pixels. */
static __device__ __forceinline__ uint32_t axis_pixel(void) {
    return threadIdx.x % 32 / 4 * 4;
}

#endif
