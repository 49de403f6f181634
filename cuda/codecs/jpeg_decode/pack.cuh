// SPDX-License-Identifier: Apache-2.0
/* pack.cuh - four numbers clamped to bytes and packed into a word, the first one lowest.
 *
 * Used by:  inverse.cuh, pixels.cuh.
 */
#ifndef BURIN_JPEG_PACK_CUH
#define BURIN_JPEG_PACK_CUH

#include "pipeline/codecs/jpeg/samples.h"

/* One instruction clamps two numbers and packs them in front of the given word. */
static __device__ __forceinline__ uint32_t jpeg_pack(int32_t a, int32_t b, int32_t c, int32_t d) {
#if defined(__CUDA_ARCH__)
    uint32_t high, word;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(d), "r"(c), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(b), "r"(a), "r"(high));
    return word;
#else
    return jpeg_clamp(a) | jpeg_clamp(b) << 8 | jpeg_clamp(c) << 16 | jpeg_clamp(d) << 24;
#endif
}

#endif
