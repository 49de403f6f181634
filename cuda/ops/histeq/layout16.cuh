// SPDX-License-Identifier: Apache-2.0
/* layout16.cuh - how histeq holds pixels of 16-bit samples, and its three kernels' arguments.
 *
 * Used by:  the other files of 16-bit histeq.
 */
#ifndef BURIN_HISTEQ_LAYOUT16_CUH
#define BURIN_HISTEQ_LAYOUT16_CUH

#include "cuda/batch.cuh"
#include "cuda/ops/histeq/fixed_point.h"

enum { THREADS16 = 1024 };

/* The layout of one kind of pixels. */
template <int CHANNELS, int MODE> struct layout16 {
    static constexpr int TABLES = CHANNELS > 2 && MODE == HISTEQ_EACH ? 3 : 1;
    static constexpr int WORDS = CHANNELS == 3 ? 12 : 4;
    static constexpr int PIXELS = 2 * WORDS / CHANNELS;
    static constexpr int BYTES = 2 * CHANNELS; /* of a pixel */
};

/* Scratch and parameters of a batch. */
struct histeq16_args {
    uint32_t *counts;   /* [image][table][pitch] */
    uint32_t *identity; /* the image has one bin in use and does not change */
    uint16_t *levels;   /* [image][table][pitch] */
    uint32_t bins, pitch;
    uint32_t window, copies_log2; /* bins in shared memory; 2^0 or 2^5 copies of each */
    int tables, scale;
    bool levels_fit; /* all tables fit into shared memory */
    bool alpha;      /* pixels with alpha 0 are in no count */
};

static __device__ __forceinline__ uint32_t bin16(uint32_t value, uint32_t bins) {
    return value * bins >> 16;
}

/* Whether pixel P is counted: with alpha, if it is not 0. */
template <int CHANNELS, int WORDS>
static __device__ __forceinline__ bool is_seen16(const uint32_t (&words)[WORDS], int p) {
    return CHANNELS % 2 || chunk_sample<16>(words, (p + 1) * CHANNELS - 1);
}

/* The value to look up for pixel P: sample T for `each`, else V. */
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
