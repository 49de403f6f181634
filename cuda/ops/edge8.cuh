// SPDX-License-Identifier: Apache-2.0
/* edge8.cuh - sobel3 of 8-bit samples: rows in registers, two pixels in each.
 *
 * A thread has 16 pixels of a row in hand and goes down so many rows; a warp's threads stand side
 * by side and get the columns next to their own by shuffle. The weights are separable: of each row
 * smooth (1 2 1) and slope (-1 0 1) are made once, and those of three rows give gx and gy. Of the
 * rows above only four numbers a pair are kept: registers are what limits the threads at work.
 */
#ifndef BURIN_EDGE8_CUH
#define BURIN_EDGE8_CUH

#include "cuda/launch.cuh"
#include "cuda/ops/edge8_pairs.cuh"
#include "pipeline/ops/edge.h"

enum { EDGE8_THREADS = 128, EDGE8_PIXELS = 16, EDGE8_PAIRS = EDGE8_PIXELS / 2 };

/* What a row adds to the gradients of the rows around it, for one pair: smooth (1 2 1), slope (-1 0
 * 1). */
struct sums8 {
    uint32_t smooth, slope;
};

/* What is kept of the rows above, per pair: smooth of the last two, the last slope, and the last
 * slope plus the one before: gx is the sum of two such sums, gy a difference of two smooths. */
struct above8 {
    uint32_t smooth[2][EDGE8_PAIRS], slope[EDGE8_PAIRS], slopes[EDGE8_PAIRS];
};

/* A row comes in: gradients of the row above it. SMOOTH's halves change places every row. */
static __device__ __forceinline__ void gradients_of(uint32_t &gx, uint32_t &gy,
                                                    struct above8 &above, int oldest, int p,
                                                    struct sums8 sums) {
    const uint32_t slopes = pair_add(above.slope[p], sums.slope);
    gx = pair_add(above.slopes[p], slopes);
    gy = pair_subtract(sums.smooth, above.smooth[oldest][p]);
    above.smooth[oldest][p] = sums.smooth;
    above.slope[p] = sums.slope, above.slopes[p] = slopes;
}

/* Of two pixels. */
static __device__ __forceinline__ void roots_of(uint32_t *roots, uint32_t gx, uint32_t gy) {
    const struct two_floats x = pair_widen(gx), y = pair_widen(gy);
    roots[0] = root_of(x.low, y.low);
    roots[1] = root_of(x.high, y.high);
}

/* ---- where a thread's strip lies */

struct strip8 {
    const uint8_t *from; /* own chunk of the row that is fetched next */
    uint32_t stride;
    int row, last_row; /* number of that row, and of the image's last */
    int pixels;        /* of the chunk that exist */
    int aside;         /* in lanes 0 and 31: from FROM to the pixel next to the warp's chunks */
    /* How the pixels next to the chunk are joined to its own: at the image's border the chunk's
     * own outermost pixel is taken twice. */
    uint32_t join_left, join_right;
};

static __device__ __forceinline__ int lane_of_thread(void) {
    return threadIdx.x % 32;
}

template <int CHANNELS>
static __device__ __forceinline__ struct strip8 strip_of(const struct picture &picture,
                                                         struct place place, uint32_t top) {
    const uint32_t x = place.x * EDGE8_PIXELS;
    const bool first = place.x == 0, last = place.x + 1 == picture.row_chunks;
    struct strip8 strip;
    strip.pixels = (int)min(picture.width - x, (uint32_t)EDGE8_PIXELS);
    strip.row = (int)top - 1;
    strip.last_row = (int)picture.height - 1;
    strip.stride = picture.in_stride;
    strip.from = picture.in + (uint64_t)max(strip.row, 0) * picture.in_stride + x * CHANNELS;
    strip.aside =
        lane_of_thread() == 0 ? (first ? 0 : -CHANNELS) : (last ? 0 : EDGE8_PIXELS * CHANNELS);
    strip.join_left = first ? 0x5454 : 0x5432;
    strip.join_right = last ? 0x3232 : 0x5432;
    return strip;
}

/* ---- levels */

/* One row's samples as they lie in memory. */
template <int CHANNELS> struct raw8 {
    uint32_t words[4 * CHANNELS];
    uint32_t aside; /* the samples of the pixel aside, lowest first */
};

/* The next row; then STEP bytes on, but not beyond the last. */
template <int CHANNELS, bool WHOLE>
static __device__ __forceinline__ void fetch(struct raw8<CHANNELS> &raw, struct strip8 &strip,
                                             uint32_t step) {
#pragma unroll
    for (int i = 0; i < CHANNELS; i++)
        if (WHOLE || i == 0 || 16 * i < strip.pixels * CHANNELS)
            put_vector(raw.words + 4 * i, __ldg((const uint4 *)strip.from + i));
    if (lane_of_thread() == 0 || lane_of_thread() == 31) {
        const uint8_t *aside = strip.from + strip.aside;
        raw.aside = __ldg(aside);
        if (CHANNELS > 2) raw.aside |= __ldg(aside + 1) << 8 | __ldg(aside + 2) << 16;
    }
    if (WHOLE || strip.row < strip.last_row) strip.from += step;
    if (!WHOLE) strip.row++;
}

enum : uint32_t { LUMA_WEIGHTS = 77 | 150 << 8 | 29 << 16 }; /* alpha's is 0 */

/* The second byte of it is the luma. */
static __device__ __forceinline__ uint32_t luma_weighed(uint32_t rgb) {
    return __dp4a(rgb, (uint32_t)LUMA_WEIGHTS, 128u);
}

/* Of pixels FIRST .. FIRST + 3. */
template <int CHANNELS>
static __device__ __forceinline__ uint32_t four_lumas(const uint32_t (&words)[4 * CHANNELS],
                                                      int first) {
    uint32_t weighed[4];
#pragma unroll
    for (int p = 0; p < 4; p++) {
        const int byte = (first + p) * CHANNELS, word = byte / 4;
        weighed[p] = luma_weighed(
            __funnelshift_r(words[word], words[(word + 1) % (4 * CHANNELS)], 8 * (byte % 4)));
    }
    return __byte_perm(__byte_perm(weighed[0], weighed[1], 0x0051),
                       __byte_perm(weighed[2], weighed[3], 0x0051), 0x5410);
}

template <int CHANNELS>
static __device__ __forceinline__ void gray_of(uint32_t (&gray)[4],
                                               const struct raw8<CHANNELS> &raw) {
#pragma unroll
    for (int w = 0; w < 4; w++) {
        if (CHANNELS == 1) gray[w] = raw.words[w];
        if (CHANNELS == 2)
            gray[w] = __byte_perm(raw.words[2 * w % (4 * CHANNELS)],
                                  raw.words[(2 * w + 1) % (4 * CHANNELS)], 0x6420);
        if (CHANNELS > 2) gray[w] = four_lumas<CHANNELS>(raw.words, 4 * w);
    }
}

static __device__ __forceinline__ uint32_t everywhere(uint32_t byte) {
    return byte * 0x01010101u;
}

static __device__ __forceinline__ uint32_t brighter(uint32_t word, struct brightness_rule rule) {
    return __vadd4(__vminu4(__vmaxu4(word, everywhere(rule.low)), everywhere(rule.high)),
                   everywhere(rule.add));
}

/* Bytes behind the row's end become its last pixel. */
static __device__ __forceinline__ void continue_row(uint32_t (&words)[4], int pixels) {
    const int word = (pixels - 1) / 4, byte = (pixels - 1) % 4;
    const uint32_t low = word == 0 ? words[0] : words[1], high = word == 2 ? words[2] : words[3];
    const uint32_t last = __byte_perm(word < 2 ? low : high, 0, 0x1111 * byte);
    const uint32_t own = (16u << 4 * byte) - 1; /* a digit a byte */
    const uint32_t pick = (0x3210 & own) | (0x4444 & ~own);
#pragma unroll
    for (int w = 0; w < 4; w++)
        if (w >= word) words[w] = w > word ? last : __byte_perm(words[w], last, pick);
}

/* A row's levels, two in a word, with the pairs beside the thread's own, joined to them. */
struct levels8 {
    uint32_t even[EDGE8_PAIRS], before, behind;
};

/* All lanes of the warp at once. */
template <int CHANNELS, bool EXTRAS, bool WHOLE>
static __device__ __forceinline__ struct levels8 levels_of(const struct raw8<CHANNELS> &raw,
                                                           const struct strip8 &strip,
                                                           const struct edge_rule &rule) {
    struct levels8 levels;
    uint32_t gray[4], aside = raw.aside;
    gray_of<CHANNELS>(gray, raw);
    if (CHANNELS > 2) aside = luma_weighed(aside) >> 8;
    if (!WHOLE && strip.pixels < EDGE8_PIXELS) continue_row(gray, strip.pixels);
    if (EXTRAS && rule.shift.add) {
        aside = brightness_of(aside & 255, rule.shift, 255);
#pragma unroll
        for (int w = 0; w < 4; w++) gray[w] = brighter(gray[w], rule.shift);
    }
#pragma unroll
    for (int w = 0; w < 4; w++) {
        levels.even[2 * w] = __byte_perm(gray[w], 0, 0x4140);
        levels.even[2 * w + 1] = __byte_perm(gray[w], 0, 0x4342);
    }
    uint32_t left = __shfl_up_sync(~0u, levels.even[EDGE8_PAIRS - 1], 1);
    uint32_t right = __shfl_down_sync(~0u, levels.even[0], 1);
    const uint32_t beside = __byte_perm(aside, 0, 0x4040);
    if (lane_of_thread() == 0) left = beside;
    if (lane_of_thread() == 31) right = beside;
    levels.before = __byte_perm(left, levels.even[0], strip.join_left);
    levels.behind = __byte_perm(levels.even[EDGE8_PAIRS - 1], right, strip.join_right);
    return levels;
}

/* Of pair P; pairs in order, BEFORE handed on from one to the next. */
static __device__ __forceinline__ struct sums8 sums_of(const struct levels8 &levels, int p,
                                                       uint32_t &before) {
    const uint32_t here = levels.even[p];
    const uint32_t after = p + 1 < EDGE8_PAIRS
                               ? __byte_perm(here, levels.even[(p + 1) % EDGE8_PAIRS], 0x5432)
                               : levels.behind;
    const struct sums8 sums = { pair_add(pair_twice_add(here, before), after),
                                pair_subtract(after, before) };
    before = after;
    return sums;
}

/* The first row of a strip's surroundings, and the second. */
static __device__ __forceinline__ void begin_with(struct above8 &above, int number,
                                                  const struct levels8 &levels) {
    uint32_t before = levels.before;
#pragma unroll
    for (int p = 0; p < EDGE8_PAIRS; p++) {
        const struct sums8 sums = sums_of(levels, p, before);
        above.smooth[number][p] = sums.smooth;
        above.slopes[p] = number ? pair_add(above.slope[p], sums.slope) : 0;
        above.slope[p] = sums.slope;
    }
}

/* A row comes in: EDGES of the row above it. */
static __device__ __forceinline__ void go_on_with(uint32_t (&edges)[4], struct above8 &above,
                                                  int oldest, const struct levels8 &levels) {
    uint32_t before = levels.before;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        uint32_t roots[4];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            uint32_t gx, gy;
            gradients_of(gx, gy, above, oldest, 2 * w + i, sums_of(levels, 2 * w + i, before));
            roots_of(roots + 2 * i, gx, gy);
        }
        edges[w] = pack_four(roots);
    }
}

/* ---- what becomes of magnitudes */

static __device__ __forceinline__ uint32_t over_threshold(uint32_t word,
                                                          const struct edge_rule &rule) {
    return __vcmpgtu4(word, everywhere(rule.threshold)) & (word | everywhere(rule.white));
}

static __device__ __forceinline__ void clear_border(uint32_t (&words)[4], int pixels, bool all,
                                                    bool first, bool last) {
#pragma unroll
    for (int w = 0; w < 4; w++) {
        if (first && w == 0) words[w] &= ~255u;
        if (last && w == (pixels - 1) / 4) words[w] &= ~(255u << 8 * ((pixels - 1) % 4));
        if (all) words[w] = 0;
    }
}

/* A byte at a time where the chunk is not whole. */
static __device__ __forceinline__ void put_edges(const uint32_t (&edges)[4], uint8_t *to,
                                                 int pixels) {
    if (pixels == EDGE8_PIXELS) {
        __stcs((uint4 *)to, get_vector(edges));
        return;
    }
    uint32_t words[4] = { edges[0], edges[1], edges[2], edges[3] };
#pragma unroll 1
    for (int i = 0; i < pixels; i++) {
        to[i] = (uint8_t)words[0];
        chunk_shift<1>(words);
    }
}

/* With the input's alpha beside them. */
template <int CHANNELS>
static __device__ __forceinline__ void put_with_alpha(const uint32_t (&edges)[4], uint8_t *to,
                                                      const uint8_t *in, int pixels) {
    uint32_t source[4 * CHANNELS], both[8];
    load_chunk(source, in, pixels * CHANNELS, true);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t alpha = CHANNELS == 2
                                   ? source[i]
                                   : __byte_perm(source[2 * i % (4 * CHANNELS)],
                                                 source[(2 * i + 1) % (4 * CHANNELS)], 0x7030);
        both[i] = __byte_perm(edges[i / 2], alpha, i % 2 ? 0x7352 : 0x7150);
    }
    store_chunk(both, to, 2 * pixels, true);
}

/* ---- the kernel */

/* What a launch passes: chunks of the batch are strips, 16 pixels across and ROWS down, even; every
 * row of the pictures starts at 16 bytes. */
struct strips8 {
    struct batch batch;
    struct edge_rule rule;
    uint32_t rows;
};

/* What a thread puts out. */
struct target8 {
    uint8_t *to;         /* own chunk of the row that is put out next */
    const uint8_t *from; /* the same of the input, for its alpha */
    uint32_t stride;
    uint32_t top, left; /* first row, and how many of the strip's rows there are */
    bool first, last;   /* chunk of its row */
};

/* Brightness is done before; here threshold, binary and a border of 0. */
static __device__ __forceinline__ void finish_edges(uint32_t (&edges)[4],
                                                    const struct strip8 &strip,
                                                    const struct target8 &target, uint32_t y,
                                                    const struct edge_rule &rule) {
#pragma unroll
    for (int w = 0; w < 4; w++) edges[w] = over_threshold(edges[w], rule);
    if (rule.margin)
        clear_border(edges, strip.pixels, y == 0 || (int)y == strip.last_row, target.first,
                     target.last);
}

static __device__ __forceinline__ void prefetch_row(const uint8_t *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* WHOLE: the chunks of the warp are, and there are all rows of the strips and one more, so that
 * nothing is to be asked on the way. One row is on its way to registers while another is worked on
 * (two take registers, and so warps, and are slower), AHEAD more to the L2 cache. */
template <int CHANNELS, bool EXTRAS, bool WHOLE, int AHEAD>
static __device__ __forceinline__ void go_down(struct strip8 strip, struct target8 target,
                                               const struct edge_rule &rule, uint32_t rows) {
    const int pixels = WHOLE ? (int)EDGE8_PIXELS : strip.pixels;
    /* At first there are registers for three rows. */
    struct raw8<CHANNELS> before[2] = {}, raw = {};
    struct above8 above;
    fetch<CHANNELS, WHOLE>(before[0], strip, target.top ? strip.stride : 0);
    fetch<CHANNELS, WHOLE>(before[1], strip, strip.stride);
    fetch<CHANNELS, WHOLE>(raw, strip, strip.stride);
#pragma unroll
    for (int i = 0; i < 2; i++)
        begin_with(above, i, levels_of<CHANNELS, EXTRAS, WHOLE>(before[i], strip, rule));
    for (uint32_t i = 0; i < rows; i += 2) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            uint32_t edges[4];
            const struct levels8 levels = levels_of<CHANNELS, EXTRAS, WHOLE>(raw, strip, rule);
            if (k == 0 || i + k + 1 < rows) {
                if (WHOLE && AHEAD && i + k + 1 + AHEAD < rows)
                    prefetch_row(strip.from + AHEAD * strip.stride);
                fetch<CHANNELS, WHOLE>(raw, strip, strip.stride);
            }
            go_on_with(edges, above, k, levels);
            if (EXTRAS) finish_edges(edges, strip, target, target.top + i + k, rule);
            if (WHOLE || i + k < target.left) {
                if constexpr (CHANNELS % 2)
                    put_edges(edges, target.to, pixels);
                else
                    put_with_alpha<CHANNELS>(edges, target.to, target.from, pixels);
            }
            target.to += target.stride;
            target.from += strip.stride;
        }
    }
}

/* EXTRAS: brightness, threshold, binary or a border of 0. BLOCKS of a multiprocessor: more threads
 * hide more, fewer have more registers. */
template <int CHANNELS, bool EXTRAS, int BLOCKS, int AHEAD = 0>
static __global__ void __launch_bounds__(EDGE8_THREADS, BLOCKS)
    edge8_kernel(const __grid_constant__ struct strips8 launch) {
    constexpr int OUT_CHANNELS = CHANNELS % 2 ? 1 : 2;
    const struct batch &batch = launch.batch;
    const uint32_t number = blockIdx.x * EDGE8_THREADS + threadIdx.x, rows = launch.rows;
    if (number - lane_of_thread() >= batch.chunks) return;
    const uint32_t chunk = min(number, batch.chunks - 1);
    const struct picture &picture = batch.pictures[picture_at(batch, chunk)];
    const struct place place = place_of(picture, chunk - picture.first);
    const uint32_t top = place.y * rows, x = place.x * EDGE8_PIXELS;
    const struct strip8 strip = strip_of<CHANNELS>(picture, place, top);
    struct target8 target;
    target.to = picture.out + (uint64_t)top * picture.out_stride + x * OUT_CHANNELS;
    target.from = picture.in + (uint64_t)top * picture.in_stride + x * CHANNELS;
    target.stride = picture.out_stride;
    target.top = top;
    target.left = number < batch.chunks ? min(rows, picture.height - top) : 0;
    target.first = place.x == 0;
    target.last = place.x + 1 == picture.row_chunks;
    const bool whole =
        number < batch.chunks && strip.pixels == EDGE8_PIXELS && top + rows < picture.height;
    if (__all_sync(~0u, whole))
        go_down<CHANNELS, EXTRAS, true, AHEAD>(strip, target, launch.rule, rows);
    else
        go_down<CHANNELS, EXTRAS, false, AHEAD>(strip, target, launch.rule, rows);
}

#endif
