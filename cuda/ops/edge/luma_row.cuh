// SPDX-License-Identifier: Apache-2.0
/* luma_row.cuh - one row of a thread's strip: loaded, turned into luma, brightened, with the pixels
 * to its left and right (the halo).
 *
 * Used by:  sobel.cuh, edge.cu.
 *
 * How it works. A thread holds 16 bytes of a row's luma, computed from 16 bytes of each channel. It
 * also loads the halo, one or a few words on either side, which is in the L1 cache, so that no
 * thread waits for another.
 */
#ifndef BURIN_EDGE_LUMA_ROW_CUH
#define BURIN_EDGE_LUMA_ROW_CUH

#include "cuda/lay_over.cuh"
#include "pipeline/ops/edge.h"

/* ---- kinds of image and window, and the strip of the input that a thread goes down */

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

/* ---- rows in memory */

/* The halo is unset, and unused, where the image ends. */
template <class TRAITS> struct raw_row {
    uint32_t words[4 * TRAITS::CHANNELS];
    /* before the chunk, and after it */
    uint32_t left_halo[TRAITS::HALO_WORDS], right_halo[TRAITS::HALO_WORDS];
};

template <int WORDS>
static __device__ __forceinline__ void load_words(uint32_t (&words)[WORDS], const uint32_t *from) {
    if constexpr (WORDS == 1) {
        words[0] = __ldg(from);
    } else if constexpr (WORDS == 2) {
        const uint2 two = __ldg((const uint2 *)from);
        words[0] = two.x, words[1] = two.y;
    } else {
        unpack_vector(words, __ldg((const uint4 *)from));
    }
}

template <class TRAITS>
static __device__ __forceinline__ void load_whole_row(struct raw_row<TRAITS> &raw,
                                                      const struct input_strip &input) {
    const uint32_t *chunk = (const uint32_t *)input.next_row;
#pragma unroll
    for (int i = 0; i < TRAITS::CHANNELS; i++)
        unpack_vector(raw.words + 4 * i, __ldg((const uint4 *)chunk + i));
    if (!input.leftmost) load_words(raw.left_halo, chunk - TRAITS::HALO_WORDS);
    if (input.pixels_right) load_words(raw.right_halo, chunk + 4 * TRAITS::CHANNELS);
}

template <class TRAITS>
static __device__ __forceinline__ void load_partial_row(struct raw_row<TRAITS> &raw,
                                                        const struct input_strip &input) {
    constexpr int HALO_BYTES = 4 * TRAITS::HALO_WORDS, CHUNK = TRAITS::PIXELS * TRAITS::PIXEL_BYTES;
    load_chunk(raw.words, input.next_row, input.pixels * TRAITS::PIXEL_BYTES, input.aligned);
    if (!input.leftmost) load_unaligned(raw.left_halo, input.next_row - HALO_BYTES, HALO_BYTES);
    if (input.pixels_right)
        load_unaligned(raw.right_halo, input.next_row + CHUNK,
                       min(input.pixels_right, (int)TRAITS::REACH) * TRAITS::PIXEL_BYTES);
}

template <class TRAITS, bool WHOLE>
static __device__ __forceinline__ void load_row(struct raw_row<TRAITS> &raw,
                                                const struct input_strip &input) {
    if (WHOLE)
        load_whole_row(raw, input);
    else
        load_partial_row(raw, input);
}

/* ---- pixels over the background */

template <class TRAITS>
static __device__ __forceinline__ void lay_row(struct raw_row<TRAITS> &raw,
                                               const struct background &under) {
    constexpr int HALO = TRAITS::HALO_WORDS * TRAITS::SAMPLES; /* samples */
    constexpr int DEPTH = TRAITS::DEPTH, CHANNELS = TRAITS::CHANNELS, REACH = TRAITS::REACH;
    lay_pixels<DEPTH, CHANNELS>(raw.words, 0, TRAITS::PIXELS, under);
    lay_pixels<DEPTH, CHANNELS>(raw.left_halo, HALO - REACH * CHANNELS, REACH, under);
    lay_pixels<DEPTH, CHANNELS>(raw.right_halo, 0, REACH, under);
}

/* ---- luma of pixels */

/* The luma of the pixel at BYTE, times 256, plus less than 256. */
template <class TRAITS, int WORDS>
static __device__ __forceinline__ uint32_t weighted_luma(const uint32_t (&words)[WORDS], int byte) {
    constexpr uint32_t WEIGHTS = 77 | 150 << 8 | 29 << 16; /* alpha's is 0 */
    const uint32_t low = words[byte / 4], high = words[(byte / 4 + 1) % WORDS];
    const uint32_t weights = byte % 4 == TRAITS::DEPTH / 8 ? WEIGHTS << 8 : WEIGHTS;
    if (TRAITS::DEPTH == 8)
        return __dp4a(byte % 4 < 2 ? low : __funnelshift_r(low, high, 8 * (byte % 4)), weights,
                      128u);
    return __dp2a_hi(high, weights, __dp2a_lo(low, weights, 128u));
}

/* The luma of the pixels at bytes A and B: the two bytes twice, or a half each. */
template <class TRAITS, int WORDS>
static __device__ __forceinline__ uint32_t luma_pair(const uint32_t (&words)[WORDS], int a, int b) {
    if (TRAITS::CHANNELS > 2)
        return __byte_perm(weighted_luma<TRAITS>(words, a), weighted_luma<TRAITS>(words, b),
                           TRAITS::DEPTH == 8 ? 0x5151 : 0x6521);
    const uint32_t one = a % 4, other = 4 + b % 4;
    return __byte_perm(words[a / 4], words[b / 4],
                       TRAITS::DEPTH == 8 ? 0x0101 * (one | other << 4)
                                          : (0x10 + 0x11 * one) | (0x10 + 0x11 * other) << 8);
}

template <class TRAITS>
static __device__ __forceinline__ uint32_t luma_word(const uint32_t (&words)[4 * TRAITS::CHANNELS],
                                                     int w) {
    constexpr int BYTES = TRAITS::PIXEL_BYTES;
    const int first = w * TRAITS::SAMPLES * BYTES;
    if (TRAITS::CHANNELS == 1) return words[w];
    const uint32_t two = luma_pair<TRAITS>(words, first, first + BYTES);
    if (TRAITS::DEPTH == 16) return two;
    return __byte_perm(two, luma_pair<TRAITS>(words, first + 2 * BYTES, first + 3 * BYTES), 0x5410);
}

/* Luma of the halo's pixels, from byte FIRST on. */
template <class TRAITS>
static __device__ __forceinline__ uint32_t luma_halo(const uint32_t (&words)[TRAITS::HALO_WORDS],
                                                     int first) {
    if (TRAITS::CHANNELS == 1) return words[0];
    return luma_pair<TRAITS>(words, first, first + (TRAITS::REACH - 1) * TRAITS::PIXEL_BYTES);
}

template <int DEPTH> static __device__ __forceinline__ uint32_t broadcast_sample(uint32_t sample) {
    return sample * (DEPTH == 8 ? 0x01010101u : 0x00010001u);
}

template <int DEPTH>
static __device__ __forceinline__ uint32_t brighten(uint32_t word, struct brightness_rule rule) {
    const uint32_t low = broadcast_sample<DEPTH>(rule.low),
                   high = broadcast_sample<DEPTH>(rule.high),
                   more = broadcast_sample<DEPTH>(rule.add);
    return DEPTH == 8 ? __vadd4(__vminu4(__vmaxu4(word, low), high), more)
                      : __vadd2(__vminu2(__vmaxu2(word, low), high), more);
}

/* Samples after the row's end become copies of its last pixel. */
template <class TRAITS>
static __device__ __forceinline__ void replicate_last_pixel(uint32_t *words, int pixels) {
    const int end = pixels * TRAITS::DEPTH / 8 - 1, word = end / 4, byte = end % 4;
    const uint32_t low = word == 0 ? words[0] : words[1], high = word == 2 ? words[2] : words[3];
    const uint32_t last =
        __byte_perm(word < 2 ? low : high, 0,
                    TRAITS::DEPTH == 8 ? 0x1111 * byte : 0x1010 + 0x1111 * (byte - 1));
    const uint32_t own = (16u << 4 * byte) - 1; /* a digit a byte */
    const uint32_t pick = (0x3210 & own) | (0x7654 & ~own);
#pragma unroll
    for (int w = 0; w < 4; w++)
        if (w >= word) words[w] = w > word ? last : __byte_perm(words[w], last, pick);
}

/* Word W of the chunk's alpha. */
template <class TRAITS>
static __device__ __forceinline__ uint32_t alpha_word(const uint32_t (&words)[4 * TRAITS::CHANNELS],
                                                      int w) {
    constexpr int APART = TRAITS::CHANNELS / 2; /* words between pixels of 16 bits */
    const uint32_t *of = words + w * TRAITS::CHANNELS;
    if (TRAITS::DEPTH == 16) return __byte_perm(of[APART - 1], of[2 * APART - 1], 0x7632);
    if (APART == 1) return __byte_perm(of[0], of[1], 0x7531);
    return __byte_perm(__byte_perm(of[0], of[1], 0x0073), __byte_perm(of[2], of[3], 0x0073),
                       0x5410);
}

/* ---- the row */

/* The chunk's words; the pairs of pixels across the ends of each word, from the first one's left
 * end on; and, for windows of reach 2 only, the pair before the chunk's first pixel and the pair
 * after its last. A pair is in the lower bytes, or in both halves. */
template <class TRAITS> struct luma_row { uint32_t words[4], across[5], outer[2]; };

template <class TRAITS, bool WHOLE>
static __device__ __forceinline__ struct luma_row<TRAITS>
luma_row_of(struct raw_row<TRAITS> raw, const struct input_strip &input,
            const struct edge_rule &rule) {
    uint32_t words[6];
    if constexpr (TRAITS::ALPHA) lay_row<TRAITS>(raw, rule.under);
    words[0] = luma_halo<TRAITS>(raw.left_halo,
                                 4 * TRAITS::HALO_WORDS - (int)TRAITS::REACH * TRAITS::PIXEL_BYTES);
#pragma unroll
    for (int w = 0; w < 4; w++) words[1 + w] = luma_word<TRAITS>(raw.words, w);
    words[5] = luma_halo<TRAITS>(raw.right_halo, 0);
    if (!WHOLE && input.pixels < TRAITS::PIXELS)
        replicate_last_pixel<TRAITS>(words + 1, input.pixels);
    if (!TRAITS::PLAIN && rule.shift.add)
#pragma unroll
        for (int w = 0; w < 6; w++) words[w] = brighten<TRAITS::DEPTH>(words[w], rule.shift);
    const uint32_t inside = pair_selector<TRAITS::DEPTH>(TRAITS::SAMPLES - 1, TRAITS::SAMPLES);
    struct luma_row<TRAITS> luma;
#pragma unroll
    for (int w = 0; w < 4; w++) luma.words[w] = words[1 + w];
#pragma unroll
    for (int w = 0; w < 5; w++)
        luma.across[w] = __byte_perm(words[w], words[w + 1],
                                     w == 0   ? input.end_selector[0]
                                     : w == 4 ? input.end_selector[1]
                                              : inside);
    luma.outer[0] = __byte_perm(words[0], words[1], input.outer_selector[0]);
    luma.outer[1] = __byte_perm(words[4], words[5], input.outer_selector[1]);
    return luma;
}

#endif
