// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/png/indexed.h"

#include <stdlib.h>

enum status png_indexed_make(struct png_indexed *indexed, const struct encoding *encoding) {
    const struct encode_options *options = encoding->options;
    const struct palette_wish wish = { .most = (unsigned)encode_colors(options),
                                       .dither = options->dither };
    *indexed = (struct png_indexed){ .bits = 0 };
    if (!wish.most) return STATUS_OK;
    indexed->indices = malloc((size_t)image_pixels(encoding->image));
    if (!indexed->indices)
        return fail(encoding->failure, STATUS_NO_MEMORY, "no memory for the pixels of the PNG");
    const enum status status = palette_choose(encoding, &wish, &indexed->palette, indexed->indices);
    const unsigned count = indexed->palette.count;
    indexed->bits = count > 16 ? 8 : count > 4 ? 4 : count > 2 ? 2 : 1;
    if (indexed->palette.cut) *encoding->notes |= NOTE_COLOURS_CUT;
    if (encoding->image->depth == 16) *encoding->notes |= NOTE_DEPTH_CUT;
    return status;
}

void png_indexed_release(struct png_indexed *indexed) {
    free(indexed->indices);
}

size_t png_indexed_colours(const struct png_indexed *indexed, uint8_t data[3 * PALETTE_MAX]) {
    for (unsigned i = 0; i < 3 * indexed->palette.count; i++)
        data[i] = (uint8_t)(indexed->palette.colours[i / 3] >> (16 - 8 * (i % 3)));
    return 3 * (size_t)indexed->palette.count;
}

size_t png_indexed_alphas(const struct png_indexed *indexed, uint8_t data[PALETTE_MAX]) {
    size_t length = 0;
    for (; length < indexed->palette.count; length++) {
        data[length] = (uint8_t)(indexed->palette.colours[length] >> 24);
        if (data[length] == 255) break; /* the least alpha stands first */
    }
    return length;
}

void png_indexed_row(const struct png_indexed *indexed, uint32_t width, uint32_t y, uint8_t *row) {
    const uint8_t *indices = indexed->indices + (size_t)y * width;
    const unsigned bits = indexed->bits, each = 8 / bits;
    for (uint32_t x = 0; x < width; x += each) {
        unsigned byte = 0;
        for (unsigned i = 0; i < each; i++)
            byte = byte << bits | (x + i < width ? indices[x + i] : 0u);
        *row++ = (uint8_t)byte;
    }
}
