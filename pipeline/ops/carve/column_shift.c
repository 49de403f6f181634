// SPDX-License-Identifier: Apache-2.0
/* How it works. A seam moves by at most one row a column, so it crosses a tile of columns in few
 * rows. Those rows are chosen pixel by pixel; all rows below move up as a whole. */
#include "pipeline/ops/carve/column_shift.h"

#include <string.h>

enum { TILE = 256 };

#define SHIFT_ROW(type)                                                                            \
    static void shift_row_##type(type *row, const type *next, const uint16_t *seam, uint32_t y,    \
                                 uint32_t count) {                                                 \
        for (uint32_t x = 0; x < count; x++) row[x] = seam[x] <= y ? next[x] : row[x];             \
    }
SHIFT_ROW(uint8_t)
SHIFT_ROW(uint16_t)
SHIFT_ROW(uint32_t)

static void shift_row(void *row, const void *next, size_t element, const uint16_t *seam, uint32_t y,
                      uint32_t count) {
    switch (element) {
    case 1: shift_row_uint8_t(row, next, seam, y, count); break;
    case 2: shift_row_uint16_t(row, next, seam, y, count); break;
    default: shift_row_uint32_t(row, next, seam, y, count); break;
    }
}

static void shift_tile(uint8_t *tile, size_t element, size_t pitch, uint32_t height,
                       const uint16_t *seam, uint32_t count) {
    uint32_t least = seam[0], most = seam[0];
    for (uint32_t x = 1; x < count; x++) {
        least = seam[x] < least ? seam[x] : least;
        most = seam[x] > most ? seam[x] : most;
    }
    for (uint32_t y = least; y + 1 < height; y++) {
        uint8_t *row = tile + y * pitch;
        if (y < most)
            shift_row(row, row + pitch, element, seam, y, count);
        else
            memcpy(row, row + pitch, count * element);
    }
}

void column_shift_up(void *map, size_t element, size_t stride, uint32_t height,
                     const uint16_t *seam, uint32_t first, uint32_t end) {
    for (uint32_t x = first; x < end; x += TILE)
        shift_tile((uint8_t *)map + x * element, element, stride * element, height, seam + x,
                   end - x < TILE ? end - x : TILE);
}
