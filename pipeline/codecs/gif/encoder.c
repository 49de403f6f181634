// SPDX-License-Identifier: Apache-2.0
/* How it works. The palette is the file's, and there is one picture. Its indices become codes of
 * growing length: a code stands for a string of indices that came before, which is a shorter string
 * and an index behind, so entries of the table are found by these two. A full table is cleared. */
#include "pipeline/codecs/common/hash_multiplier.h"
#include "pipeline/codecs/common/lzw.h"
#include "pipeline/codecs/common/palette.h"
#include "pipeline/codecs/gif/codec.h"

#include <stdlib.h>

enum {
    HASHED_BITS = 13, /* twice as many as there are codes */
    HASHED = 1 << HASHED_BITS,
    BLOCK = 255, /* bytes of data, at most */
    HEAD_MAX = GIF_FILE_HEAD + 3 * PALETTE_MAX + 8 + GIF_FRAME_HEAD + 1,
    CHECKED_PIXELS = 1 << 18, /* between two looks at the progress */
};

struct writer {
    uint8_t *bytes;
    size_t capacity, used;
    size_t block; /* the place of the length of the block that is being filled */
    bool overflow;
};

struct codes {
    struct writer *writer;
    uint64_t multiplier;    /* of places in the table */
    uint32_t table[HASHED]; /* prefix, index, code: 12, 8 and 12 bits; 0: free */
    unsigned literal_bits, bits, next;
    uint64_t word; /* bits that are not written yet, the first in the lowest place */
    unsigned held;
};

/* A code has 12 bits at most, and after 3,838 of them comes one that clears the table; a block of
 * 255 bytes has one more. */
size_t gif_bound(const struct image *image, size_t profile_length) {
    const size_t pixels = (size_t)image_pixels(image);
    (void)profile_length; /* it cannot be carried */
    return HEAD_MAX + pixels / 2 * 3 + pixels / 128 + 1024;
}

/* ---- bytes */

static void put(struct writer *writer, const void *bytes, size_t length) {
    writer->overflow |= length > writer->capacity - writer->used;
    if (writer->overflow) return;
    memcpy(writer->bytes + writer->used, bytes, length);
    writer->used += length;
}

static void put_byte(struct writer *writer, unsigned byte) {
    const uint8_t bytes[] = { (uint8_t)byte };
    put(writer, bytes, 1);
}

static void begin_block(struct writer *writer) {
    writer->block = writer->used;
    put_byte(writer, 0);
}

static void put_data(struct writer *writer, unsigned byte) {
    if (writer->used - writer->block > BLOCK) begin_block(writer);
    put_byte(writer, byte);
    if (!writer->overflow) writer->bytes[writer->block]++;
}

/* ---- codes */

static void put_code(struct codes *codes, unsigned code) {
    codes->word |= (uint64_t)code << codes->held;
    codes->held += codes->bits;
    for (; codes->held >= 8; codes->held -= 8, codes->word >>= 8)
        put_data(codes->writer, codes->word & 255);
}

static void clear(struct codes *codes) {
    put_code(codes, 1u << codes->literal_bits);
    memset(codes->table, 0, sizeof codes->table);
    codes->bits = codes->literal_bits + 1;
    codes->next = (1u << codes->literal_bits) + 2;
}

/* The place of the string of PREFIX and INDEX in the table, or a free one for it. */
static uint32_t *find(struct codes *codes, unsigned prefix, unsigned index) {
    const uint32_t key = prefix << 8 | index;
    uint32_t at = (uint32_t)(key * codes->multiplier >> (64 - HASHED_BITS));
    while (codes->table[at] && codes->table[at] >> 12 != key) at = (at + 1) % HASHED;
    return &codes->table[at];
}

/* The reader makes an entry with each code but the first: its codes grow one later. */
static void grow(struct codes *codes) {
    codes->next++;
    if (codes->next > 1u << codes->bits) codes->bits++;
}

static enum status put_codes(const struct encoding *encoding, struct codes *codes,
                             const uint8_t *indices, size_t count) {
    unsigned prefix = indices[0];
    clear(codes);
    for (size_t i = 1; i < count && !codes->writer->overflow; i++) {
        const enum status status =
            i % CHECKED_PIXELS ? STATUS_OK : progress_check(encoding->progress);
        if (status) return codec_stopped(status, encoding->failure);
        uint32_t *entry = find(codes, prefix, indices[i]);
        if (*entry) {
            prefix = *entry & (LZW_CODES - 1);
            continue;
        }
        put_code(codes, prefix);
        *entry = (uint32_t)prefix << 20 | (uint32_t)indices[i] << 12 | codes->next;
        grow(codes);
        if (codes->next == LZW_CODES) clear(codes);
        prefix = indices[i];
    }
    put_code(codes, prefix);
    grow(codes);
    put_code(codes, (1u << codes->literal_bits) + 1);
    if (codes->held) put_data(codes->writer, codes->word & 255);
    return STATUS_OK;
}

/* ---- the file */

static void put_head(struct writer *writer, const struct image *image,
                     const struct palette *palette, unsigned size, int transparent) {
    const uint8_t sides[] = { (uint8_t)image->width, (uint8_t)(image->width >> 8),
                              (uint8_t)image->height, (uint8_t)(image->height >> 8) };
    put(writer, "GIF89a", 6);
    put(writer, sides, sizeof sides);
    put_byte(writer, GIF_HAS_PALETTE | 7u << 4 | (size - 1)); /* colours of 8 bits */
    put(writer, "\0", 2);
    for (unsigned i = 0; i < 1u << size; i++) {
        const uint32_t colour = palette->colours[i];
        const uint8_t rgb[] = { (uint8_t)(colour >> 16), (uint8_t)(colour >> 8), (uint8_t)colour };
        put(writer, rgb, sizeof rgb);
    }
    const uint8_t control[] = { '!', 0xf9, 4, 1, 0, 0, (uint8_t)transparent, 0 };
    if (transparent >= 0) put(writer, control, sizeof control);
    put(writer, ",\0\0\0", 5);
    put(writer, sides, sizeof sides);
    put_byte(writer, 0);
}

static enum status write_gif(const struct encoding *encoding, struct palette *palette,
                             const uint8_t *indices) {
    const bool room = palette->count < PALETTE_MAX && image_has_alpha(encoding->image);
    const int transparent = !(palette->colours[0] >> 24) ? 0 : room ? (int)palette->count++ : -1;
    struct writer writer = { .bytes = encoding->bytes, .capacity = encoding->capacity };
    struct codes codes = { .writer = &writer, .multiplier = hash_multiplier(&codes) };
    unsigned size = 1;
    while (1u << size < palette->count) size++;
    codes.literal_bits = size < 2 ? 2 : size;
    codes.bits = codes.literal_bits + 1;
    put_head(&writer, encoding->image, palette, size, transparent);
    put_byte(&writer, codes.literal_bits);
    begin_block(&writer);
    const enum status status =
        put_codes(encoding, &codes, indices, (size_t)image_pixels(encoding->image));
    if (status) return status;
    put(&writer, "\0;", 2);
    if (writer.overflow) return codec_overflow(encoding);
    *encoding->length = writer.used;
    return STATUS_OK;
}

uint64_t gif_encode_memory(const struct image *image, const struct encode_options *options) {
    (void)options;
    return image_pixels(image) + PALETTE_MEMORY; /* indices, and the choice of colours */
}

enum status gif_encode(const struct encoding *encoding) {
    static const struct palette_wish wish = { .most = PALETTE_MAX, .opaque = true };
    struct palette palette;
    uint8_t *indices = malloc((size_t)image_pixels(encoding->image));
    if (!indices)
        return fail(encoding->failure, STATUS_NO_MEMORY, "no memory for the pixels of the GIF");
    enum status status = palette_choose(encoding, &wish, &palette, indices);
    if (!status) status = write_gif(encoding, &palette, indices);
    free(indices);
    if (status) return status;
    if (palette.cut) *encoding->notes |= NOTE_COLOURS_CUT;
    if (palette.alpha_cut) *encoding->notes |= NOTE_ALPHA_CUT;
    if (encoding->image->depth == 16) *encoding->notes |= NOTE_DEPTH_CUT;
    if (codec_carried(encoding->metadata, encoding->options, 0, encoding->notes).profile_length)
        *encoding->notes |= NOTE_PROFILE_DROPPED;
    return STATUS_OK;
}
