// SPDX-License-Identifier: Apache-2.0
#include "pipeline/image.h"

#include "pipeline/fnv1a.h"

struct image image_shape(uint32_t width, uint32_t height, unsigned channels, unsigned depth) {
    struct image shape = {
        .width = width,
        .height = height,
        .channels = (uint8_t)channels,
        .depth = (uint8_t)depth,
    };
    shape.stride =
        (image_row_bytes(&shape) + IMAGE_ROW_ALIGN - 1) / IMAGE_ROW_ALIGN * IMAGE_ROW_ALIGN;
    return shape;
}

bool image_same_shape(const struct image *a, const struct image *b) {
    return a->width == b->width && a->height == b->height && a->channels == b->channels &&
           a->depth == b->depth;
}

uint64_t image_digest(const struct image *image) {
    const uint32_t shape[4] = { image->width, image->height, image->channels, image->depth };
    uint64_t hash = fnv1a(FNV1A_START, shape, sizeof shape);
    for (uint32_t y = 0; y < image->height; y++)
        hash = fnv1a(hash, image_row(image, y), image_row_bytes(image));
    return hash;
}
