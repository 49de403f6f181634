// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/common/argb_row.h"

static uint32_t word_of(const struct image *image, const uint32_t sample[4]) {
    const bool gray = image_colours(image) == 1;
    const uint32_t alpha = image_has_alpha(image) ? sample[image->channels - 1] : 255;
    const uint32_t green = sample[gray ? 0 : 1], blue = sample[gray ? 0 : 2];
    return alpha << 24 | sample[0] << 16 | green << 8 | blue;
}

void argb_row(const struct image *image, uint32_t y, uint32_t *words) {
    const uint8_t *from = image_row(image, y);
    const uint16_t *wide = (const uint16_t *)(const void *)from;
    const unsigned channels = image->channels;
    for (uint32_t x = 0; x < image->width; x++) {
        uint32_t sample[4] = { 0 };
        for (unsigned c = 0; c < channels; c++)
            sample[c] =
                image->depth == 8 ? from[x * channels + c] : (wide[x * channels + c] + 128u) / 257u;
        words[x] = word_of(image, sample);
    }
}
