// SPDX-License-Identifier: Apache-2.0
/* strip.cuh - the kinds of image and window that have kernels, and the strip of the input that one
 * thread goes down: 16 bytes of luma across and several rows down.
 *
 * Used by:  luma_row.cuh and all that includes it; kernel.cuh.
 */
#ifndef BURIN_EDGE_STRIP_CUH
#define BURIN_EDGE_STRIP_CUH

#include "cuda/batch.cuh"
#include "pipeline/ops/edge.h"

/* A kind of image and window. PLAIN: neither brightness nor threshold, binary or a border of 0 is
 * wanted, and every row starts at 16 bytes. */
template <int SAMPLE_BITS, int WINDOW_REACH, int IN_CHANNELS, bool IS_PLAIN> struct edge_traits {
    static constexpr int DEPTH = SAMPLE_BITS, REACH = WINDOW_REACH, CHANNELS = IN_CHANNELS;
    static constexpr bool PLAIN = IS_PLAIN;
    static constexpr int PIXELS = 128 / DEPTH, SAMPLES = 32 / DEPTH; /* of a chunk, of a word */
    static constexpr int PIXEL_BYTES = CHANNELS * DEPTH / 8;
    static constexpr bool ALPHA = CHANNELS % 2 == 0;
    /* Words read on either side: as many as one load takes. */
    static constexpr int HALO_WORDS_NEEDED = (REACH * PIXEL_BYTES + 3) / 4;
    static constexpr int HALO_WORDS = HALO_WORDS_NEEDED == 3 ? 4 : HALO_WORDS_NEEDED;
};

/* A selector for __byte_perm: samples A and B of two words, numbered through both. */
template <int DEPTH>
static __device__ __forceinline__ constexpr uint32_t pair_selector(int a, int b) {
    return DEPTH == 8 ? a | b << 4 : (0x10 + 0x22 * a) | (0x10 + 0x22 * b) << 8;
}

struct input_strip {
    const uint8_t *next_row; /* own chunk of the row that is loaded next */
    uint32_t stride;
    int rows_below;           /* rows of the image below that one */
    int pixels, pixels_right; /* existing pixels of the chunk, and to its right */
    bool leftmost;            /* the chunk is the first of its row */
    bool aligned;             /* every row starts at 16 bytes */
    /* For __byte_perm: the pixels on both sides of the chunk's left end and of its right end; the
     * two before the chunk and the two after it. */
    uint32_t end_selector[2], outer_selector[2];
};

/* Beyond the image's border the outermost pixel repeats. */
template <class TRAITS>
static __device__ __forceinline__ void set_selectors(struct input_strip &input) {
    constexpr int DEPTH = TRAITS::DEPTH, LAST = TRAITS::SAMPLES - 1, NEXT = LAST + 1;
    const int right = input.pixels_right;
    const uint32_t here = pair_selector<DEPTH>(NEXT, NEXT), end = pair_selector<DEPTH>(LAST, LAST);
    input.end_selector[0] = input.leftmost ? here : pair_selector<DEPTH>(LAST, NEXT);
    input.end_selector[1] = right ? pair_selector<DEPTH>(LAST, NEXT) : end;
    input.outer_selector[0] = input.leftmost ? here : pair_selector<DEPTH>(LAST - 1, LAST);
    input.outer_selector[1] = right > 1 ? pair_selector<DEPTH>(NEXT, NEXT + 1) : right ? here : end;
}

template <class TRAITS>
static __device__ __forceinline__ struct input_strip
input_strip_of(const struct batch_image &image, struct chunk_position position, uint32_t top) {
    const uint32_t x = position.x * TRAITS::PIXELS, left = image.width - x;
    struct input_strip input;
    input.pixels = (int)min(left, (uint32_t)TRAITS::PIXELS);
    input.pixels_right = (int)left - input.pixels;
    input.leftmost = position.x == 0;
    const uint32_t row = top - min(top, (uint32_t)TRAITS::REACH);
    input.rows_below = (int)(image.height - 1 - row);
    input.stride = image.in_stride;
    input.next_row = image.in + (uint64_t)row * image.in_stride + (uint64_t)x * TRAITS::PIXEL_BYTES;
    input.aligned = TRAITS::PLAIN || image.aligned;
    set_selectors<TRAITS>(input);
    return input;
}

/* Below the image the last row repeats. */
static __device__ __forceinline__ void advance_row(struct input_strip &input) {
    const int step = min(input.rows_below, 1);
    input.rows_below -= step;
    input.next_row += (uint64_t)(uint32_t)step * input.stride;
}

#endif
