// SPDX-License-Identifier: Apache-2.0
/* How it works. Each of the eight orientations sends stored pixel (x, y) to origin + x * step_x +
 * y * step_y. Where step_x is one pixel, rows stay rows; else they are gathered in a band and
 * scattered from there. */
#include "pipeline/codecs/common/oriented_rows.h"

#include <stdlib.h>
#include <string.h>

void oriented_rows_plan(struct oriented_rows *rows, const struct image *into, uint8_t orientation,
                        uint32_t width, uint32_t height) {
    const ptrdiff_t pixel = (ptrdiff_t)image_pixel_bytes(into), line = (ptrdiff_t)into->stride;
    const bool swapped = orientation >= 5; /* 5..8: stored columns become rows */
    const bool backward_x =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool backward_y =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    rows->step_x = swapped ? line : pixel;
    rows->step_y = swapped ? pixel : line;
    rows->origin = into->pixels;
    if (backward_x) {
        rows->origin += (ptrdiff_t)(width - 1) * rows->step_x;
        rows->step_x = -rows->step_x;
    }
    if (backward_y) {
        rows->origin += (ptrdiff_t)(height - 1) * rows->step_y;
        rows->step_y = -rows->step_y;
    }
    rows->band = image_shape(width, 0, into->channels, into->depth);
    rows->height = height;
}

/* Stored rows are rows of the result, so they are decoded in place. */
static bool is_in_place(const struct oriented_rows *rows) {
    return rows->step_x == (ptrdiff_t)image_pixel_bytes(&rows->band);
}

size_t oriented_rows_memory(const struct oriented_rows *rows, uint32_t band_rows) {
    if (is_in_place(rows)) return 0;
    return rows->band.stride * (band_rows < rows->height ? band_rows : rows->height);
}

bool oriented_rows_init(struct oriented_rows *rows, uint32_t band_rows) {
    if (is_in_place(rows)) return true;
    rows->band.height = band_rows < rows->height ? band_rows : rows->height;
    rows->band.pixels = calloc(1, image_bytes(&rows->band)); /* rows may never come */
    return rows->band.pixels != NULL;
}

void oriented_rows_release(struct oriented_rows *rows) {
    free(rows->band.pixels);
    rows->band.pixels = NULL;
}

uint8_t *oriented_rows_begin(struct oriented_rows *rows, uint32_t y) {
    if (rows->band.pixels) return image_row(&rows->band, y % rows->band.height);
    return rows->origin + (ptrdiff_t)y * rows->step_y;
}

/* Columns outside where they become rows: the writes then run along the result's rows. */
static inline void scatter(const struct oriented_rows *rows, uint32_t first, uint32_t count,
                           size_t pixel) {
    const bool swapped = rows->step_x != -(ptrdiff_t)pixel;
    const uint32_t outer_end = swapped ? rows->band.width : count;
    const uint32_t inner_end = swapped ? count : rows->band.width;
    for (uint32_t outer = 0; outer < outer_end; outer++) {
        for (uint32_t inner = 0; inner < inner_end; inner++) {
            const uint32_t x = swapped ? outer : inner, y = swapped ? inner : outer;
            memcpy(rows->origin + x * rows->step_x + (ptrdiff_t)(first + y) * rows->step_y,
                   image_row(&rows->band, y) + x * pixel, pixel);
        }
    }
}

/* COUNT rows of the band, whose first is stored row FIRST. */
static void lay_out(const struct oriented_rows *rows, uint32_t first, uint32_t count) {
    switch (image_pixel_bytes(&rows->band)) { /* constants, so that memcpy becomes a move */
    case 1: scatter(rows, first, count, 1); break;
    case 2: scatter(rows, first, count, 2); break;
    case 3: scatter(rows, first, count, 3); break;
    case 4: scatter(rows, first, count, 4); break;
    case 6: scatter(rows, first, count, 6); break;
    default: scatter(rows, first, count, 8); break;
    }
}

void oriented_rows_end(struct oriented_rows *rows, uint32_t y) {
    if (!rows->band.pixels) return;
    const uint32_t in_band = y % rows->band.height;
    if (in_band + 1 == rows->band.height || y + 1 == rows->height)
        lay_out(rows, y - in_band, in_band + 1);
}

void oriented_rows_flush(struct oriented_rows *rows, uint32_t done) {
    const uint32_t waiting = rows->band.pixels ? done % rows->band.height : 0;
    if (waiting) lay_out(rows, done - waiting, waiting);
}

void oriented_rows_put(const struct oriented_rows *rows, uint32_t first, uint32_t step, uint32_t y,
                       const uint8_t *pixels, uint32_t count) {
    const size_t pixel = image_pixel_bytes(&rows->band);
    uint8_t *to = rows->origin + first * rows->step_x + (ptrdiff_t)y * rows->step_y;
    for (uint32_t i = 0; i < count; i++)
        memcpy(to + (ptrdiff_t)i * step * rows->step_x, pixels + i * pixel, pixel);
}
