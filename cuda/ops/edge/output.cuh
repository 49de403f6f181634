// SPDX-License-Identifier: Apache-2.0
/* output */
#ifndef BURIN_EDGE_OUTPUT_CUH
#define BURIN_EDGE_OUTPUT_CUH

#include "cuda/ops/edge/luma_row.cuh"

/* What a thread puts out. */
struct target {
    uint8_t *to; /* own chunk of the row that is put out next */
    uint32_t stride;
    uint32_t top, left; /* first row, and how many of the strip's rows there are */
    int last_row;       /* of the image */
    int inside[2];      /* pixels of the chunk from the first one within the margin to the last */
};

template <class KIND>
static __device__ __forceinline__ struct target target_of(const struct picture &picture,
                                                          struct place place, uint32_t top,
                                                          uint32_t rows, uint32_t margin) {
    constexpr int OUT_BYTES = (KIND::CHANNELS % 2 ? 1 : 2) * KIND::DEPTH / 8;
    const uint32_t x = place.x * KIND::PIXELS;
    struct target target;
    target.to = picture.out + (uint64_t)top * picture.out_stride + (uint64_t)x * OUT_BYTES;
    target.stride = picture.out_stride;
    target.top = top;
    target.left = min(rows, picture.height - top);
    target.last_row = (int)picture.height - 1;
    target.inside[0] = place.x == 0 ? (int)margin : 0;
    target.inside[1] = (int)picture.width - (int)margin - (int)x;
    return target;
}

/* ---- what becomes of magnitudes */

template <int DEPTH>
static __device__ __forceinline__ uint32_t over_threshold(uint32_t word,
                                                          const struct edge_rule &rule) {
    const uint32_t least = everywhere<DEPTH>(rule.threshold);
    const uint32_t over = DEPTH == 8 ? __vcmpgtu4(word, least) : __vcmpgtu2(word, least);
    return over & (word | everywhere<DEPTH>(rule.white));
}

/* A mask of a word's lowest bytes. */
static __device__ __forceinline__ uint32_t low_bytes(int count) {
    return ~__funnelshift_lc(0, ~0u, 8 * min(max(count, 0), 4));
}

/* Brightness is done before; here threshold, binary and a border of 0. */
template <class KIND>
static __device__ __forceinline__ void finish_edges(uint32_t (&edges)[4],
                                                    const struct target &target, int y,
                                                    const struct edge_rule &rule) {
    constexpr int SAMPLE_BYTES = KIND::DEPTH / 8;
    const int margin = (int)rule.margin;
    if (rule.threshold || rule.white)
#pragma unroll
        for (int w = 0; w < 4; w++) edges[w] = over_threshold<KIND::DEPTH>(edges[w], rule);
    const bool none = y < margin || y > target.last_row - margin;
    if (!none && target.inside[0] == 0 && target.inside[1] >= KIND::PIXELS) return;
#pragma unroll
    for (int w = 0; w < 4; w++)
        edges[w] &= none ? 0
                         : low_bytes(target.inside[1] * SAMPLE_BYTES - 4 * w) &
                               ~low_bytes(target.inside[0] * SAMPLE_BYTES - 4 * w);
}

/* A byte at a time where the chunk is not whole or rows start anywhere. */
template <class KIND>
static __device__ __forceinline__ void put_edges(const uint32_t (&edges)[4], uint8_t *to,
                                                 int pixels, bool aligned) {
    if (pixels == KIND::PIXELS && aligned) {
        __stcs((uint4 *)to, get_vector(edges));
        return;
    }
    uint32_t words[4] = { edges[0], edges[1], edges[2], edges[3] };
#pragma unroll 1
    for (int i = 0; i < pixels * KIND::DEPTH / 8; i++) {
        to[i] = (uint8_t)words[0];
        chunk_shift<1>(words);
    }
}

/* With the input's alpha beside them. */
template <class KIND>
static __device__ __forceinline__ void put_with_alpha(const uint32_t (&edges)[4],
                                                      const uint32_t (&alpha)[4], uint8_t *to,
                                                      int pixels, bool aligned) {
    uint32_t both[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        both[i] =
            __byte_perm(edges[i / 2], alpha[i / 2],
                        KIND::DEPTH == 8 ? (i % 2 ? 0x7362 : 0x5140) : (i % 2 ? 0x7632 : 0x5410));
    store_chunk(both, to, pixels * KIND::DEPTH / 4, aligned);
}

template <class KIND, bool WHOLE>
static __device__ __forceinline__ void
put_row(const uint32_t (&edges)[4], const uint32_t (&alpha)[4], const struct strip &strip,
        const struct target &target) {
    const int pixels = WHOLE ? KIND::PIXELS : strip.pixels;
    const bool aligned = WHOLE || KIND::PLAIN || strip.aligned;
    if constexpr (KIND::ALPHA)
        put_with_alpha<KIND>(edges, alpha, target.to, pixels, aligned);
    else
        put_edges<KIND>(edges, target.to, pixels, aligned);
}

#endif
