// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/common/flatten.h"

#include "pipeline/background.h"

unsigned flatten_colours(const struct image *image, const uint8_t background[3]) {
    const bool gray = background[0] == background[1] && background[1] == background[2];
    return image->channels == 2 && !gray ? 3 : image_colours(image);
}

/* background_lay() of 16 bits, over 257 at once: the divisor is odd too. */
static inline uint32_t lay_cut(uint32_t colour, uint32_t alpha, uint32_t under) {
    const uint64_t sum = (uint64_t)colour * alpha + (uint64_t)under * (65535 - alpha);
    const uint64_t divisor = UINT64_C(65535) * 257;
    return (uint32_t)((sum + divisor / 2) / divisor);
}

static void flatten_8(const struct image *image, const uint8_t *from, unsigned colours,
                      const uint8_t background[3], uint8_t *to) {
    const unsigned channels = image->channels, gray = image_colours(image) == 1;
    for (uint32_t x = 0; x < image->width; x++, from += channels)
        for (unsigned c = 0; c < colours; c++)
            *to++ =
                (uint8_t)background_lay(from[gray ? 0 : c], from[channels - 1], background[c], 8);
}

static void flatten_16(const struct image *image, const uint16_t *from, unsigned colours,
                       const uint8_t background[3], uint16_t *to) {
    const unsigned channels = image->channels, gray = image_colours(image) == 1;
    for (uint32_t x = 0; x < image->width; x++, from += channels)
        for (unsigned c = 0; c < colours; c++)
            *to++ = (uint16_t)background_lay(from[gray ? 0 : c], from[channels - 1],
                                             background[c] * 257u, 16);
}

static void flatten_16_to_8(const struct image *image, const uint16_t *from, unsigned colours,
                            const uint8_t background[3], uint8_t *to) {
    const unsigned channels = image->channels, gray = image_colours(image) == 1;
    for (uint32_t x = 0; x < image->width; x++, from += channels)
        for (unsigned c = 0; c < colours; c++)
            *to++ = (uint8_t)lay_cut(from[gray ? 0 : c], from[channels - 1], background[c] * 257u);
}

static void cut_depth(const struct image *image, const uint16_t *from, uint8_t *to) {
    for (size_t i = 0; i < (size_t)image->width * image->channels; i++)
        to[i] = (uint8_t)((from[i] + 128u) / 257u);
}

const uint8_t *flatten_row(const struct image *image, uint32_t y, unsigned colours, unsigned depth,
                           const uint8_t background[3], uint8_t *row) {
    const uint8_t *from = image_row(image, y);
    const bool cut = depth != image->depth;
    if (!image_has_alpha(image)) {
        if (!cut) return from;
        cut_depth(image, (const uint16_t *)(const void *)from, row);
    } else if (cut) {
        flatten_16_to_8(image, (const uint16_t *)(const void *)from, colours, background, row);
    } else if (depth == 16) {
        flatten_16(image, (const uint16_t *)(const void *)from, colours, background,
                   (uint16_t *)(void *)row);
    } else {
        flatten_8(image, from, colours, background, row);
    }
    return row;
}
