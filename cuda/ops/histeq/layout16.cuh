// SPDX-License-Identifier: Apache-2.0
/* layout16.cuh - how histeq holds pixels of 16-bit samples, and what its three kernels are given.
 *
 * Used by:  the other files of 16-bit histeq.
 */
#ifndef BURIN_HISTEQ_LAYOUT16_CUH
#define BURIN_HISTEQ_LAYOUT16_CUH

#include "cuda/batch.cuh"
#include "cuda/ops/histeq/fixed_point.h"

enum { THREADS16 = 1024 };

/* How pixels of one kind are held. */
template <int CHANNELS, int MODE> struct layout16 {
    static constexpr int TABLES = CHANNELS > 2 && MODE == HISTEQ_EACH ? 3 : 1;
    static constexpr int WORDS = CHANNELS == 3 ? 12 : 4;
    static constexpr int PIXELS = 2 * WORDS / CHANNELS;
    static constexpr int BYTES = 2 * CHANNELS; /* a pixel */
};

/* Scratch and parameters of a batch. */
struct histeq16_args {
    uint32_t *counts;   /* [image][table][pitch] */
    uint32_t *identity; /* [image][table]: the image has one bin in use and stays as it is */
    uint16_t *levels;   /* [image][table][pitch] */
    uint32_t bins, pitch;
    uint32_t window, copies_log2; /* bins that are in shared memory; 2^0 or 2^5 copies of each */
    int tables, scale;
    bool levels_fit; /* into shared memory, all tables */
};

static __device__ __forceinline__ uint32_t bin16(uint32_t value, uint32_t bins) {
    return value * bins >> 16;
}

/* What is looked up for pixel P: sample T for `each`, else V. */
template <int CHANNELS, int MODE, int WORDS>
static __device__ __forceinline__ uint32_t lookup_value16(const uint32_t (&words)[WORDS], int p,
                                                          int t) {
    const int i = p * CHANNELS;
    if (CHANNELS < 3) return chunk_sample<16>(words, i);
    const uint32_t red = chunk_sample<16>(words, i), green = chunk_sample<16>(words, i + 1);
    const uint32_t blue = chunk_sample<16>(words, i + 2);
    if (MODE == HISTEQ_EACH) return t == 0 ? red : t == 1 ? green : blue;
    return MODE == HISTEQ_LUMA ? luma(red, green, blue) : max(max(red, green), blue);
}

#endif
