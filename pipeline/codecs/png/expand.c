// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/png/expand.h"

/* A tRNS without a palette holds 16 bits a sample, of which as many count as are stored. */
static void read_key(struct png_expansion *expansion, const struct png_parts *parts) {
    const uint8_t *data = parts->transparency.data;
    for (unsigned c = 0; c < parts->components; c++) {
        if (parts->bits == 16)
            memcpy(expansion->key + 2 * c, data + 2 * c, 2);
        else
            expansion->key[c] = data[2 * c + 1] & (uint8_t)((1u << parts->bits) - 1);
    }
}

/* Colours that the palette lacks are black. */
static void list_colours(struct png_expansion *expansion, const struct png_parts *parts) {
    const struct png_chunk *alphas = &parts->transparency;
    const unsigned last = (1u << parts->bits) - 1;
    for (unsigned i = 0; i <= last; i++) {
        uint8_t *colour = expansion->colours[i];
        if (parts->type == PNG_PALETTE) {
            if (i < parts->colours) memcpy(colour, parts->palette.data + (size_t)3 * i, 3);
            colour[3] = alphas->name && i < alphas->length ? alphas->data[i] : 255;
        } else {
            colour[0] = (uint8_t)(i * 255 / last);
            colour[1] = alphas->name && i == expansion->key[0] ? 0 : 255;
        }
    }
}

void png_expansion_init(struct png_expansion *expansion, const struct png_parts *parts) {
    const bool gray = parts->type == PNG_GRAY || parts->type == PNG_GRAY_ALPHA;
    const bool keyed = parts->transparency.name && parts->type != PNG_PALETTE;
    memset(expansion, 0, sizeof *expansion);
    expansion->bits = parts->bits;
    expansion->pixel = (parts->components * parts->bits + 7u) / 8;
    expansion->channels = (gray ? 1 : 3) + png_has_alpha(parts);
    if (keyed) read_key(expansion, parts);
    const bool few = parts->components == 1 && parts->bits <= 8;
    if (few && (keyed || parts->bits < 8 || parts->type == PNG_PALETTE)) {
        expansion->how = EXPAND_LOOK_UP;
        list_colours(expansion, parts);
    } else if (keyed) {
        expansion->how = EXPAND_KEY;
    }
}

/* CHANNELS is a constant. */
static inline __attribute__((always_inline)) void look_up(const struct png_expansion *expansion,
                                                          const uint8_t *row, uint8_t *samples,
                                                          uint32_t count, unsigned channels) {
    const unsigned bits = expansion->bits, in_byte = 8 / bits, mask = (1u << bits) - 1;
    for (uint32_t x = 0; x < count; x++, samples += channels) {
        const unsigned shift = 8 - bits * (x % in_byte + 1);
        memcpy(samples, expansion->colours[row[x / in_byte] >> shift & mask], channels);
    }
}

/* COUNT samples whose first byte is the higher one. */
static void swap(const uint8_t *row, uint8_t *samples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint16_t sample = (uint16_t)read_be16(row + 2 * i);
        memcpy(samples + 2 * i, &sample, 2);
    }
}

static void add_alpha(const struct png_expansion *expansion, const uint8_t *row, uint8_t *samples,
                      uint32_t count) {
    const size_t pixel = expansion->pixel, sample = expansion->bits / 8;
    for (uint32_t x = 0; x < count; x++, row += pixel, samples += pixel + sample) {
        if (sample == 2)
            swap(row, samples, pixel / 2);
        else
            memcpy(samples, row, pixel);
        memset(samples + pixel, memcmp(row, expansion->key, pixel) == 0 ? 0 : 255, sample);
    }
}

void png_expand(const struct png_expansion *expansion, const uint8_t *row, uint8_t *samples,
                uint32_t count) {
    if (expansion->how == EXPAND_KEY)
        add_alpha(expansion, row, samples, count);
    else if (expansion->how == EXPAND_COPY && expansion->bits == 16)
        swap(row, samples, (size_t)count * expansion->pixel / 2);
    else if (expansion->how == EXPAND_COPY)
        memcpy(samples, row, (size_t)count * expansion->pixel);
    else
        switch (expansion->channels) {
        case 1: look_up(expansion, row, samples, count, 1); break;
        case 2: look_up(expansion, row, samples, count, 2); break;
        case 3: look_up(expansion, row, samples, count, 3); break;
        default: look_up(expansion, row, samples, count, 4); break;
        }
}
