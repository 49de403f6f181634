// SPDX-License-Identifier: Apache-2.0
/* reduction_add.cuh - one thread's part of a reduction: adds 16 bytes of samples, and folds the sum
 * to a number for each colour channel.
 *
 * Used by:  reduction.cuh.
 * Limits:   PHASE, 0..2, is the number of chunks of a row by which the samples are shifted; 0
 *           unless there are 3 channels.
 *
 * How it works. A chunk is four words. Words of the same class hold the same channels at the same
 * places: with three channels there are three classes, and the first word of chunk x has class x %
 * 3.
 */
#ifndef BURIN_REDUCTION_ADD_CUH
#define BURIN_REDUCTION_ADD_CUH

#include <cuda_runtime.h>

#include <stdint.h>

/* Item I, a constant, after all have moved on by PHASE places. */
template <class T>
static __device__ __forceinline__ T rotated(const T (&items)[3], int i, uint32_t phase) {
    return phase == 0 ? items[i] : phase == 1 ? items[(i + 2) % 3] : items[(i + 1) % 3];
}

/* ---- the largest */

/* Samples in pairs of 16 bits; bytes are split into the even and the odd ones. */
template <int DEPTH, int CHANNELS> struct largest_partial {
    static constexpr int CLASSES = CHANNELS == 3 ? 3 : DEPTH * CHANNELS == 64 ? 2 : 1;
    static constexpr int PAIRS = DEPTH == 8 ? 2 : 1; /* of a word */
    static constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    uint32_t most[PAIRS][CLASSES];

    static __device__ __forceinline__ uint32_t pair(uint32_t word, int p) {
        return DEPTH == 16 ? word : __byte_perm(word, 0, p ? 0x4341 : 0x4240);
    }

    __device__ __forceinline__ void add(const uint32_t (&words)[4], uint32_t phase) {
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            uint32_t chunk[CLASSES] = {};
#pragma unroll
            for (int k = 0; k < 4; k++)
                chunk[k % CLASSES] = __vmaxu2(chunk[k % CLASSES], pair(words[k], p));
#pragma unroll
            for (int r = 0; r < CLASSES; r++) {
                if constexpr (CLASSES == 3)
                    most[p][r] = __vmaxu2(most[p][r], rotated(chunk, r, phase));
                else
                    most[p][r] = __vmaxu2(most[p][r], chunk[r]);
            }
        }
    }

    __device__ __forceinline__ void fold(unsigned long long (&results)[COLOURS]) const {
        uint32_t largest[CHANNELS] = {};
#pragma unroll
        for (int r = 0; r < CLASSES; r++)
#pragma unroll
            for (int p = 0; p < PAIRS; p++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const int place = DEPTH == 8 ? 4 * r + 2 * half + p : 2 * r + half;
                    uint32_t &of = largest[place % CHANNELS];
                    of = max(of, half ? most[p][r] >> 16 : most[p][r] & 0xffff);
                }
#pragma unroll
        for (int c = 0; c < COLOURS; c++) results[c] = largest[c];
    }

    static __device__ __forceinline__ unsigned long long combine(unsigned long long a,
                                                                 unsigned long long b) {
        return max(a, b);
    }

    static __device__ __forceinline__ void merge(unsigned long long *to,
                                                 unsigned long long result) {
        atomicMax(to, result);
    }
};

/* ---- the sum */

template <int DEPTH, int CHANNELS> struct sum_partial {
    static constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    static constexpr int SAMPLES = 128 / DEPTH;
    unsigned long long sums[COLOURS];

    /* 1 in the bytes of word K that belong to channel C, if the chunk is the first of its row. */
    static constexpr __device__ uint32_t byte_mask(int k, int c) {
        uint32_t mask = 0;
        for (int b = 0; b < 4; b++)
            if ((4 * k + b) % CHANNELS == c) mask |= 1u << 8 * b;
        return mask;
    }

    static __device__ __forceinline__ uint32_t chunk_sum(const uint32_t (&words)[4], int c) {
        uint32_t sum = 0;
        if (DEPTH == 8) {
#pragma unroll
            for (int k = 0; k < 4; k++) sum = __dp4a(words[k], byte_mask(k, c), sum);
        } else {
#pragma unroll
            for (int i = 0; i < SAMPLES; i++)
                if (i % CHANNELS == c) sum += i % 2 ? words[i / 2] >> 16 : words[i / 2] & 0xffff;
        }
        return sum;
    }

    /* Chunk x begins with channel x * SAMPLES % 3: phase, or, with 8 samples, twice that. */
    __device__ __forceinline__ void add(const uint32_t (&words)[4], uint32_t phase) {
        uint32_t chunk[COLOURS];
#pragma unroll
        for (int c = 0; c < COLOURS; c++) chunk[c] = chunk_sum(words, c);
        const uint32_t shift = SAMPLES % 3 == 1 ? phase : 2 * phase % 3;
#pragma unroll
        for (int c = 0; c < COLOURS; c++) {
            if constexpr (CHANNELS == 3)
                sums[c] += rotated(chunk, c, shift);
            else
                sums[c] += chunk[c];
        }
    }

    __device__ __forceinline__ void fold(unsigned long long (&results)[COLOURS]) const {
#pragma unroll
        for (int c = 0; c < COLOURS; c++) results[c] = sums[c];
    }

    static __device__ __forceinline__ unsigned long long combine(unsigned long long a,
                                                                 unsigned long long b) {
        return a + b;
    }

    static __device__ __forceinline__ void merge(unsigned long long *to,
                                                 unsigned long long result) {
        atomicAdd(to, result);
    }
};

#endif
