// SPDX-License-Identifier: Apache-2.0
/* resample_planes.h - splits rows of pixels into planes, for the vectors that include it.
 *
 * A vector of a plane holds one byte of TAPS neighbours of each of LANES rows: resample_blocks.h
 * says why.
 *
 * Used by:  resample_blocks.h, which lists the definitions that must come first.
 * Threads:  any; no state.
 */
#ifndef BURIN_RESAMPLE_PLANES_H
#define BURIN_RESAMPLE_PLANES_H

#include <string.h>

enum { CELL = 4 * LANES, /* bytes */ AHEAD = 512 };

#define INLINE static inline __attribute__((always_inline)) WAY

static size_t rounded(size_t count, size_t step) {
    return (count + step - 1) / step * step;
}

static unsigned depth_of(const struct resample_layout *layout) {
    return layout->job->depth;
}

static size_t plane_bytes(const struct resample_layout *layout) {
    return rounded(layout->columns.count, 16) / TAPS * CELL;
}

/* ---- PIXEL, its bytes, 1 to 4, 6 or 8, is a compile-time constant */

/* The sources of the bytes of four lanes: one of two loads of 16 bytes, SECOND bytes apart. */
struct picks {
    uint8_t first[16], second[16];
};

INLINE unsigned second_of(unsigned pixel) {
    return pixel == 6 ? 8 : pixel == 8 ? 16 : 0;
}

INLINE unsigned step_pixels(unsigned pixel) {
    return pixel == 1 ? 16 : pixel == 2 ? 8 : 4;
}

/* Returns the vectors that a step makes; each row has four lanes of them. */
INLINE unsigned step_vectors(unsigned pixel) {
    return 4 / TAPS * (pixel > 4 ? 2 : 1);
}

/* Returns the cell of lane W of vector V; pixels of 3 bytes have none for the last lane. Pixels of
 * more than 4 bytes have their low bytes in one vector and the high ones in the next. */
INLINE unsigned cell_of(unsigned pixel, unsigned v, unsigned w) {
    return pixel < 3 ? (4 * v + w) / pixel : pixel > 4 ? v / 2 : v;
}

INLINE unsigned plane_of(unsigned pixel, unsigned v, unsigned w) {
    return pixel < 3 ? w % pixel : pixel > 4 ? 2 * w + v % 2 : w;
}

INLINE struct picks picks_make(unsigned pixel, unsigned v) {
    struct picks picks;
    for (unsigned i = 0; i < 16; i++) {
        const unsigned w = i / 4, plane = plane_of(pixel, v, w);
        const unsigned neighbour = cell_of(pixel, v, w) * TAPS + i % 4 / (4 / TAPS);
        const unsigned from = neighbour * pixel + plane;
        const bool none = plane >= pixel || i % (4 / TAPS), second = from >= 16;
        picks.first[i] = none || second ? 0x80 : (uint8_t)from;
        picks.second[i] = none || !second ? 0x80 : (uint8_t)(from - second_of(pixel));
    }
    return picks;
}

/* Transposes: lane w of four rows' vectors becomes cell w. */
INLINE void turn(const vec rows[4], vec cells[4]) {
    const vec ab = V(unpacklo_epi32)(rows[0], rows[1]), cd = V(unpacklo_epi32)(rows[2], rows[3]);
    const vec ab2 = V(unpackhi_epi32)(rows[0], rows[1]), cd2 = V(unpackhi_epi32)(rows[2], rows[3]);
    cells[0] = V(unpacklo_epi64)(ab, cd);
    cells[1] = V(unpackhi_epi64)(ab, cd);
    cells[2] = V(unpacklo_epi64)(ab2, cd2);
    cells[3] = V(unpackhi_epi64)(ab2, cd2);
}

/* Splits the pixels of one step, from byte AT of the rows on. Vector g has rows g, g + 4, ... */
INLINE void part_step(const uint8_t *const rows[], size_t at, const struct picks *picks,
                      uint8_t *to, size_t plane, unsigned pixel) {
    vec first[4], second[4], picked[4];
#pragma GCC unroll 4
    for (unsigned g = 0; g < 4; g++) {
        first[g] = every_fourth(rows + g, at);
        second[g] = pixel > 4 ? every_fourth(rows + g, at + second_of(pixel)) : first[g];
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < step_vectors(pixel); v++) {
        vec cells[4];
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            picked[i] = V(shuffle_epi8)(first[i], in_all(picks[v].first));
            if (pixel > 4)
                picked[i] = either(picked[i], V(shuffle_epi8)(second[i], in_all(picks[v].second)));
        }
        turn(picked, cells);
#pragma GCC unroll 4
        for (unsigned w = 0; w < 4; w++)
            if (w < 3 || pixel % 3)
                store(to + plane_of(pixel, v, w) * plane + cell_of(pixel, v, w) * CELL, cells[w]);
    }
}

/* Returns the bytes a plane grows by in one step. */
INLINE unsigned step_bytes(unsigned pixel) {
    return step_pixels(pixel) / TAPS * CELL;
}

/* Splits the last pixels, which are fewer than a step loads. */
INLINE void part_rest(const uint8_t *const rows[], size_t at, size_t bytes,
                      const struct picks *picks, uint8_t *to, size_t plane, unsigned pixel) {
    uint8_t rest[LANES][64] = { { 0 } };
    const uint8_t *starts[LANES];
    for (unsigned i = 0; i < LANES; i++) {
        memcpy(rest[i], rows[i] + at, bytes - at);
        starts[i] = rest[i];
    }
    for (size_t done = 0; done < bytes - at; done += step_pixels(pixel) * pixel) {
        part_step(starts, done, picks, to, plane, pixel);
        to += step_bytes(pixel);
    }
}

/* The hardware does not follow LANES streams by itself: 4K to 320 took 5.3 ms without this. */
INLINE void ask_for(const uint8_t *const rows[], size_t at) {
#pragma GCC unroll 16
    for (unsigned i = 0; i < LANES; i++)
        __builtin_prefetch((const void *)((uintptr_t)rows[i] + at));
}

INLINE void part(const struct resample_layout *layout, const uint8_t *const rows[], uint8_t *to,
                 unsigned pixel) {
    struct picks picks[4];
    const size_t bytes = (size_t)layout->columns.count * pixel, plane = plane_bytes(layout);
    const size_t reach = 16 + second_of(pixel);
    size_t at = 0;
    for (unsigned v = 0; v < step_vectors(pixel); v++) picks[v] = picks_make(pixel, v);
    for (size_t asked = 0; at + reach <= bytes; at += step_pixels(pixel) * pixel) {
        for (; asked <= at; asked += 64) ask_for(rows, asked + AHEAD);
        part_step(rows, at, picks, to, plane, pixel);
        to += step_bytes(pixel);
    }
    if (at < bytes) part_rest(rows, at, bytes, picks, to, plane, pixel);
}

WAY static void part_rows(const struct resample_layout *layout, const uint8_t *const rows[],
                          uint8_t *to) {
    const unsigned pixel = layout->job->in.channels * (depth_of(layout) / 8);
    switch (pixel) {
    case 1: part(layout, rows, to, 1); break;
    case 2: part(layout, rows, to, 2); break;
    case 3: part(layout, rows, to, 3); break;
    case 4: part(layout, rows, to, 4); break;
    case 6: part(layout, rows, to, 6); break;
    default: part(layout, rows, to, 8); break;
    }
}

#endif
