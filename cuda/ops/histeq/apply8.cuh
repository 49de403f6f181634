// SPDX-License-Identifier: Apache-2.0
/* apply8.cuh - a block looks up its share of an image in the table and stores the result.
 *
 * Used by:  equalize8.cuh.
 */
#ifndef BURIN_HISTEQ_APPLY8_CUH
#define BURIN_HISTEQ_APPLY8_CUH

#include "cuda/ops/histeq/chunks8.cuh"

/* R, G and B times V' / V. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void apply_colour(const uint32_t (&in)[L::WORDS],
                                                    uint32_t (&out)[L::WORDS], int p,
                                                    uint32_t column, uint32_t black) {
    constexpr int BITS = MODE == HISTEQ_VALUE ? HISTEQ_VALUE_BITS : HISTEQ_LUMA_BITS;
    const uint32_t value = lookup_value<CHANNELS, MODE>(in, p, 0);
    const uint32_t ratio = shared_load(column + 4 * L::COPIES * value);
    const uint32_t addend = histeq_addend(value, black, BITS);
#pragma unroll
    for (int i = p * CHANNELS; i < p * CHANNELS + 3; i++) {
        const uint32_t product = histeq_product(chunk_sample<8>(in, i), ratio, addend);
        if (MODE == HISTEQ_VALUE)
            chunk_set_byte<3>(out, i, product);
        else
            chunk_set_byte<0>(out, i, min(product >> BITS, LEVELS - 1));
    }
}

/* OUT begins as a copy of IN, so that alpha stays. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void apply_chunk(const uint32_t (&in)[L::WORDS],
                                                   uint32_t (&out)[L::WORDS], uint32_t column,
                                                   uint32_t black) {
#pragma unroll
    for (int i = 0; i < L::WORDS; i++) out[i] = in[i];
#pragma unroll
    for (int p = 0; p < L::PIXELS; p++) {
        if (CHANNELS > 2 && MODE != HISTEQ_EACH) {
            apply_colour<CHANNELS, MODE, L>(in, out, p, column, black);
        } else {
#pragma unroll
            for (int t = 0; t < L::TABLES; t++) {
                const uint32_t sample = chunk_sample<8>(in, p * CHANNELS + t);
                chunk_set_byte<0>(out, p * CHANNELS + t,
                                  shared_load(column + 4 * L::COPIES * (t * LEVELS + sample)));
            }
        }
    }
}

/* Goes backwards over the steps of count_range. LOADED: CHUNKS still hold the last step's
 * pixels. */
template <int CHANNELS, int MODE, class L, bool CONTIGUOUS>
static __device__ __forceinline__ void
apply_range(const struct batch_image &image, struct chunk_range range,
            const struct shared_memory8 &shared, uint32_t black, bool loaded,
            uint32_t (&chunks)[L::CHUNKS][L::WORDS]) {
    const uint32_t column = lane_column<L>(shared.table);
    uint32_t start = range.first + (range.end - range.first - 1) / L::STEP * L::STEP;
    if (!loaded)
        load_thread_chunks<CHANNELS, L, CONTIGUOUS>(chunks, image, start, range.end, shared.stage);
    for (;;) {
#pragma unroll
        for (int h = 0; h < L::CHUNKS; h++) {
            const uint32_t first = start + h * THREADS;
            if (first >= range.end) break;
            uint32_t out[L::WORDS];
            apply_chunk<CHANNELS, MODE, L>(chunks[h], out, column, black);
            store_thread_chunk<CHANNELS, L, CONTIGUOUS>(out, image, first, range.end, shared.stage);
        }
        if (start == range.first) return;
        start -= L::STEP;
        load_thread_chunks<CHANNELS, L, CONTIGUOUS>(chunks, image, start, range.end, shared.stage);
    }
}

#endif
