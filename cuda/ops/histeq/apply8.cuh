// SPDX-License-Identifier: Apache-2.0
/* apply8 */
#ifndef BURIN_HISTEQ_APPLY8_CUH
#define BURIN_HISTEQ_APPLY8_CUH

#include "cuda/ops/histeq/chunks8.cuh"

/* R, G and B times V' / V. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void map_colour(const uint32_t (&in)[L::WORDS],
                                                  uint32_t (&out)[L::WORDS], int p, uint32_t column,
                                                  uint32_t black) {
    constexpr int BITS = MODE == HISTEQ_VALUE ? HISTEQ_VALUE_BITS : HISTEQ_LUMA_BITS;
    const uint32_t value = value_of<CHANNELS, MODE>(in, p, 0);
    const uint32_t ratio = shared_read(column + 4 * L::COPIES * value);
    const uint32_t addend = histeq_addend(value, black, BITS);
#pragma unroll
    for (int i = p * CHANNELS; i < p * CHANNELS + 3; i++) {
        const uint32_t product = histeq_product(chunk_get<8>(in, i), ratio, addend);
        if (MODE == HISTEQ_VALUE)
            chunk_put_byte<3>(out, i, product);
        else
            chunk_put_byte<0>(out, i, min(product >> BITS, LEVELS - 1));
    }
}

/* Alpha stays as it stands in OUT, a copy of IN. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void map_chunk(const uint32_t (&in)[L::WORDS],
                                                 uint32_t (&out)[L::WORDS], uint32_t column,
                                                 uint32_t black) {
#pragma unroll
    for (int i = 0; i < L::WORDS; i++) out[i] = in[i];
#pragma unroll
    for (int p = 0; p < L::PIXELS; p++) {
        if (CHANNELS > 2 && MODE != HISTEQ_EACH) {
            map_colour<CHANNELS, MODE, L>(in, out, p, column, black);
        } else {
#pragma unroll
            for (int t = 0; t < L::TABLES; t++) {
                const uint32_t sample = chunk_get<8>(in, p * CHANNELS + t);
                chunk_put_byte<0>(out, p * CHANNELS + t,
                                  shared_read(column + 4 * L::COPIES * (t * LEVELS + sample)));
            }
        }
    }
}

/* Backwards over the same steps as count_part; IN_HAND: the last one's chunks are still in HELD. */
template <int CHANNELS, int MODE, class L, bool FLAT>
static __device__ __forceinline__ void map_part(const struct picture &picture, struct chunks part,
                                                const struct desk &desk, uint32_t black,
                                                bool in_hand, uint32_t (&held)[L::HELD][L::WORDS]) {
    const uint32_t column = column_of<L>(desk.table);
    uint32_t start = part.first + (part.end - part.first - 1) / L::STEP * L::STEP;
    if (!in_hand) load_held<CHANNELS, L, FLAT>(held, picture, start, part.end, desk.stage);
    for (;;) {
#pragma unroll
        for (int h = 0; h < L::HELD; h++) {
            const uint32_t first = start + h * THREADS;
            if (first >= part.end) break;
            uint32_t out[L::WORDS];
            map_chunk<CHANNELS, MODE, L>(held[h], out, column, black);
            store_held<CHANNELS, L, FLAT>(out, picture, first, part.end, desk.stage);
        }
        if (start == part.first) return;
        start -= L::STEP;
        load_held<CHANNELS, L, FLAT>(held, picture, start, part.end, desk.stage);
    }
}

#endif
