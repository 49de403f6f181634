// SPDX-License-Identifier: Apache-2.0
/* image.h - a rectangle of samples in host or device memory.
 *
 * Channels are 1 gray, 2 gray + alpha, 3 RGB, 4 RGBA, interleaved. A sample has 8 or 16 bits, 16 in
 * the machine's own byte order. Rows start `stride` bytes apart, top row first; a stride is never
 * below width * channels * depth / 8. Bytes between rows are never written nor used.
 *
 * Used by:  everything that handles pixels.
 * Owns:     nothing; the code that allocated the memory frees it.
 * Limits:   IMAGE_SIDE_MAX pixels a side.
 */
#ifndef BURIN_IMAGE_H
#define BURIN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { IMAGE_SIDE_MAX = 65535, IMAGE_ROW_ALIGN = 16 };

struct image {
    uint8_t *pixels;
    size_t stride; /* bytes */
    uint32_t width, height;
    uint8_t channels; /* 1..4 */
    uint8_t depth;    /* 8 or 16 */
};

static inline size_t image_pixel_bytes(const struct image *image) {
    return (size_t)image->channels * (image->depth / 8u);
}

static inline size_t image_row_bytes(const struct image *image) {
    return image->width * image_pixel_bytes(image);
}

/* Bytes of memory, the padding of the last row included. */
static inline size_t image_bytes(const struct image *image) {
    return image->stride * image->height;
}

static inline uint64_t image_pixels(const struct image *image) {
    return (uint64_t)image->width * image->height;
}

static inline uint8_t *image_row(const struct image *image, uint32_t y) {
    return image->pixels + (size_t)y * image->stride;
}

/* Largest sample value: 255 or 65535. */
static inline uint32_t image_max(const struct image *image) {
    return image->depth == 16 ? 65535u : 255u;
}

static inline bool image_has_alpha(const struct image *image) {
    return image->channels == 2 || image->channels == 4;
}

static inline unsigned image_colours(const struct image *image) {
    return image->channels < 3 ? 1 : 3;
}

/* Returns a shape without memory; rows are padded to IMAGE_ROW_ALIGN bytes so that vector loads may
 * start at any row. */
struct image image_shape(uint32_t width, uint32_t height, unsigned channels, unsigned depth);

bool image_same_shape(const struct image *a, const struct image *b);

/* FNV-1a, 64 bit, of the shape and the samples of every row without padding: equal digests on two
 * devices mean equal pictures. */
uint64_t image_digest(const struct image *image);

#ifdef __cplusplus
}
#endif
#endif
