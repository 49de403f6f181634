// SPDX-License-Identifier: Apache-2.0
/* rows.h - where a decoder puts its rows, with the EXIF orientation applied on the way.
 *
 * Used by:  decoders, that bring stored rows in order from the top.
 * Owns:     a band of rows where they cannot be decoded in place; rows_release frees it.
 * Limits:   the band costs rows_memory() bytes, for the caller to weigh first.
 */
#ifndef BURIN_ROWS_H
#define BURIN_ROWS_H

#include "pipeline/image.h"

struct rows {
    uint8_t *origin;          /* where stored pixel (0, 0) goes */
    ptrdiff_t step_x, step_y; /* bytes from there to the next stored pixel, the next stored row */
    struct image band;        /* stored rows before they are laid out; no pixels: in place */
    uint32_t height;          /* stored rows in all */
};

/* Lays out INTO, of the oriented shape, for WIDTH x HEIGHT stored pixels; nothing is taken yet. */
void rows_plan(struct rows *rows, const struct image *into, uint8_t orientation, uint32_t width,
               uint32_t height);

/* Whether stored rows are rows of the result, so that they are decoded in place. */
bool rows_in_place(const struct rows *rows);

/* Has a band of BAND_ROWS rows (or all, if fewer) unless rows go in place; rows_memory bytes. */
size_t rows_memory(const struct rows *rows, uint32_t band_rows);
bool rows_init(struct rows *rows, uint32_t band_rows);
void rows_release(struct rows *rows);

/* Memory for stored row Y, a whole row; it is the result's once rows_end(Y) returned. A band holds
 * rows [k * band, (k + 1) * band), so Y may wander within one, and rows_end on its last row lays
 * it out. */
uint8_t *rows_begin(struct rows *rows, uint32_t y);
void rows_end(struct rows *rows, uint32_t y);

#endif
