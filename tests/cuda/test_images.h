// SPDX-License-Identifier: Apache-2.0
/* test_images.h - contents and row padding of the images that twins are tested with.
 *
 * Used by:  twin_batch.h, ops/carve_widths.c, user_chains.c.
 */
#ifndef BURIN_TESTS_CUDA_TEST_IMAGES_H
#define BURIN_TESTS_CUDA_TEST_IMAGES_H

#include "pipeline/image.h"
#include "tests/noise.h"

#include <string.h>

enum content { NOISE, GRADIENT, CONSTANT, CONTENTS };
enum padding { NONE, ODD, WIDE, PADDINGS };

static inline uint32_t next_random(uint32_t *state) {
    noise_next(state);
    return *state >> 8;
}

static inline void fill(const struct image *image, enum content content, uint32_t seed) {
    const size_t samples = (size_t)image->width * image->channels;
    for (uint32_t y = 0; y < image->height; y++) {
        for (size_t i = 0; i < samples; i++) {
            uint32_t sample = content == NOISE ? next_random(&seed)
                              : content == GRADIENT
                                  ? (uint32_t)(i * 40 / samples + y) * (image->depth == 8 ? 1 : 211)
                                  : 77 + (uint32_t)(i % image->channels);
            if (content == NOISE && seed % 16 == 0) sample = 0; /* black in noise too */
            const uint16_t wide = (uint16_t)sample;
            if (image->depth == 8)
                image_row(image, y)[i] = (uint8_t)sample;
            else
                memcpy(image_row(image, y) + 2 * i, &wide, 2);
        }
    }
}

static inline size_t padded(const struct image *image, enum padding padding) {
    const size_t row = image_row_bytes(image);
    return padding == NONE ? image->stride : padding == WIDE ? image->stride + 48 : row + 6;
}

#endif
