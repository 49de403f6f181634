// SPDX-License-Identifier: Apache-2.0
/* axis_sum.cuh - sums of weights and samples along one axis, of MATRIX_ROWS pixels beside one
 * another and of eight targets along the axis at a time.
 *
 * Used by:  across.cuh, where pixels lie below one another; down.cuh, where they lie in a row.
 * Threads:  all lanes of a warp together.
 * Limits:   those of resample_weights.h.
 *
 * How it works. Between reading and writing a pixel is so many planes of bytes: one for each
 * channel, or two where samples have 16 bits, the high byte's first. A word has four neighbours of
 * one plane, along the axis that is summed; table.cuh has the weights for it, as three words of
 * signed bytes. A sum is kept in parts, part e counting 2^(8 e): byte d of a weight and byte b of a
 * sample belong to part d + b. No part overflows: a weight's lowest byte is no larger than the
 * weight, and its others exist only where it is over 127, so that the |bytes| of a window's weights
 * are together under 1.6 * 2^22, times 255 under 2^31.
 */
#ifndef BURIN_RESIZE_AXIS_SUM_CUH
#define BURIN_RESIZE_AXIS_SUM_CUH

#include "cuda/ops/resize/matrix.cuh"
#include "pipeline/rows/resample_weights.h"

/* What lies between reading and writing: CHANNELS of 8 bits, or of 16 where it is WIDE. */
template <int CHANNELS_, bool WIDE_> struct work_layout {
    static constexpr int CHANNELS = CHANNELS_, BYTES = WIDE_ ? 2 : 1;
    static constexpr bool WIDE = WIDE_;
    static constexpr int PLANES = CHANNELS * BYTES, PARTS = 2 + BYTES;
};

/* Four sums a lane, as matrix.cuh lays them out. */
template <class W> struct axis_sums { int32_t part[W::CHANNELS][W::PARTS][4]; };

/* PLANES: a lane's four words of each; DIGITS: its weights. */
template <class W>
static __device__ __forceinline__ void axis_add(struct axis_sums<W> &sums,
                                                const uint32_t (&planes)[W::PLANES][4],
                                                const uint2 (&digits)[3]) {
#pragma unroll
    for (int d = 0; d < 3; d++)
#pragma unroll
        for (int p = 0; p < W::PLANES; p++)
            matrix_add(sums.part[p / W::BYTES][W::BYTES - 1 - p % W::BYTES + d], planes[p],
                       digits[d]);
}

/* A sample of 8 bits, not clamped yet: the whole sum fits 32. */
template <class W>
static __device__ __forceinline__ int32_t axis_value(const struct axis_sums<W> &sums, int channel,
                                                     int i) {
    const int32_t(*const part)[4] = sums.part[channel];
    const uint32_t sum =
        (uint32_t)part[0][i] + ((uint32_t)part[1][i] << 8) + ((uint32_t)part[2][i] << 16);
    return (int32_t)(sum + (1u << (RESAMPLE_BITS - 1))) >> RESAMPLE_BITS;
}

/* One of 16 bits. */
template <class W>
static __device__ __forceinline__ uint32_t axis_wide(const struct axis_sums<W> &sums, int channel,
                                                     int i) {
    int64_t sum = 0;
#pragma unroll
    for (int e = W::PARTS - 1; e >= 0; e--) sum = sum * 256 + sums.part[channel][e][i];
    return resample_result(sum, 65535);
}

/* Of each plane four pixels beside one another, 4 (lane / 8) and on, of target axis_target(). */
template <class W>
static __device__ __forceinline__ void axis_words(uint32_t (&words)[W::PLANES],
                                                  const struct axis_sums<W> &sums) {
#pragma unroll
    for (int c = 0; c < W::CHANNELS; c++) {
        if (W::WIDE) {
            const struct matrix_pair pair =
                matrix_exchange(axis_wide<W>(sums, c, 0) | axis_wide<W>(sums, c, 2) << 16,
                                axis_wide<W>(sums, c, 1) | axis_wide<W>(sums, c, 3) << 16);
            words[W::BYTES * c] = __byte_perm(pair.even, pair.odd, 0x7531);
            words[W::BYTES * c + W::BYTES - 1] = __byte_perm(pair.even, pair.odd, 0x6420);
        } else {
            const struct matrix_pair pair =
                matrix_exchange(pack_bytes(axis_value<W>(sums, c, 0), axis_value<W>(sums, c, 2)),
                                pack_bytes(axis_value<W>(sums, c, 1), axis_value<W>(sums, c, 3)));
            words[c] = __byte_perm(pair.even, pair.odd, 0x5410);
        }
    }
}

/* Which of the eight. */
static __device__ __forceinline__ uint32_t axis_target(void) {
    const uint32_t lane = threadIdx.x % 32;
    return lane % 4 * 2 + (lane / 4 & 1);
}

#endif
