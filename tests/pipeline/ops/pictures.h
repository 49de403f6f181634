// SPDX-License-Identifier: Apache-2.0
/* pictures.h - made images and awkward sizes, the same for every test. */
#ifndef BURIN_TESTS_OPS_PICTURES_H
#define BURIN_TESTS_OPS_PICTURES_H

#include "pipeline/image.h"
#include "pipeline/sample.h"
#include "tests/noise.h"

enum picture { PICTURE_NOISE, PICTURE_CONSTANT, PICTURE_GRADIENT, PICTURE_BLACK, PICTURES };

static const struct {
    uint32_t width, height;
} awkward_sizes[] = { { 1, 1 },    { 1, 17 },   { 19, 1 },  { 2, 2 },  { 13, 42 },
                      { 123, 66 }, { 4097, 3 }, { 3, 513 }, { 64, 64 } };
enum { AWKWARD_SIZES = sizeof awkward_sizes / sizeof *awkward_sizes };

/* Every sample of every row; alpha too. */
static inline void picture_draw(const struct image *image, enum picture picture, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1;
    const size_t samples = (size_t)image->width * image->channels;
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t i = 0; i < samples; i++) {
            noise_next(&state);
            const uint32_t gradient = (uint32_t)(i * 65535 / samples + y * 37) & 65535;
            const uint32_t sample = picture == PICTURE_NOISE      ? state >> 16
                                    : picture == PICTURE_CONSTANT ? 0x6437
                                    : picture == PICTURE_BLACK    ? 0
                                                                  : gradient;
            sample_put(image_row(image, y), i, image->depth,
                       image->depth == 8 ? sample >> 8 : sample);
        }
}

#endif
