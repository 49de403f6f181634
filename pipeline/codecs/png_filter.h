// SPDX-License-Identifier: Apache-2.0
/* png_filter.h - the five filters of PNG, and which of them suits a row.
 *
 * Rows stand in buffers made for it: FILTER_BEFORE zero bytes in front and zeros up to a multiple
 * of FILTER_BLOCK behind, so that one loop of fixed blocks serves edges and all.
 *
 * Used by:  png_encoder.c.
 * Threads:  any.
 * Source:   W3C PNG, section 9; the choice by least sum of differences, 12.8.
 */
#ifndef BURIN_PNG_FILTER_H
#define BURIN_PNG_FILTER_H

#include <stddef.h>
#include <stdint.h>

enum filter { FILTER_NONE, FILTER_SUB, FILTER_UP, FILTER_AVERAGE, FILTER_PAETH, FILTER_COUNT };

enum { FILTER_BLOCK = 64, FILTER_BEFORE = 64 };

static inline size_t filter_padded(size_t length) {
    return (length + FILTER_BLOCK - 1) / FILTER_BLOCK * FILTER_BLOCK;
}

/* The filter of least expected size: least sum of absolute differences over a quarter of the row.
 * PIXEL is the bytes of one, 1..8. */
enum filter filter_choose(const uint8_t *row, const uint8_t *above, size_t length, size_t pixel);

/* Writes filter_padded(LENGTH) bytes; those past LENGTH mean nothing. */
void filter_apply(enum filter filter, const uint8_t *row, const uint8_t *above, size_t length,
                  size_t pixel, uint8_t *out);

#endif
