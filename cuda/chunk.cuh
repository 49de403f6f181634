// SPDX-License-Identifier: Apache-2.0
/* chunk.cuh - the pixels that one thread holds, as words in registers: load, store, samples.
 *
 * Used by:  batch.cuh, and through it every operator's kernel but carve's.
 * Limits:   sample and byte numbers are constants once loops are unrolled, so that registers are
 *           not indexed at run time.
 *
 * How it works. Aligned rows are read and written in whole 16-byte vectors. From any other address
 * words are read and shifted together; to any other address bytes are written one by one.
 */
#ifndef BURIN_CHUNK_CUH
#define BURIN_CHUNK_CUH

#include "cuda/shared_address.cuh"

#include <cuda_runtime.h>

#include <stdint.h>

/* ---- between memory and registers */

static __device__ __forceinline__ uint4 pack_vector(const uint32_t *words) {
    return make_uint4(words[0], words[1], words[2], words[3]);
}

static __device__ __forceinline__ void unpack_vector(uint32_t *words, uint4 vector) {
    words[0] = vector.x, words[1] = vector.y, words[2] = vector.z, words[3] = vector.w;
}

template <int DEPTH>
static __device__ __forceinline__ uint32_t load_sample(const uint8_t *row, uint32_t index) {
    return DEPTH == 8 ? __ldg(row + index) : __ldg((const uint16_t *)row + index);
}

/* FROM is any address: words that hold a wanted byte are read whole, then shifted together. */
template <int WORDS>
static __device__ __forceinline__ void load_unaligned(uint32_t (&words)[WORDS], const uint8_t *from,
                                                      uint32_t bytes) {
    const uint32_t skew = (uint32_t)(uintptr_t)from & 3;
    const uint32_t *start = (const uint32_t *)(from - skew);
    uint32_t low = __ldg(start);
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const uint32_t high = 4 * (i + 1) < bytes + skew ? __ldg(start + i + 1) : 0;
        words[i] = __funnelshift_r(low, high, 8 * skew);
        low = high;
    }
}

template <int WORDS>
static __device__ __forceinline__ void load_chunk(uint32_t (&words)[WORDS], const uint8_t *from,
                                                  uint32_t bytes, bool aligned) {
    if (!aligned) return load_unaligned(words, from, bytes);
#pragma unroll
    for (int i = 0; i < WORDS / 4; i++) {
        const uint4 none = make_uint4(0, 0, 0, 0);
        unpack_vector(words + 4 * i, 16 * i < bytes ? __ldg((const uint4 *)from + i) : none);
    }
}

/* Whole vectors as streaming stores, which leave first when the L2 cache needs room: inputs that
 * will be read again stay. */
template <int WORDS>
static __device__ __forceinline__ void store_chunk(const uint32_t (&words)[WORDS], uint8_t *to,
                                                   uint32_t bytes, bool aligned) {
    const uint32_t whole = aligned ? bytes & ~15u : 0;
#pragma unroll
    for (int i = 0; i < WORDS / 4; i++)
        if (16 * i < whole) __stcs((uint4 *)to + i, pack_vector(words + 4 * i));
    if (whole == bytes) return;
#pragma unroll
    for (int i = 0; i < 4 * WORDS; i++)
        if (i >= whole && i < bytes) to[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
}

/* Drops the lowest BYTES, at most 4, for loops over an incomplete chunk. */
template <int BYTES, int WORDS>
static __device__ __forceinline__ void chunk_shift(uint32_t (&words)[WORDS]) {
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        words[i] = __funnelshift_rc(words[i], i + 1 < WORDS ? words[i + 1 < WORDS ? i + 1 : i] : 0,
                                    8 * BYTES);
}

/* INDEX is a constant once loops are unrolled. */
template <int DEPTH, int WORDS>
static __device__ __forceinline__ uint32_t chunk_sample(const uint32_t (&words)[WORDS], int index) {
    return DEPTH == 8 ? __byte_perm(words[index / 4], 0, 0x4440 + index % 4)
                      : __byte_perm(words[index / 2], 0, index % 2 ? 0x4432 : 0x4410);
}

template <int DEPTH, int WORDS>
static __device__ __forceinline__ void chunk_set_sample(uint32_t (&words)[WORDS], int index,
                                                        uint32_t value) {
    uint32_t &word = words[DEPTH == 8 ? index / 4 : index / 2];
    if (DEPTH == 8) {
        const int shift = 4 * (index % 4);
        word = __byte_perm(word, value, (0x3210 & ~(15 << shift)) | 4 << shift);
    } else {
        word = __byte_perm(word, value, index % 2 ? 0x5410 : 0x3254);
    }
}

/* Byte FROM of VALUE becomes byte INDEX. */
template <int FROM, int WORDS>
static __device__ __forceinline__ void chunk_set_byte(uint32_t (&words)[WORDS], int index,
                                                      uint32_t value) {
    const int shift = 4 * (index % 4);
    words[index / 4] =
        __byte_perm(words[index / 4], value, (0x3210 & ~(15 << shift)) | (4 + FROM) << shift);
}

/* ---- 48 bytes a thread */

/* A warp's threads load neighbouring vectors (striped) and exchange them through 96 vectors of
 * shared memory, so that each has its own chunk of 48 bytes (blocked); before the store they
 * exchange them back. Otherwise every access would touch three times as many cache lines. */
static __device__ __forceinline__ void striped_to_blocked(uint32_t *words, uint4 *stage) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 3; i++) stage[32 * i + lane] = pack_vector(words + 4 * i);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 3; i++) unpack_vector(words + 4 * i, stage[3 * lane + i]);
    __syncwarp();
}

static __device__ __forceinline__ void blocked_to_striped(uint32_t *words, uint4 *stage) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 3; i++) stage[3 * lane + i] = pack_vector(words + 4 * i);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 3; i++) unpack_vector(words + 4 * i, stage[32 * i + lane]);
    __syncwarp();
}

/* ---- shared memory by its 32-bit address, which costs one multiplication to compute */

/* The hardware merges additions to one address only where the number is 1. */
static __device__ __forceinline__ void shared_increment(uint32_t address) {
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address));
}

/* Only where NUMBER < LIMIT, without a branch. */
static __device__ __forceinline__ void shared_increment_below(uint32_t address, uint32_t number,
                                                              uint32_t limit) {
    asm volatile("{ .reg .pred below; setp.lt.u32 below, %1, %2;"
                 " @below red.shared.add.u32 [%0], 1; }" ::"r"(address),
                 "r"(number), "r"(limit));
}

static __device__ __forceinline__ uint32_t shared_load(uint32_t address) {
    uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
    return value;
}

#endif
