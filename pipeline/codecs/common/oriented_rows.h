// SPDX-License-Identifier: Apache-2.0
/* oriented_rows.h - where a decoder puts its rows, with the EXIF orientation applied on the way.
 *
 * Used by:  decoders, that bring stored rows in order from the top.
 * Owns:     a band of rows where they cannot be decoded in place; oriented_rows_release frees it.
 * Limits:   the band costs oriented_rows_memory() bytes, for the caller to weigh first.
 */
#ifndef BURIN_ORIENTED_ROWS_H
#define BURIN_ORIENTED_ROWS_H

#include "pipeline/image.h"

struct oriented_rows {
    uint8_t *origin;          /* where stored pixel (0, 0) goes */
    ptrdiff_t step_x, step_y; /* bytes from there to the next stored pixel, the next stored row */
    struct image band;        /* stored rows before they are laid out; no pixels: in place */
    uint32_t height;          /* stored rows in all */
};

/* Lays out INTO, of the oriented shape, for WIDTH x HEIGHT stored pixels; nothing is allocated yet.
 */
void oriented_rows_plan(struct oriented_rows *rows, const struct image *into, uint8_t orientation,
                        uint32_t width, uint32_t height);

/* Whether stored rows are rows of the result, so that they are decoded in place. */
bool oriented_rows_in_place(const struct oriented_rows *rows);

/* Has a band of BAND_ROWS rows (or all, if fewer) unless rows go in place; oriented_rows_memory
 * bytes. */
size_t oriented_rows_memory(const struct oriented_rows *rows, uint32_t band_rows);
bool oriented_rows_init(struct oriented_rows *rows, uint32_t band_rows);
void oriented_rows_release(struct oriented_rows *rows);

/* Memory for stored row Y, a whole row; it is the result's once oriented_rows_end(Y) returned. A
 * band holds rows [k * band, (k + 1) * band), so Y may wander within one, and oriented_rows_end on
 * its last row lays it out. */
uint8_t *oriented_rows_begin(struct oriented_rows *rows, uint32_t y);
void oriented_rows_end(struct oriented_rows *rows, uint32_t y);

/* Where no row after the first DONE will come: lays out those of them that still wait in the band.
 */
void oriented_rows_flush(struct oriented_rows *rows, uint32_t done);

#endif
