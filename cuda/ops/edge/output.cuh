// SPDX-License-Identifier: Apache-2.0
/* output.cuh - from magnitudes to output rows: threshold, binary, a border of 0, alpha, the store.
 *
 * Used by:  kernel.cuh.
 */
#ifndef BURIN_EDGE_OUTPUT_CUH
#define BURIN_EDGE_OUTPUT_CUH

#include "cuda/ops/edge/luma_row.cuh"

/* The thread's place in the output. */
struct output_strip {
    uint8_t *next_row; /* own chunk of the row that is stored next */
    uint32_t stride;
    uint32_t top, rows; /* first row; number of the strip's rows that exist */
    int last_row;       /* of the image */
    int inside[2];      /* pixels of the chunk within the border: first, end */
};

template <class TRAITS>
static __device__ __forceinline__ struct output_strip
output_strip_of(const struct batch_image &image, struct chunk_position position, uint32_t top,
                uint32_t rows, uint32_t margin) {
    constexpr int OUT_BYTES = (TRAITS::CHANNELS % 2 ? 1 : 2) * TRAITS::DEPTH / 8;
    const uint32_t x = position.x * TRAITS::PIXELS;
    struct output_strip output;
    output.next_row = image.out + (uint64_t)top * image.out_stride + (uint64_t)x * OUT_BYTES;
    output.stride = image.out_stride;
    output.top = top;
    output.rows = min(rows, image.height - top);
    output.last_row = (int)image.height - 1;
    output.inside[0] = position.x == 0 ? (int)margin : 0;
    output.inside[1] = (int)image.width - (int)margin - (int)x;
    return output;
}

/* ---- threshold and border */

template <int DEPTH>
static __device__ __forceinline__ uint32_t apply_threshold(uint32_t word,
                                                           const struct edge_rule &rule) {
    const uint32_t least = broadcast_sample<DEPTH>(rule.threshold);
    const uint32_t over = DEPTH == 8 ? __vcmpgtu4(word, least) : __vcmpgtu2(word, least);
    return over & (word | broadcast_sample<DEPTH>(rule.white));
}

/* A mask of a word's lowest bytes. */
static __device__ __forceinline__ uint32_t low_bytes_mask(int count) {
    return ~__funnelshift_lc(0, ~0u, 8 * min(max(count, 0), 4));
}

template <class TRAITS>
static __device__ __forceinline__ void threshold_and_border(uint32_t (&edges)[4],
                                                            const struct output_strip &output,
                                                            int y, const struct edge_rule &rule) {
    constexpr int SAMPLE_BYTES = TRAITS::DEPTH / 8;
    const int margin = (int)rule.margin;
    if (rule.threshold || rule.white)
#pragma unroll
        for (int w = 0; w < 4; w++) edges[w] = apply_threshold<TRAITS::DEPTH>(edges[w], rule);
    const bool none = y < margin || y > output.last_row - margin;
    if (!none && output.inside[0] == 0 && output.inside[1] >= TRAITS::PIXELS) return;
#pragma unroll
    for (int w = 0; w < 4; w++)
        edges[w] &= none ? 0
                         : low_bytes_mask(output.inside[1] * SAMPLE_BYTES - 4 * w) &
                               ~low_bytes_mask(output.inside[0] * SAMPLE_BYTES - 4 * w);
}

/* ---- stores */

/* Byte by byte where the chunk is incomplete or rows are not aligned. */
template <class TRAITS>
static __device__ __forceinline__ void store_edges(const uint32_t (&edges)[4], uint8_t *to,
                                                   int pixels, bool aligned) {
    if (pixels == TRAITS::PIXELS && aligned) {
        __stcs((uint4 *)to, pack_vector(edges));
        return;
    }
    uint32_t words[4] = { edges[0], edges[1], edges[2], edges[3] };
#pragma unroll 1
    for (int i = 0; i < pixels * TRAITS::DEPTH / 8; i++) {
        to[i] = (uint8_t)words[0];
        chunk_shift<1>(words);
    }
}

/* Interleaves the input's alpha. */
template <class TRAITS>
static __device__ __forceinline__ void store_with_alpha(const uint32_t (&edges)[4],
                                                        const uint32_t (&alpha)[4], uint8_t *to,
                                                        int pixels, bool aligned) {
    uint32_t both[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        both[i] =
            __byte_perm(edges[i / 2], alpha[i / 2],
                        TRAITS::DEPTH == 8 ? (i % 2 ? 0x7362 : 0x5140) : (i % 2 ? 0x7632 : 0x5410));
    store_chunk(both, to, pixels * TRAITS::DEPTH / 4, aligned);
}

template <class TRAITS, bool WHOLE>
static __device__ __forceinline__ void
store_row(const uint32_t (&edges)[4], const uint32_t (&alpha)[4], const struct input_strip &input,
          const struct output_strip &output) {
    const int pixels = WHOLE ? TRAITS::PIXELS : input.pixels;
    const bool aligned = WHOLE || TRAITS::PLAIN || input.aligned;
    if constexpr (TRAITS::ALPHA)
        store_with_alpha<TRAITS>(edges, alpha, output.next_row, pixels, aligned);
    else
        store_edges<TRAITS>(edges, output.next_row, pixels, aligned);
}

#endif
