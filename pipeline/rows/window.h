// SPDX-License-Identifier: Apache-2.0
/* window.h - the rows under a square window that moves down an image, their borders continued.
 *
 * A ring holds the 2 * reach + 1 rows that the window covers. The user of the ring writes each row
 * of the image once; window_pad adds `reach` copies of its first and last pixel. The rows above and
 * below the image are the first and the last one.
 *
 * Used by:  ops/edge.c, ops/convolve.c, ops/median.c.
 * Owns:     nothing; the memory, of window_bytes bytes, is the caller's.
 * Threads:  a window belongs to one.
 * Limits:   WINDOW_REACH_MAX.
 */
#ifndef BURIN_WINDOW_H
#define BURIN_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WINDOW_REACH_MAX = 2, WINDOW_TAPS_MAX = 2 * WINDOW_REACH_MAX + 1 };

struct window {
    uint8_t *memory;
    size_t row_bytes, pixel_bytes;
    uint32_t width, height; /* of the image, pixels */
    uint32_t reach;         /* 1: 3x3, 2: 5x5 */
};

static inline size_t window_row_bytes(uint32_t width, size_t pixel_bytes) {
    return ((width + 2 * (size_t)WINDOW_REACH_MAX) * pixel_bytes + 63) / 64 * 64;
}

static inline size_t window_bytes(uint32_t width, size_t pixel_bytes) {
    return WINDOW_TAPS_MAX * window_row_bytes(width, pixel_bytes);
}

static inline struct window window_make(void *memory, uint32_t width, uint32_t height,
                                        size_t pixel_bytes, uint32_t reach) {
    return (struct window){
        (uint8_t *)memory, window_row_bytes(width, pixel_bytes), pixel_bytes, width, height, reach
    };
}

/* Returns pixel 0 of row Y, or of the nearest row of the image. */
static inline uint8_t *window_row(const struct window *window, int64_t y) {
    const int64_t last = (int64_t)window->height - 1, there = y < 0 ? 0 : y > last ? last : y;
    const size_t slot = (size_t)there % (2 * window->reach + 1);
    return window->memory + slot * window->row_bytes + WINDOW_REACH_MAX * window->pixel_bytes;
}

/* Pads row Y; call it after the row's pixels are written. */
static inline void window_pad(const struct window *window, int64_t y) {
    const size_t size = window->pixel_bytes;
    uint8_t *first = window_row(window, y), *last = first + (window->width - 1) * size;
    for (size_t i = 1; i <= window->reach; i++) {
        memcpy(first - i * size, first, size);
        memcpy(last + i * size, last, size);
    }
}

#endif
