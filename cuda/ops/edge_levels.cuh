// SPDX-License-Identifier: Apache-2.0
/* edge_levels.cuh - a row's levels as one thread holds them: luma, brightened, two in a word, with
 * those beside its own.
 *
 * A thread has 16 bytes of levels of a row in hand, which it makes of as many bytes a channel. The
 * levels next to them are its neighbours' in the warp; the first thread and the last read them
 * again.
 */
#ifndef BURIN_EDGE_LEVELS_CUH
#define BURIN_EDGE_LEVELS_CUH

#include "cuda/launch.cuh"
#include "pipeline/ops/edge.h"

/* A kind of image and window. PLAIN: neither brightness nor threshold, binary or a border of 0 is
 * asked for, and every row starts at 16 bytes. Pixels of a thread's chunk are computed with in
 * eight slots. */
template <int SAMPLE_BITS, int WINDOW_REACH, int IN_CHANNELS, bool IS_PLAIN> struct edge_kind {
    static constexpr int DEPTH = SAMPLE_BITS, REACH = WINDOW_REACH, CHANNELS = IN_CHANNELS;
    static constexpr bool PLAIN = IS_PLAIN;
    static constexpr int PIXELS = 128 / DEPTH, PAIRS = PIXELS / 2;
    static constexpr int PIXEL_BYTES = CHANNELS * DEPTH / 8;
    static constexpr int SLOTS = 8, STEP = PIXELS / SLOTS;
    static constexpr int COLOURS = CHANNELS < 3 ? 1 : 3; /* samples that make a level */
};

/* ---- where a thread's strip lies */

struct strip {
    const uint8_t *from; /* own chunk of the row that is fetched next */
    uint32_t stride;
    int row, last_row; /* number of that row, and of the image's last */
    int pixels;        /* of the chunk that exist */
    int aside[2];      /* in lanes 0 and 31: from FROM to the pixels next to the warp's chunks */
    /* How the pixels next to the chunk are joined to its own: at the image's border the chunk's
     * own outermost pixel is taken twice. */
    uint32_t join_left, join_right;
    bool aligned; /* every row starts at 16 bytes */
};

static __device__ __forceinline__ int lane_of_thread(void) {
    return threadIdx.x % 32;
}

/* The pixels that stand REACH before and behind the chunk, or the next best that exist. */
template <class KIND>
static __device__ __forceinline__ void set_aside(struct strip &strip, bool first, bool last,
                                                 uint32_t behind) {
#pragma unroll
    for (int i = 0; i < KIND::REACH; i++) {
        const int before = i - KIND::REACH, after = KIND::PIXELS + min(i, (int)behind - 1);
        strip.aside[i] =
            (lane_of_thread() == 0 ? (first ? 0 : before) : (last ? 0 : after)) * KIND::PIXEL_BYTES;
    }
}

/* What levels before and behind the chunk mean is told at `struct levels`. */
template <class KIND>
static __device__ __forceinline__ struct strip strip_of(const struct picture &picture,
                                                        struct place place, uint32_t top) {
    constexpr bool PAIRS_BESIDE = KIND::REACH == 2 || KIND::DEPTH == 16;
    const uint32_t x = place.x * KIND::PIXELS, left = picture.width - x;
    const bool first = place.x == 0, last = place.x + 1 == picture.row_chunks;
    struct strip strip;
    strip.pixels = (int)min(left, (uint32_t)KIND::PIXELS);
    strip.row = (int)top - KIND::REACH;
    strip.last_row = (int)picture.height - 1;
    strip.stride = picture.in_stride;
    strip.from = picture.in + (uint64_t)max(strip.row, 0) * picture.in_stride +
                 (uint64_t)x * KIND::PIXEL_BYTES;
    strip.aligned = KIND::PLAIN || picture.aligned;
    set_aside<KIND>(strip, first, last, left - strip.pixels);
    strip.join_left = first ? 0x5454 : PAIRS_BESIDE ? 0x3210 : 0x5432;
    strip.join_right = last ? 0x3232 : PAIRS_BESIDE ? 0x7654 : 0x5432;
    return strip;
}

/* ---- rows as they lie in memory */

template <class KIND> struct raw_row {
    uint32_t words[4 * KIND::CHANNELS];
    uint32_t aside[KIND::REACH][KIND::COLOURS];
};

/* The next row; then STEP bytes on, but not beyond the last. */
template <class KIND, bool WHOLE>
static __device__ __forceinline__ void fetch(struct raw_row<KIND> &raw, struct strip &strip,
                                             uint32_t step) {
    if (WHOLE)
#pragma unroll
        for (int i = 0; i < KIND::CHANNELS; i++)
            put_vector(raw.words + 4 * i, __ldg((const uint4 *)strip.from + i));
    else
        load_chunk(raw.words, strip.from, strip.pixels * KIND::PIXEL_BYTES,
                   KIND::PLAIN || strip.aligned);
    if (lane_of_thread() == 0 || lane_of_thread() == 31)
#pragma unroll
        for (int i = 0; i < KIND::REACH; i++)
#pragma unroll
            for (int c = 0; c < KIND::COLOURS; c++)
                raw.aside[i][c] = sample_at<KIND::DEPTH>(strip.from + strip.aside[i], c);
    if (WHOLE || strip.row < strip.last_row) strip.from += step;
    if (!WHOLE) strip.row++;
}

/* ---- gray */

enum : uint32_t {
    LUMA_WEIGHTS = 77 | 150 << 8 | 29 << 16,            /* alpha's is 0 */
    LUMA_WEIGHTS_UP = 77 << 8 | 150 << 16 | 29u << 24u, /* of a pixel that starts one later */
};

/* Luma of a pixel, times 256, and less than 256 more. */
template <class KIND>
static __device__ __forceinline__ uint32_t luma_weighed(const uint32_t *words, int pixel) {
    constexpr int WORDS = 4 * KIND::CHANNELS;
    const int byte = pixel * KIND::PIXEL_BYTES, word = byte / 4;
    const uint32_t low = words[word], high = words[(word + 1) % WORDS];
    if (KIND::DEPTH == 8)
        return __dp4a(__funnelshift_r(low, high, 8 * (byte % 4)), (uint32_t)LUMA_WEIGHTS, 128u);
    const uint32_t weights = byte % 4 ? LUMA_WEIGHTS_UP : LUMA_WEIGHTS;
    return __dp2a_hi(high, weights, __dp2a_lo(low, weights, 128u));
}

/* Of pixels FIRST and FIRST + 1: in the lower bytes, or in both halves. */
template <class KIND>
static __device__ __forceinline__ uint32_t two_lumas(const uint32_t *words, int first) {
    return __byte_perm(luma_weighed<KIND>(words, first), luma_weighed<KIND>(words, first + 1),
                       KIND::DEPTH == 8 ? 0x0051 : 0x6521);
}

template <class KIND>
static __device__ __forceinline__ uint32_t gray_word(const uint32_t *words, int w) {
    if (KIND::CHANNELS == 1) return words[w];
    if (KIND::CHANNELS == 2)
        return __byte_perm(words[2 * w], words[2 * w + 1], KIND::DEPTH == 8 ? 0x6420 : 0x5410);
    if (KIND::DEPTH == 16) return two_lumas<KIND>(words, 2 * w);
    return __byte_perm(two_lumas<KIND>(words, 4 * w), two_lumas<KIND>(words, 4 * w + 2), 0x5410);
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
static __device__ __forceinline__ void continue_row(uint32_t (&words)[4], int pixels) {
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

/* ---- levels */

/* Two in a word, and the words that stand before and behind. Where only one level there is wanted
 * and slots are pairs, these begin at odd places: the level beside, joined to the thread's own. */
template <class KIND> struct levels { uint32_t pairs[KIND::PAIRS], before, behind; };

/* In lanes 0 and 31: one pixel is taken twice, two stand as they are. */
template <class KIND>
static __device__ __forceinline__ uint32_t levels_aside(const struct raw_row<KIND> &raw,
                                                        const struct edge_rule &rule) {
    uint32_t level[KIND::REACH];
#pragma unroll
    for (int i = 0; i < KIND::REACH; i++) {
        const uint32_t(&colours)[KIND::COLOURS] = raw.aside[i];
        level[i] = KIND::COLOURS == 1
                       ? colours[0]
                       : luma(colours[0], colours[KIND::COLOURS / 2], colours[KIND::COLOURS - 1]);
        if (!KIND::PLAIN && rule.shift.add)
            level[i] = brightness_of(level[i], rule.shift, KIND::DEPTH == 8 ? 255 : 65535);
    }
    return __byte_perm(level[0], level[KIND::REACH - 1], 0x5410);
}

/* All lanes of the warp at once. */
template <class KIND, bool WHOLE>
static __device__ __forceinline__ struct levels<KIND> levels_of(const struct raw_row<KIND> &raw,
                                                                const struct strip &strip,
                                                                const struct edge_rule &rule) {
    struct levels<KIND> levels;
    uint32_t gray[4];
#pragma unroll
    for (int w = 0; w < 4; w++) gray[w] = gray_word<KIND>(raw.words, w);
    if (!WHOLE && strip.pixels < KIND::PIXELS) continue_row<KIND>(gray, strip.pixels);
    if (!KIND::PLAIN && rule.shift.add)
#pragma unroll
        for (int w = 0; w < 4; w++) gray[w] = brighter<KIND::DEPTH>(gray[w], rule.shift);
#pragma unroll
    for (int p = 0; p < KIND::PAIRS; p++)
        levels.pairs[p] =
            KIND::DEPTH == 8 ? __byte_perm(gray[p / 2], 0, p % 2 ? 0x4342 : 0x4140) : gray[p % 4];
    uint32_t left = __shfl_up_sync(~0u, levels.pairs[KIND::PAIRS - 1], 1);
    uint32_t right = __shfl_down_sync(~0u, levels.pairs[0], 1);
    const uint32_t beside = levels_aside<KIND>(raw, rule);
    if (lane_of_thread() == 0) left = beside;
    if (lane_of_thread() == 31) right = beside;
    levels.before = __byte_perm(left, levels.pairs[0], strip.join_left);
    levels.behind = __byte_perm(levels.pairs[KIND::PAIRS - 1], right, strip.join_right);
    return levels;
}

#endif
