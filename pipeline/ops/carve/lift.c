// SPDX-License-Identifier: Apache-2.0
/* A seam moves by one row a column at most, so a tile of columns is cut by few rows: those are
 * chosen pixel by pixel, and all below moves as a whole. */
#include "pipeline/ops/carve/lift.h"

#include <string.h>

enum { TILE = 256 };

#define LIFT_ROW(type)                                                                             \
    static void lift_row_##type(type *row, const type *next, const uint16_t *seam, uint32_t y,     \
                                uint32_t count) {                                                  \
        for (uint32_t x = 0; x < count; x++) row[x] = seam[x] <= y ? next[x] : row[x];             \
    }
LIFT_ROW(uint8_t)
LIFT_ROW(uint16_t)
LIFT_ROW(uint32_t)

static void lift_row(void *row, const void *next, size_t element, const uint16_t *seam, uint32_t y,
                     uint32_t count) {
    switch (element) {
    case 1: lift_row_uint8_t(row, next, seam, y, count); break;
    case 2: lift_row_uint16_t(row, next, seam, y, count); break;
    default: lift_row_uint32_t(row, next, seam, y, count); break;
    }
}

static void lift_tile(uint8_t *tile, size_t element, size_t pitch, uint32_t height,
                      const uint16_t *seam, uint32_t count) {
    uint32_t least = seam[0], most = seam[0];
    for (uint32_t x = 1; x < count; x++) {
        least = seam[x] < least ? seam[x] : least;
        most = seam[x] > most ? seam[x] : most;
    }
    for (uint32_t y = least; y + 1 < height; y++) {
        uint8_t *row = tile + y * pitch;
        if (y < most)
            lift_row(row, row + pitch, element, seam, y, count);
        else
            memcpy(row, row + pitch, count * element);
    }
}

void lift(void *plane, size_t element, size_t stride, uint32_t height, const uint16_t *seam,
          uint32_t first, uint32_t end) {
    for (uint32_t x = first; x < end; x += TILE)
        lift_tile((uint8_t *)plane + x * element, element, stride * element, height, seam + x,
                  end - x < TILE ? end - x : TILE);
}
