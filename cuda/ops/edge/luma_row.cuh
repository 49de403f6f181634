// SPDX-License-Identifier: Apache-2.0
/* edge_levels.cuh - a row's levels as one thread holds them: luma, brightened, as they lie in
 * memory, with those beside its own.
 *
 * A thread has 16 bytes of levels of a row in hand, which it makes of as many bytes a channel. The
 * levels next to them it reads too, a word or a few at each side: all are in the L1 cache, and
 * nothing waits for a neighbour.
 */
#ifndef BURIN_EDGE_LUMA_ROW_CUH
#define BURIN_EDGE_LUMA_ROW_CUH

#include "cuda/ops/edge/strip.cuh"

/* ---- rows as they lie in memory */

/* What stands beside the chunk is unset where the image ends, and not asked for then. */
template <class KIND> struct raw_row {
    uint32_t words[4 * KIND::CHANNELS];
    uint32_t left[KIND::BESIDE], right[KIND::BESIDE]; /* up to the chunk, and from its end on */
};

template <int WORDS>
static __device__ __forceinline__ void fetch_words(uint32_t (&words)[WORDS], const uint32_t *from) {
    if constexpr (WORDS == 1) {
        words[0] = __ldg(from);
    } else if constexpr (WORDS == 2) {
        const uint2 two = __ldg((const uint2 *)from);
        words[0] = two.x, words[1] = two.y;
    } else {
        put_vector(words, __ldg((const uint4 *)from));
    }
}

template <class KIND>
static __device__ __forceinline__ void fetch_whole(struct raw_row<KIND> &raw,
                                                   const struct strip &strip) {
    const uint32_t *chunk = (const uint32_t *)strip.from;
#pragma unroll
    for (int i = 0; i < KIND::CHANNELS; i++)
        put_vector(raw.words + 4 * i, __ldg((const uint4 *)chunk + i));
    if (!strip.first) fetch_words(raw.left, chunk - KIND::BESIDE);
    if (strip.behind) fetch_words(raw.right, chunk + 4 * KIND::CHANNELS);
}

template <class KIND>
static __device__ __forceinline__ void fetch_any(struct raw_row<KIND> &raw,
                                                 const struct strip &strip) {
    constexpr int BESIDE = 4 * KIND::BESIDE, CHUNK = KIND::PIXELS * KIND::PIXEL_BYTES;
    load_chunk(raw.words, strip.from, strip.pixels * KIND::PIXEL_BYTES, strip.aligned);
    if (!strip.first) load_unaligned(raw.left, strip.from - BESIDE, BESIDE);
    if (strip.behind)
        load_unaligned(raw.right, strip.from + CHUNK,
                       min(strip.behind, (int)KIND::REACH) * KIND::PIXEL_BYTES);
}

template <class KIND, bool WHOLE>
static __device__ __forceinline__ void fetch(struct raw_row<KIND> &raw, const struct strip &strip) {
    if (WHOLE)
        fetch_whole(raw, strip);
    else
        fetch_any(raw, strip);
}

/* ---- gray */

/* Luma of the pixel at BYTE, times 256, and less than 256 more. */
template <class KIND, int WORDS>
static __device__ __forceinline__ uint32_t luma_weighed(const uint32_t (&words)[WORDS], int byte) {
    constexpr uint32_t WEIGHTS = 77 | 150 << 8 | 29 << 16; /* alpha's is 0 */
    const uint32_t low = words[byte / 4], high = words[(byte / 4 + 1) % WORDS];
    const uint32_t weights = byte % 4 == KIND::DEPTH / 8 ? WEIGHTS << 8 : WEIGHTS;
    if (KIND::DEPTH == 8)
        return __dp4a(byte % 4 < 2 ? low : __funnelshift_r(low, high, 8 * (byte % 4)), weights,
                      128u);
    return __dp2a_hi(high, weights, __dp2a_lo(low, weights, 128u));
}

/* Levels of the pixels at bytes A and B: both twice, or in both halves. */
template <class KIND, int WORDS>
static __device__ __forceinline__ uint32_t two_levels(const uint32_t (&words)[WORDS], int a,
                                                      int b) {
    if (KIND::CHANNELS > 2)
        return __byte_perm(luma_weighed<KIND>(words, a), luma_weighed<KIND>(words, b),
                           KIND::DEPTH == 8 ? 0x5151 : 0x6521);
    const uint32_t one = a % 4, other = 4 + b % 4;
    return __byte_perm(words[a / 4], words[b / 4],
                       KIND::DEPTH == 8 ? 0x0101 * (one | other << 4)
                                        : (0x10 + 0x11 * one) | (0x10 + 0x11 * other) << 8);
}

template <class KIND>
static __device__ __forceinline__ uint32_t gray_word(const uint32_t (&words)[4 * KIND::CHANNELS],
                                                     int w) {
    constexpr int BYTES = KIND::PIXEL_BYTES;
    const int first = w * KIND::SAMPLES * BYTES;
    if (KIND::CHANNELS == 1) return words[w];
    const uint32_t two = two_levels<KIND>(words, first, first + BYTES);
    if (KIND::DEPTH == 16) return two;
    return __byte_perm(two, two_levels<KIND>(words, first + 2 * BYTES, first + 3 * BYTES), 0x5410);
}

/* Of the pixels that stand next to the chunk, from byte FIRST on. */
template <class KIND>
static __device__ __forceinline__ uint32_t gray_beside(const uint32_t (&words)[KIND::BESIDE],
                                                       int first) {
    if (KIND::CHANNELS == 1) return words[0];
    return two_levels<KIND>(words, first, first + (KIND::REACH - 1) * KIND::PIXEL_BYTES);
}

template <int DEPTH> static __device__ __forceinline__ uint32_t everywhere(uint32_t sample) {
    return sample * (DEPTH == 8 ? 0x01010101u : 0x00010001u);
}

template <int DEPTH>
static __device__ __forceinline__ uint32_t brighter(uint32_t word, struct brightness_rule rule) {
    const uint32_t low = everywhere<DEPTH>(rule.low), high = everywhere<DEPTH>(rule.high),
                   more = everywhere<DEPTH>(rule.add);
    return DEPTH == 8 ? __vadd4(__vminu4(__vmaxu4(word, low), high), more)
                      : __vadd2(__vminu2(__vmaxu2(word, low), high), more);
}

/* Samples behind the row's end become its last pixel. */
template <class KIND>
static __device__ __forceinline__ void continue_row(uint32_t *words, int pixels) {
    const int end = pixels * KIND::DEPTH / 8 - 1, word = end / 4, byte = end % 4;
    const uint32_t low = word == 0 ? words[0] : words[1], high = word == 2 ? words[2] : words[3];
    const uint32_t last = __byte_perm(
        word < 2 ? low : high, 0, KIND::DEPTH == 8 ? 0x1111 * byte : 0x1010 + 0x1111 * (byte - 1));
    const uint32_t own = (16u << 4 * byte) - 1; /* a digit a byte */
    const uint32_t pick = (0x3210 & own) | (0x7654 & ~own);
#pragma unroll
    for (int w = 0; w < 4; w++)
        if (w >= word) words[w] = w > word ? last : __byte_perm(words[w], last, pick);
}

/* Word W of the alpha that stands beside the levels. */
template <class KIND>
static __device__ __forceinline__ uint32_t alpha_word(const uint32_t (&words)[4 * KIND::CHANNELS],
                                                      int w) {
    constexpr int APART = KIND::CHANNELS / 2; /* words of a pixel of 16 bit */
    const uint32_t *of = words + w * KIND::CHANNELS;
    if (KIND::DEPTH == 16) return __byte_perm(of[APART - 1], of[2 * APART - 1], 0x7632);
    if (APART == 1) return __byte_perm(of[0], of[1], 0x7531);
    return __byte_perm(__byte_perm(of[0], of[1], 0x0073), __byte_perm(of[2], of[3], 0x0073),
                       0x5410);
}

/* ---- levels */

/* The chunk's words; the pairs that stand at both sides of the ends of each of them, from the first
 * one's left end on; the pair before the chunk's first pixel and that behind its last, which only
 * windows of reach 2 ask for. A pair stands in the lower bytes, or in both halves. */
template <class KIND> struct levels { uint32_t words[4], across[5], aside[2]; };

template <class KIND, bool WHOLE>
static __device__ __forceinline__ struct levels<KIND> levels_of(const struct raw_row<KIND> &raw,
                                                                const struct strip &strip,
                                                                const struct edge_rule &rule) {
    uint32_t words[6];
    words[0] = gray_beside<KIND>(raw.left, 4 * KIND::BESIDE - (int)KIND::REACH * KIND::PIXEL_BYTES);
#pragma unroll
    for (int w = 0; w < 4; w++) words[1 + w] = gray_word<KIND>(raw.words, w);
    words[5] = gray_beside<KIND>(raw.right, 0);
    if (!WHOLE && strip.pixels < KIND::PIXELS) continue_row<KIND>(words + 1, strip.pixels);
    if (!KIND::PLAIN && rule.shift.add)
#pragma unroll
        for (int w = 0; w < 6; w++) words[w] = brighter<KIND::DEPTH>(words[w], rule.shift);
    const uint32_t inside = two_of<KIND::DEPTH>(KIND::SAMPLES - 1, KIND::SAMPLES);
    struct levels<KIND> levels;
#pragma unroll
    for (int w = 0; w < 4; w++) levels.words[w] = words[1 + w];
#pragma unroll
    for (int w = 0; w < 5; w++)
        levels.across[w] = __byte_perm(words[w], words[w + 1],
                                       w == 0   ? strip.join[0]
                                       : w == 4 ? strip.join[1]
                                                : inside);
    levels.aside[0] = __byte_perm(words[0], words[1], strip.join_aside[0]);
    levels.aside[1] = __byte_perm(words[4], words[5], strip.join_aside[1]);
    return levels;
}

#endif
