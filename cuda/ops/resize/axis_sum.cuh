// SPDX-License-Identifier: Apache-2.0
/* axis_sum.cuh - sums of weights and samples along one axis, four at a time.
 *
 * Used by:  across.cuh, down.cuh.
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

#include "pipeline/rows/resample_weights.h"

#include <cuda_runtime.h>

/* What lies between reading and writing: CHANNELS of 8 bits, or of 16 where it is WIDE. */
template <int CHANNELS_, bool WIDE_> struct work_layout {
    static constexpr int CHANNELS = CHANNELS_, BYTES = WIDE_ ? 2 : 1;
    static constexpr bool WIDE = WIDE_;
    static constexpr int PLANES = CHANNELS * BYTES, PARTS = 2 + BYTES;
};

template <class W> struct axis_sums { int32_t part[W::CHANNELS][W::PARTS]; };

/* Four unsigned bytes times four signed ones. */
static __device__ __forceinline__ int32_t dot4(uint32_t samples, uint32_t weights, int32_t sum) {
#ifdef __CUDA_ARCH__
    int32_t result;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(samples), "r"(weights), "r"(sum));
    return result;
#else
    for (int i = 0; i < 32; i += 8)
        sum += (int32_t)(samples >> i & 255) * (int8_t)(weights >> i & 255);
    return sum;
#endif
}

/* One word of each plane. */
template <class W>
static __device__ __forceinline__ void
axis_add(struct axis_sums<W> &sums, const uint32_t (&planes)[W::PLANES], const uint4 &weights) {
#pragma unroll
    for (int p = 0; p < W::PLANES; p++) {
        int32_t *const part = sums.part[p / W::BYTES];
        const int byte = W::BYTES - 1 - p % W::BYTES;
        part[byte] = dot4(planes[p], weights.x, part[byte]);
        part[byte + 1] = dot4(planes[p], weights.y, part[byte + 1]);
        part[byte + 2] = dot4(planes[p], weights.z, part[byte + 2]);
    }
}

/* The sample of one channel. Of 8 bits the whole sum fits 32. */
template <class W>
static __device__ __forceinline__ uint32_t axis_sample(const struct axis_sums<W> &sums,
                                                       int channel) {
    const int32_t *const part = sums.part[channel];
    if (W::WIDE) {
        int64_t sum = 0;
#pragma unroll
        for (int e = W::PARTS - 1; e >= 0; e--) sum = sum * 256 + part[e];
        return resample_result(sum, 65535);
    }
    const uint32_t sum = (uint32_t)part[0] + ((uint32_t)part[1] << 8) + ((uint32_t)part[2] << 16);
    const int32_t value = (int32_t)(sum + (1u << (RESAMPLE_BITS - 1))) >> RESAMPLE_BITS;
    return (uint32_t)min(max(value, 0), 255);
}

#endif
