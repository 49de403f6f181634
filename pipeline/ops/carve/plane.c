// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/carve/plane.h"

#include "pipeline/ops/carve.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

enum { ALIGN = 64, LUMA_MARGIN = 32, TILE = 32 };

static size_t rounded(size_t count, size_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

void *carve_take(struct carve_arena *arena, size_t bytes) {
    void *piece = arena->base ? arena->base + arena->used : NULL;
    arena->used += rounded(bytes, ALIGN);
    return piece;
}

/* A row of WIDTH elements with a margin in front and slack behind. */
static void *take_line(struct carve_arena *arena, uint32_t width, size_t element) {
    uint8_t *line = carve_take(arena, (SWEEP_MARGIN + (size_t)width + SWEEP_SLACK) * element);
    return line ? line + SWEEP_MARGIN * element : NULL;
}

/* Are energies kept in a plane, not made row by row? */
static bool is_stored(const struct carve_plane *plane) {
    return plane->masked || plane->energy_kind != CARVE_GRADIENT || !simd_has_avx2();
}

/* From row to row. Rows of narrow planes share their margins, which would else be most of them. */
static size_t stride_of(uint32_t width) {
    if (width < PLANE_NARROW) return width + (size_t)2 * ENERGY_MARGIN;
    return rounded(LUMA_MARGIN + (size_t)width + ENERGY_MARGIN, LUMA_MARGIN);
}

static size_t cells_of(const struct carve_plane *plane, uint32_t height) {
    return plane->stride * height + ENERGY_SLACK;
}

void plane_lay(struct carve_plane *plane, struct carve_arena *arena, uint32_t width,
               uint32_t height, bool with_ids) {
    const enum lanes widest = plane->masked ? LANES_64 : LANES_32;
    plane->stride = stride_of(width);
    plane->words = (width + 31) / 32;
    const size_t cells = cells_of(plane, height);
    uint8_t *luma = carve_take(arena, LUMA_MARGIN + cells);
    plane->luma = luma ? luma + LUMA_MARGIN : NULL;
    plane->ids = with_ids ? carve_take(arena, cells * sizeof *plane->ids) : NULL;
    plane->parents = carve_take(arena, plane->words * height * sizeof *plane->parents);
    for (int half = 0; half < HALVES; half++) {
        for (int row = 0; row < 2; row++)
            plane->costs[half][row] = take_line(arena, width, lane_bytes(widest));
        plane->line[half] =
            is_stored(plane) ? NULL : take_line(arena, width, sizeof *plane->line[half]);
    }
}

void plane_lay_energy(struct carve_plane *plane, struct carve_arena *arena, uint32_t height) {
    if (is_stored(plane))
        plane->energy = carve_take(arena, cells_of(plane, height) * sizeof *plane->energy);
}

void plane_begin(struct carve_plane *plane, uint32_t width, uint32_t height) {
    plane->width = width;
    plane->height = height;
    plane->open = false;
    plane->lanes = plane->masked ? LANES_64 : LANES_16;
}

/* ---- luma */

/* COUNT pixels from FIRST on. */
static inline void luma_run(const uint8_t *row, size_t first, uint32_t count, uint8_t *out,
                            unsigned channels, unsigned depth) {
    for (uint32_t i = 0; i < count; i++) {
        const size_t at = (first + i) * channels;
        const uint32_t red = sample_get(row, at, depth);
        out[i] = channels < 3 ? (uint8_t)(red >> (depth - 8))
                              : carve_luma(red, sample_get(row, at + 1, depth),
                                           sample_get(row, at + 2, depth), depth);
    }
}

static void luma_of(const struct image *image, uint32_t y, uint32_t first, uint32_t count,
                    uint8_t *out) {
    const uint8_t *row = image_row(image, y);
    SPECIALISE(image->channels, image->depth, luma_run, row, first, count, out);
}

/* Image columns FIRST to END - 1, at most TILE, as rows. */
static void turn_luma(const struct carve_plane *plane, const struct image *image, uint32_t first,
                      uint32_t end) {
    uint8_t tile[TILE][TILE];
    for (uint32_t top = 0; top < image->height; top += TILE) {
        const uint32_t rows = image->height - top < TILE ? image->height - top : TILE;
        for (uint32_t y = 0; y < rows; y++) luma_of(image, top + y, first, end - first, tile[y]);
        for (uint32_t x = first; x < end; x++)
            for (uint32_t y = 0; y < rows; y++) plane_luma(plane, x)[top + y] = tile[y][x - first];
    }
}

void plane_luma_band(const struct carve_plane *plane, const struct image *image, uint32_t first,
                     uint32_t end) {
    for (uint32_t x = first; plane->turned && x < end; x += TILE)
        turn_luma(plane, image, x, end - x < TILE ? end : x + TILE);
    for (uint32_t y = first; y < end; y++) {
        if (!plane->turned) luma_of(image, y, 0, image->width, plane_luma(plane, y));
        plane_pad_left(plane_luma(plane, y));
        plane_pad_right(plane_luma(plane, y), plane->width);
    }
}

/* ---- energies */

static void rows_around(const struct carve_plane *plane, uint32_t y, uint32_t x,
                        const uint8_t *rows[5]) {
    for (uint32_t i = 0; i < 5; i++) {
        const uint32_t above = y + i < 2 ? 0 : y + i - 2;
        const uint32_t row = above < plane->height ? above : plane->height - 1;
        rows[i] = plane_luma(plane, row) + x;
    }
}

void plane_run(const struct carve_plane *plane, uint32_t y, uint32_t first, uint32_t count,
               uint16_t energies[PLANE_RUN + ENERGY_SLACK]) {
    const uint8_t *rows[5];
    rows_around(plane, y, first, rows);
    energy_run(plane->energy_kind, rows, count, energies);
}

void plane_energies(const struct carve_plane *plane, uint32_t y, uint32_t first, uint32_t end) {
    uint16_t fresh[PLANE_RUN + ENERGY_SLACK];
    uint16_t *row = plane_energy(plane, y);
    for (uint32_t x = first; x < end; x += PLANE_RUN) {
        const uint32_t count = end - x < PLANE_RUN ? end - x : PLANE_RUN;
        plane_run(plane, y, x, count, fresh);
        for (uint32_t i = 0; i < count; i++)
            row[x + i] = (uint16_t)((row[x + i] & ~(unsigned)ENERGY_BITS) | fresh[i]);
    }
}

const uint16_t *plane_row(const struct carve_plane *plane, uint32_t y, int half) {
    if (plane->energy) return plane_energy(plane, y);
    const uint8_t *rows[5];
    rows_around(plane, y, 0, rows);
    energy_run(plane->energy_kind, rows, plane->width, plane->line[half]);
    return plane->line[half];
}
