// SPDX-License-Identifier: Apache-2.0
/* resample_blocks.h - the ways that work on blocks of rows, for the vectors that include it.
 *
 * A block has as many rows as a vector has lanes of 32 bits. Its bytes are split into planes, one
 * for each byte of a pixel. A cell of a plane, TAPS neighbours of each row, is one vector: lane r
 * holds those of row r. So all lanes of a vector have the same window and weights, and nothing is
 * summed across lanes. The result is transposed, so that a cell of the ring is TAPS rows of one
 * sample, and a lane a sample; there too all lanes have the same weights. 16-bit samples are two
 * bytes, summed separately and combined at the end; planes and sets of the ring come in low and
 * high bytes.
 *
 * Used by:  resample_avx2.c, resample_vnni.c, which first define: WAY, the target; vec and
 *           V(operation), its intrinsics; LANES; TAPS, 4 (bytes in a lane) or 2 (words); WORDS, the
 *           int32_t that the weights of a cell take; GROUP, the vectors summed together; struct
 *           weights, struct sums and the functions that this file calls without defining.
 * Threads:  any; no state.
 */
#ifndef BURIN_RESAMPLE_BLOCKS_H
#define BURIN_RESAMPLE_BLOCKS_H

#include "pipeline/rows/resample_planes.h"

#include <string.h>

enum { LINES_PADDING = 16, RING_PADDING = 64 };

/* ---- memory */

/* Bytes of a block's results before they are transposed: LANES for each sample. */
static size_t line_bytes(const struct resample_layout *layout) {
    return rounded(layout->samples, LINES_PADDING) * LANES;
}

static size_t set_bytes(const struct resample_layout *layout) {
    return rounded(layout->samples, RING_PADDING) * 4;
}

static size_t ring_step(const struct resample_layout *layout) {
    return depth_of(layout) / 8 * set_bytes(layout);
}

static size_t workspace(const struct resample_layout *layout) {
    const size_t bytes = depth_of(layout) / 8;
    return bytes * (layout->job->in.channels * plane_bytes(layout) + line_bytes(layout));
}

/* ---- sums: GROUP and depth are constants wherever these are called */

/* Sums COUNT cells, STEP bytes apart, of vectors that lie APART bytes apart. */
INLINE void sum_cells(struct sums *sums, const uint8_t *at, size_t apart, size_t step,
                      const int32_t *words, uint32_t count, unsigned group) {
    for (uint32_t k = 0; k < count; k++, at += step, words += WORDS) {
        const struct weights weights = weights_at(words);
#pragma GCC unroll 4
        for (unsigned g = 0; g < group; g++) sums_add(&sums[g], load(at + g * apart), &weights);
    }
}

INLINE vec result8(const struct sums *sums) {
    const vec half = V(set1_epi32)(1 << (RESAMPLE_BITS - 1));
    return V(srai_epi32)(V(add_epi32)(sums_total(sums), half), RESAMPLE_BITS);
}

/* (256 high + low + half) >> 22; low and half lose nothing if they are shifted first. */
INLINE vec result16(const struct sums *low, const struct sums *high) {
    const vec half = V(set1_epi32)(1 << (RESAMPLE_BITS - 1));
    const vec carried = V(srai_epi32)(V(add_epi32)(sums_total(low), half), 8);
    const vec value = V(srai_epi32)(V(add_epi32)(sums_total(high), carried), RESAMPLE_BITS - 8);
    return V(min_epi32)(V(max_epi32)(value, V(set1_epi32)(0)), V(set1_epi32)(65535));
}

/* ---- across: each target pixel's planes FIRST .. FIRST + GROUP - 1 */

INLINE void across_group(const struct resample_layout *layout, const uint8_t *planes,
                         uint8_t *lines, unsigned first, unsigned group, unsigned depth) {
    const struct resample_side *side = &layout->x;
    const size_t plane = plane_bytes(layout), high = line_bytes(layout);
    const uint32_t targets = layout->job->x.count;
    const unsigned channels = layout->job->in.channels;
    uint8_t *to = lines + first / (depth / 8) * LANES;
    for (uint32_t i = 0; i < targets; i++, to += channels * LANES) {
        const struct resample_window window = side->windows[i];
        struct sums sums[GROUP];
#pragma GCC unroll 4
        for (unsigned g = 0; g < group; g++) sums[g] = sums_zero();
        sum_cells(sums, planes + first * plane + (size_t)window.first * CELL, plane, CELL,
                  side->weights + i * side->pitch, window.count, group);
#pragma GCC unroll 4
        for (unsigned g = 0; g < group; g += depth / 8) {
            if (depth == 8) {
                store_bytes(to + g * LANES, result8(&sums[g]));
            } else {
                const vec value = result16(&sums[g], &sums[g + 1]);
                store_bytes(to + g / 2 * LANES, V(and_si)(value, V(set1_epi32)(255)));
                store_bytes(to + g / 2 * LANES + high, V(srli_epi32)(value, 8));
            }
        }
    }
}

WAY static void across_planes(const struct resample_layout *layout, const uint8_t *planes,
                              uint8_t *lines) {
    const unsigned depth = depth_of(layout), count = layout->job->in.channels * (depth / 8);
    for (unsigned done = 0; done < count; done += GROUP) {
        const unsigned group = count - done < GROUP ? count - done : GROUP;
        if (depth == 16 && group == 2)
            across_group(layout, planes, lines, done, 2, 16);
        else if (depth == 16)
            across_group(layout, planes, lines, done, 4, 16);
        else if (group == 1)
            across_group(layout, planes, lines, done, 1, 8);
        else if (group == 2)
            across_group(layout, planes, lines, done, 2, 8);
        else if (group == 3)
            across_group(layout, planes, lines, done, 3, 8);
        else
            across_group(layout, planes, lines, done, 4, 8);
    }
}

/* ---- into the ring */

/* Returns sixteen samples of a row: their low bytes, or with SET 1 their high ones. */
INLINE __m128i sixteen(const uint8_t *row, unsigned set, unsigned depth) {
    const __m128i *from = (const __m128i *)row;
    if (depth == 8) return _mm_loadu_si128(from);
    __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    if (set) return _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8));
    const __m128i low = _mm_set1_epi16(255);
    return _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
}

INLINE void weave_sixteen(const uint8_t *const rows[], size_t at, uint8_t *to, unsigned set,
                          unsigned depth) {
    __m128i bytes[TAPS];
    for (int i = 0; i < TAPS; i++) bytes[i] = sixteen(rows[i] + at, set, depth);
    weave(bytes, (__m128i *)to);
}

/* Interleaves a cell of unchanged rows, one set of their bytes. */
INLINE void weave_rows(const uint8_t *const rows[], size_t samples, uint8_t *to, unsigned set,
                       unsigned depth) {
    const size_t step = 16 * (depth / 8), bytes = samples * (depth / 8);
    size_t at = 0;
    for (; at + step <= bytes; at += step, to += 64) weave_sixteen(rows, at, to, set, depth);
    if (at == bytes) return;
    uint8_t rest[TAPS][32] = { { 0 } };
    const uint8_t *starts[TAPS];
    for (int i = 0; i < TAPS; i++) {
        memcpy(rest[i], rows[i] + at, bytes - at);
        starts[i] = rest[i];
    }
    weave_sixteen(starts, 0, to, set, depth);
}

WAY static void copy_rows(const struct resample_layout *layout, const uint8_t *const from[],
                          uint8_t *ring) {
    const size_t set = set_bytes(layout);
    for (unsigned i = 0; i < LANES; i += TAPS, ring += layout->ring_step) {
        if (depth_of(layout) == 8) {
            weave_rows(from + i, layout->samples, ring, 0, 8);
        } else {
            weave_rows(from + i, layout->samples, ring, 0, 16);
            weave_rows(from + i, layout->samples, ring + set, 1, 16);
        }
    }
}

WAY static void across_blocks(const struct resample_layout *layout, const uint8_t *const from[],
                              uint8_t *memory, uint8_t *ring) {
    if (!layout->x.windows) {
        copy_rows(layout, from, ring);
        return;
    }
    const unsigned sets = depth_of(layout) / 8;
    uint8_t *lines = memory + sets * layout->job->in.channels * plane_bytes(layout);
    part_rows(layout, from, memory);
    across_planes(layout, memory, lines);
    for (unsigned s = 0; s < sets; s++, lines += line_bytes(layout), ring += set_bytes(layout))
        for (size_t i = 0; i < layout->samples; i += 4)
            spread_four(lines + i * LANES, ring + 4 * i, layout->ring_step);
}

/* ---- down: vectors of LANES samples */

INLINE void store_samples(uint8_t *to, vec value, unsigned depth) {
    if (depth == 8)
        store_bytes(to, value);
    else
        store_words(to, value);
}

/* Makes GROUP vectors of samples (for 16 bit half as many); RING points at the first sample. */
INLINE void down_group(const struct resample_layout *layout, const uint8_t *ring, uint32_t first,
                       uint32_t y, uint8_t *out, unsigned group, unsigned depth) {
    const uint32_t count = layout->y.windows[y].count, left = layout->ring_cells - first;
    const uint32_t before = count < left ? count : left;
    const int32_t *words = layout->y.weights + y * layout->y.pitch;
    const size_t step = layout->ring_step, apart = depth == 8 ? CELL : step / 2;
    struct sums sums[GROUP];
#pragma GCC unroll 4
    for (unsigned g = 0; g < group; g++) sums[g] = sums_zero();
    sum_cells(sums, ring + first * step, apart, step, words, before, group);
    sum_cells(sums, ring, apart, step, words + before * WORDS, count - before, group);
    if (depth == 16) {
        store_words(out, result16(&sums[0], &sums[1]));
        return;
    }
#pragma GCC unroll 4
    for (unsigned g = 0; g < group; g++) store_bytes(out + g * LANES, result8(&sums[g]));
}

/* Copies LANES samples of one row. */
INLINE void pick(const struct resample_layout *layout, const uint8_t *ring, uint32_t first,
                 uint32_t row, uint8_t *out, unsigned depth) {
    const uint8_t *from = ring + first * layout->ring_step;
    const __m128i shift = _mm_cvtsi32_si128((int)(32 / TAPS * row));
    const vec byte = V(set1_epi32)(255);
    vec value = V(and_si)(V(srl_epi32)(load(from), shift), byte);
    if (depth == 16) {
        const vec high = V(and_si)(V(srl_epi32)(load(from + layout->ring_step / 2), shift), byte);
        value = either(value, V(slli_epi32)(high, 8));
    }
    store_samples(out, value, depth);
}

INLINE void down(const struct resample_layout *layout, const uint8_t *ring, uint32_t first,
                 uint32_t row, uint32_t y, uint8_t *out, unsigned depth) {
    const size_t samples = layout->samples;
    size_t i = 0;
    if (layout->y.windows && depth == 8)
        for (; i + GROUP * LANES <= samples; i += GROUP * LANES)
            down_group(layout, ring + 4 * i, first, y, out + i, GROUP, 8);
    for (; i < samples; i += LANES) {
        uint8_t last[2 * LANES], *to = out + i * (depth / 8);
        const bool whole = i + LANES <= samples;
        if (!layout->y.windows)
            pick(layout, ring + 4 * i, first, row, whole ? to : last, depth);
        else
            down_group(layout, ring + 4 * i, first, y, whole ? to : last, depth / 8, depth);
        if (!whole) memcpy(to, last, (samples - i) * (depth / 8));
    }
}

WAY static void down_blocks(const struct resample_layout *layout, const uint8_t *ring,
                            uint32_t first, uint32_t row, uint32_t y, uint8_t *out) {
    if (depth_of(layout) == 8)
        down(layout, ring, first, row, y, out, 8);
    else
        down(layout, ring, first, row, y, out, 16);
}

#endif
