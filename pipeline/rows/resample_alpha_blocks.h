// SPDX-License-Identifier: Apache-2.0
/* resample_alpha_blocks.h - pixels with alpha of 8 bits, for the vectors that include it.
 *
 * The counts of resample_alpha.h are words. A cell is two neighbours, along either axis: a lane of
 * 32 bits has the words of both, and one instruction adds their products with one part of both
 * weights. A weight is h * 2^11 + l; after CELLS cells what is over 11 bits of the lower sum is
 * carried into the upper one, so that neither overflows: a lower one grows by at most 2^26 a cell.
 *
 * Across, a quarter of a vector is a pixel's four samples (gray stands three times) of one row; two
 * vectors are 2 SPAN rows. The sums, of less than 21 bits, go to the ring in pairs of rows: of
 * LANES samples first a vector of all but their low bytes, then one of their low bytes.
 *
 * Used by:  resample_alpha_avx2.c, resample_alpha_vnni.c, which first define: WAY, the target; vec
 *           and V(operation), its intrinsics; LANES, of 32 bits; SPAN, rows in a vector; and the
 *           functions that this file calls without defining.
 * Threads:  any; no state.
 */
#ifndef BURIN_RESAMPLE_ALPHA_BLOCKS_H
#define BURIN_RESAMPLE_ALPHA_BLOCKS_H

#include "pipeline/rows/resample_alpha.h"

#include <string.h>

enum { VECTOR = 4 * LANES, ROWS = 2 * SPAN, TAPS = 2, WORDS = 2, LOW_BITS = 11, CELLS = 30 };
enum { LOW_MASK = (1 << LOW_BITS) - 1, BYTES = 8 /* bits of the ring's second vector */ };

#define INLINE static inline __attribute__((always_inline)) WAY

static void encode_pair(const int32_t *weights, int32_t *words) {
    int16_t parts[2][2];
    for (int i = 0; i < 2; i++) {
        parts[0][i] = (int16_t)((weights[i] + (1 << (LOW_BITS - 1))) >> LOW_BITS);
        parts[1][i] = (int16_t)(weights[i] - parts[0][i] * (1 << LOW_BITS));
    }
    memcpy(words, parts, sizeof parts);
}

/* The first or the second of a cell with weight 2^22, for an axis that is copied. */
static const int32_t copied[2][WORDS] = { { 1 << LOW_BITS, 0 }, { 1 << (LOW_BITS + 16), 0 } };

/* ---- sums */

struct sums {
    vec high, low;
};

/* Sums COUNT cells, STEP bytes apart, of GROUP vectors one after the other. */
INLINE void sum_cells(struct sums *sums, const uint8_t *at, size_t step, const int32_t *words,
                      uint32_t count, unsigned group) {
    for (uint32_t left = count; left;) {
        const uint32_t cells = left < CELLS ? left : CELLS;
        left -= cells;
        for (uint32_t k = 0; k < cells; k++, at += step, words += WORDS) {
            const vec high = V(set1_epi32)(words[0]), low = V(set1_epi32)(words[1]);
#pragma GCC unroll 4
            for (unsigned g = 0; g < group; g++) {
                const vec pairs = load(at + g * VECTOR);
                sums[g].high = add_products(sums[g].high, pairs, high);
                sums[g].low = add_products(sums[g].low, pairs, low);
            }
        }
#pragma GCC unroll 4
        for (unsigned g = 0; g < group; g++) {
            sums[g].high = V(add_epi32)(sums[g].high, V(srai_epi32)(sums[g].low, LOW_BITS));
            sums[g].low = V(and_si)(sums[g].low, V(set1_epi32)(LOW_MASK));
        }
    }
}

INLINE void sums_clear(struct sums *sums, unsigned group) {
#pragma GCC unroll 4
    for (unsigned g = 0; g < group; g++)
        sums[g] = (struct sums){ V(set1_epi32)(0), V(set1_epi32)(0) };
}

/* resample_across(): what is shifted out first loses nothing. */
INLINE vec total_across(const struct sums *sums) {
    const vec half = V(set1_epi32)(1 << (ALPHA_SHIFT - 1));
    const vec carried = V(srai_epi32)(V(add_epi32)(sums->low, half), LOW_BITS);
    return V(srai_epi32)(V(add_epi32)(sums->high, carried), ALPHA_SHIFT - LOW_BITS);
}

/* resample_down(), from the sums of the vectors that across_pixels() stores. */
INLINE vec total_down(const struct sums sums[2]) {
    const vec half = V(set1_epi32)(1 << (RESAMPLE_BITS - 1));
    const vec bytes = V(add_epi32)(V(slli_epi32)(sums[1].high, LOW_BITS), sums[1].low);
    const vec carried = V(srai_epi32)(V(add_epi32)(bytes, half), BYTES);
    const vec low = V(srai_epi32)(V(add_epi32)(sums[0].low, carried), LOW_BITS);
    return V(srai_epi32)(V(add_epi32)(sums[0].high, low), RESAMPLE_BITS - BYTES - LOW_BITS);
}

/* ---- counts */

enum { CELL = 2 * VECTOR, AHEAD = 512 };

/* The words of two pixels in each quarter become a cell. */
INLINE vec count_pairs(vec words) {
    const vec alphas = V(shuffle_epi8)(
        words, in_all(_mm_setr_epi8(6, 7, 6, 7, 6, 7, 6, 7, 14, 15, 14, 15, 14, 15, 14, 15)));
    const vec colours = V(and_si)(words, in_all(_mm_setr_epi16(-1, -1, -1, 0, -1, -1, -1, 0)));
    const vec half = in_all(_mm_setr_epi16(128, 128, 128, -128, 128, 128, 128, -128));
    return V(shuffle_epi8)(
        V(mullo_epi16)(V(sub_epi16)(colours, half), alphas),
        in_all(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15)));
}

/* Four pixels of CHANNELS as RGBA. */
INLINE __m128i load_four(const uint8_t *from, unsigned channels) {
    if (channels == 4) return _mm_loadu_si128((const __m128i *)from);
    return _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)from),
                            _mm_setr_epi8(0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 6, 6, 7));
}

/* Four pixels of each row, from byte AT on, become two cells. */
INLINE void count_four(const uint8_t *const rows[], size_t at, uint8_t *to, unsigned channels) {
    const vec zero = V(set1_epi32)(0);
#pragma GCC unroll 2
    for (unsigned v = 0; v < 2; v++, to += VECTOR) {
        __m128i some[SPAN];
#pragma GCC unroll 4
        for (unsigned r = 0; r < SPAN; r++) some[r] = load_four(rows[v * SPAN + r] + at, channels);
        const vec bytes = join(some);
        store(to, count_pairs(V(unpacklo_epi8)(bytes, zero)));
        store(to + CELL, count_pairs(V(unpackhi_epi8)(bytes, zero)));
    }
}

INLINE void count_rows(const uint8_t *const rows[], uint8_t *to, size_t pixels, unsigned channels) {
    const size_t bytes = pixels * channels, step = 4 * channels;
    size_t at = 0;
    for (; at + step <= bytes; at += step, to += 2 * CELL) {
        if (at % 64 == 0)
#pragma GCC unroll 8
            for (unsigned r = 0; r < ROWS; r++)
                __builtin_prefetch((const void *)((uintptr_t)rows[r] + at + AHEAD));
        count_four(rows, at, to, channels);
    }
    if (at == bytes) return;
    uint8_t rest[ROWS][16] = { { 0 } };
    const uint8_t *starts[ROWS];
    for (unsigned r = 0; r < ROWS; r++) starts[r] = memcpy(rest[r], rows[r] + at, bytes - at);
    count_four(starts, 0, to, channels);
}

/* ---- across */

/* Stores one pixel of ROWS rows into the cells of the ring, RING_STEP apart. */
INLINE void store_pixel(const struct sums sums[2], uint8_t *ring, size_t ring_step) {
    const vec byte = V(set1_epi32)((1 << BYTES) - 1), word = V(set1_epi32)(0xffff);
#pragma GCC unroll 2
    for (unsigned v = 0; v < 2; v++) {
        const vec own = total_across(&sums[v]), next = next_quarter(own);
        const vec high = either(V(and_si)(V(srai_epi32)(own, BYTES), word),
                                V(slli_epi32)(V(srai_epi32)(next, BYTES), 16));
        const vec low = either(V(and_si)(own, byte), V(slli_epi32)(V(and_si)(next, byte), 16));
#pragma GCC unroll 2
        for (unsigned i = 0; i < SPAN; i += 2, ring += ring_step) {
            _mm_store_si128((__m128i *)ring, quarter(high, i));
            _mm_store_si128((__m128i *)(ring + VECTOR), quarter(low, i));
        }
    }
}

WAY static void across_pixels(const struct resample_layout *layout, const uint8_t *const from[],
                              uint8_t *cells, uint8_t *ring) {
    const struct resample_side *side = &layout->x;
    if (layout->job->in.channels == 4)
        count_rows(from, cells, layout->columns.count, 4);
    else
        count_rows(from, cells, layout->columns.count, 2);
    for (uint32_t i = 0; i < layout->job->x.count; i++) {
        const struct resample_window window =
            side->windows ? side->windows[i] : (struct resample_window){ i / 2, 1 };
        const int32_t *words = side->windows ? side->weights + i * side->pitch : copied[i % 2];
        struct sums sums[2];
        sums_clear(sums, 2);
        sum_cells(sums, cells + (size_t)window.first * CELL, CELL, words, window.count, 2);
        const size_t sample = 4 * (size_t)i;
        store_pixel(sums, ring + sample / LANES * 2 * VECTOR + sample % LANES * 4,
                    layout->ring_step);
    }
}

/* ---- down */

/* resample_alpha() and resample_colour(). The quotient in single precision is less than 1 from the
 * exact one, which the rest decides; where alpha is 0 nothing of it is used. */
INLINE vec divided(vec total) {
    const vec a = V(shuffle_epi32)(total, 0xff), zero = V(set1_epi32)(0);
    const vec rounded = V(add_epi32)(a, V(set1_epi32)(1 << (6 + ALPHA_BITS)));
    const vec alpha = V(srai_epi32)(rounded, 7 + ALPHA_BITS), divisor = V(add_epi32)(a, a);
    const vec dividend = V(add_epi32)(V(slli_epi32)(V(add_epi32)(total, a), 8), a);
    const vec near = V(cvttps_epi32)(V(div_ps)(V(cvtepi32_ps)(dividend), V(cvtepi32_ps)(divisor)));
    const vec rest = V(sub_epi32)(dividend, V(mullo_epi32)(near, divisor));
    const vec less = minus_where(near, rest, zero, divisor);
    return with_alpha(where_above(alpha, zero, less), alpha);
}

/* Makes LANES samples of whole pixels from the vectors at RING on. */
INLINE vec down_vector(const struct resample_layout *layout, const uint8_t *ring, uint32_t first,
                       uint32_t row, uint32_t y) {
    const struct resample_side *side = &layout->y;
    const uint32_t count = side->windows ? side->windows[y].count : 1;
    const uint32_t left = layout->ring_cells - first, before = count < left ? count : left;
    const int32_t *words = side->windows ? side->weights + y * side->pitch : copied[row];
    const size_t step = layout->ring_step;
    struct sums sums[2];
    sums_clear(sums, 2);
    sum_cells(sums, ring + first * step, step, words, before, 2);
    if (before < count) sum_cells(sums, ring, step, words + before * WORDS, count - before, 2);
    return divided(total_down(sums));
}

WAY static void down_pixels(const struct resample_layout *layout, const uint8_t *ring,
                            uint32_t first, uint32_t row, uint32_t y, uint8_t *out) {
    const size_t samples = 4 * (size_t)layout->job->x.count;
    const bool gray = layout->job->in.channels == 2;
    for (size_t i = 0; i < samples; i += LANES, ring += 2 * VECTOR) {
        const vec made = down_vector(layout, ring, first, row, y);
        if (!gray && i + LANES <= samples) {
            store_bytes(out + i, made);
            continue;
        }
        uint8_t some[LANES];
        const size_t count = samples - i < LANES ? samples - i : LANES;
        store_bytes(some, made);
        if (!gray) memcpy(out + i, some, count);
        for (size_t s = 0; gray && s < count; s += 4) {
            out[(i + s) / 2] = some[s];
            out[(i + s) / 2 + 1] = some[s + 3];
        }
    }
}

/* ---- memory */

static size_t ring_step(const struct resample_layout *layout) {
    const size_t samples = 4 * (size_t)layout->job->x.count;
    return (samples + LANES - 1) / LANES * 2 * VECTOR;
}

static size_t workspace(const struct resample_layout *layout) {
    return ((size_t)layout->columns.count + 3) / 4 * 2 * CELL;
}

#endif
