// SPDX-License-Identifier: Apache-2.0
/* load_any.cuh - bytes from any address, by 16-byte loads.
 *
 * Used by:  copy.cuh, mirror.cuh, smartcrop.cu.
 * Limits:   reads memory before and after the bytes, but only within the 16 that hold one of them:
 *           allocations begin and end at multiples of 256.
 */
#ifndef BURIN_MOVE_LOAD_ANY_CUH
#define BURIN_MOVE_LOAD_ANY_CUH

#include "cuda/chunk.cuh"

/* Drops the lowest COUNT words. */
template <int COUNT, int WORDS>
static __device__ __forceinline__ void drop_words(uint32_t (&words)[WORDS]) {
#pragma unroll
    for (int i = 0; i + COUNT < WORDS; i++) words[i] = words[i + COUNT];
}

/* Words after BYTES are undefined. */
template <int WORDS>
static __device__ __forceinline__ void load_any(uint32_t (&words)[WORDS], const uint8_t *from,
                                                uint32_t bytes) {
    const uint32_t skew = (uint32_t)(uintptr_t)from & 15;
    const uint4 *vectors = (const uint4 *)(from - skew);
    uint32_t wide[WORDS + 4] = {};
#pragma unroll
    for (int i = 0; i < WORDS / 4 + 1; i++)
        if (16 * i < skew + bytes) unpack_vector(wide + 4 * i, __ldg(vectors + i));
    if (skew & 8) drop_words<2>(wide);
    if (skew & 4) drop_words<1>(wide);
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        words[i] = __funnelshift_r(wide[i], wide[i + 1], 8 * (skew & 3));
}

#endif
