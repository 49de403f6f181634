// SPDX-License-Identifier: Apache-2.0
/* oriented_rows.h - where a decoder puts its rows, with the EXIF orientation applied on the way.
 *
 * Used by:  decoders that deliver stored rows in order from the top, or pixels of them.
 * Owns:     a band of rows that cannot be decoded in place; the caller frees it by
 *           oriented_rows_release.
 * Threads:  one at a time.
 * Limits:   the band takes oriented_rows_memory() bytes, which the caller checks first.
 */
#ifndef BURIN_ORIENTED_ROWS_H
#define BURIN_ORIENTED_ROWS_H

#include "pipeline/image.h"

#ifdef __cplusplus
extern "C" {
#endif

struct oriented_rows {
    uint8_t *origin;          /* where stored pixel (0, 0) goes */
    ptrdiff_t step_x, step_y; /* bytes from there to the next stored pixel, the next stored row */
    struct image band;        /* stored rows before they are laid out; no pixels: in place */
    uint32_t height;          /* stored rows in all */
};

/* INTO has the oriented shape of WIDTH x HEIGHT stored pixels. Allocates nothing. */
void oriented_rows_plan(struct oriented_rows *rows, const struct image *into, uint8_t orientation,
                        uint32_t width, uint32_t height);

/* Allocates a band of BAND_ROWS rows (or all, if fewer), unless rows are decoded in place: it takes
 * oriented_rows_memory() bytes. false: no memory. */
size_t oriented_rows_memory(const struct oriented_rows *rows, uint32_t band_rows);
bool oriented_rows_init(struct oriented_rows *rows, uint32_t band_rows);
void oriented_rows_release(struct oriented_rows *rows);

/* Memory for the whole stored row Y, until oriented_rows_end(Y). A band holds rows [k * band,
 * (k + 1) * band): Y may go back within one, and oriented_rows_end on its last row copies the band
 * into the result. */
uint8_t *oriented_rows_begin(struct oriented_rows *rows, uint32_t y);
void oriented_rows_end(struct oriented_rows *rows, uint32_t y);

/* Lays COUNT pixels of stored row Y, at columns FIRST + i * STEP, into the result past the band. */
void oriented_rows_put(const struct oriented_rows *rows, uint32_t first, uint32_t step, uint32_t y,
                       const uint8_t *pixels, uint32_t count);

/* Copies the rest of the first DONE rows from the band; no further rows follow. */
void oriented_rows_flush(struct oriented_rows *rows, uint32_t done);

#ifdef __cplusplus
}
#endif
#endif
