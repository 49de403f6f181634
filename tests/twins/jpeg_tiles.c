// SPDX-License-Identifier: Apache-2.0
/* How it works. First each tile by itself: strips of pixels become samples in slots, a block's
 * samples its coefficients, these its bits, and the bits of all blocks a string (jpeg/tile.h,
 * jpeg/colour.h, jpeg/forward.h, jpeg/huffman.h). Then all strings are joined (jpeg/splice.h). A
 * loop over workers stands wherever a GPU has threads between two barriers. */
#include "tests/twins/jpeg_tiles.h"
#include "pipeline/codecs/jpeg/colour.h"
#include "pipeline/codecs/jpeg/huffman.h"
#include "pipeline/codecs/jpeg/prologue.h"
#include "pipeline/codecs/jpeg/splice.h"
#include "pipeline/codecs/jpeg/tile.h"

#include <stdlib.h>

enum { STRING_WORDS_MAX = (JPEG_TILE_BLOCKS * JPEG_BLOCK_BITS_MAX + 31) / 32 };

struct tile {
    uint32_t slots[JPEG_TILE_SLOTS][JPEG_BLOCK_WORDS]; /* samples */
    int16_t coefficients[JPEG_TILE_BLOCKS][JPEG_BLOCK];
    uint64_t masks[JPEG_TILE_BLOCKS];
    int32_t dcs[JPEG_TILE_SLOTS]; /* by slot */
    uint32_t stages[JPEG_TILE_BLOCKS][JPEG_STAGE_WORDS];
    uint32_t lengths[JPEG_TILE_BLOCKS]; /* as the file has the blocks */
};

struct work {
    const struct image *image;
    struct jpeg_frame frame;
    _Alignas(16) float reciprocals[2][JPEG_BLOCK];
    uint32_t symbols[2][JPEG_SYMBOLS];
    uint32_t tiles;
    struct jpeg_string *strings;
    uint32_t (*words)[STRING_WORDS_MAX + 1]; /* each tile's string; one word more is 0 */
    struct tile tile;
};

/* ---- pixels to samples */

/* Eight pixels as six words, or eight gray ones as two; the last pixel goes on. */
static void load_row(const struct image *image, uint32_t x, uint32_t y, uint32_t *words) {
    uint8_t bytes[24];
    const unsigned channels = image->channels;
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t column = jpeg_lesser(x + i, image->width - 1);
        memcpy(bytes + i * channels, image_row(image, y) + column * channels, channels);
    }
    memcpy(words, bytes, 8 * channels);
}

static void store_halved(struct tile *tile, const struct jpeg_strip *strip, const uint32_t *above,
                         const uint32_t *below) {
    const struct jpeg_chroma_weights by[] = { JPEG_CB_WEIGHTS, JPEG_CR_WEIGHTS };
    uint32_t *luma = tile->slots[jpeg_slot_of(JPEG_420, strip->mcu, jpeg_strip_luma(strip))] +
                     2 * jpeg_strip_luma_row(strip);
    const uint32_t *first = strip->lower_twice ? below : above;
    luma[0] = jpeg_luma4(first);
    luma[1] = jpeg_luma4(first + 3);
    luma[2] = jpeg_luma4(below);
    luma[3] = jpeg_luma4(below + 3);
    for (uint32_t c = 0; c < 2; c++)
        tile->slots[jpeg_slot_of(JPEG_420, strip->mcu, 4 + c)][2 * strip->line + strip->half] =
            jpeg_chroma_halved4(above, below, by[c]);
}

static void store_full(struct tile *tile, const struct jpeg_strip *strip, const uint32_t *rgb) {
    const struct jpeg_chroma_weights by[] = { JPEG_CB_WEIGHTS, JPEG_CR_WEIGHTS };
    for (uint32_t i = 0; i < 2; i++) {
        tile->slots[jpeg_slot_of(JPEG_444, strip->mcu, 0)][2 * strip->line + i] =
            jpeg_luma4(rgb + 3 * i);
        for (uint32_t c = 0; c < 2; c++)
            tile->slots[jpeg_slot_of(JPEG_444, strip->mcu, 1 + c)][2 * strip->line + i] =
                jpeg_chroma4(rgb + 3 * i, by[c]);
    }
}

static void store_gray(struct tile *tile, const struct jpeg_strip *strip, const uint32_t *words) {
    uint32_t *to = tile->slots[jpeg_slot_of(JPEG_GRAY, strip->mcu, 0)] + 2 * strip->line;
    to[0] = words[0] ^ JPEG_LEVELS;
    to[1] = words[1] ^ JPEG_LEVELS;
}

static void take_strip(struct work *work, uint32_t first_mcu, uint32_t number) {
    const struct jpeg_frame *frame = &work->frame;
    struct jpeg_strip strip = jpeg_strip_of(frame->sampling, number);
    const uint32_t mcu = first_mcu + (uint32_t)strip.mcu;
    uint32_t above[6], below[6];
    if (mcu >= jpeg_frame_mcus(frame)) return; /* before the first, too */
    jpeg_strip_place(&strip, frame, mcu % frame->mcus_across, mcu / frame->mcus_across);
    load_row(work->image, strip.x, strip.above, above);
    load_row(work->image, strip.x, strip.below, below);
    if (frame->sampling == JPEG_420)
        store_halved(&work->tile, &strip, above, below);
    else if (frame->sampling == JPEG_444)
        store_full(&work->tile, &strip, above);
    else
        store_gray(&work->tile, &strip, above);
}

/* ---- a worker's block; MCU is its number in the picture */

struct worker {
    uint32_t number;
    struct jpeg_block block;
    uint32_t mcu, column, row;
    int which;  /* luma or chroma */
    bool codes; /* there is such an MCU */
    bool fills; /* and its block only fills it */
};

static struct worker worker_of(const struct work *work, uint32_t first_mcu, uint32_t number) {
    const struct jpeg_frame *frame = &work->frame;
    struct worker worker = { .number = number };
    worker.block = jpeg_block_of(frame->sampling, number);
    worker.mcu = first_mcu + worker.block.mcu;
    worker.column = worker.mcu % frame->mcus_across;
    worker.row = worker.mcu / frame->mcus_across;
    worker.which = frame->sampling == JPEG_420 ? worker.block.within >= 4 : worker.block.within > 0;
    worker.codes = worker.mcu < jpeg_frame_mcus(frame);
    worker.fills = jpeg_block_fills(frame, worker.column, worker.row, worker.block.within);
    return worker;
}

static void transform(struct work *work, const struct worker *worker) {
    struct tile *tile = &work->tile;
    const float *reciprocals = work->reciprocals[worker->which];
    const uint32_t n = worker->number;
    tile->masks[n] = 0;
    if (!worker->codes || worker->fills) return;
    tile->masks[n] = jpeg_forward(tile->slots[n], reciprocals, tile->coefficients[n]);
    tile->dcs[n] = tile->coefficients[n][0];
    if (worker->block.mcu || !worker->mcu) return;
    const struct jpeg_predecessor before =
        jpeg_predecessor_of(&work->frame, worker->column, worker->row, worker->block.within);
    if (before.same_mcu) return;
    const uint32_t slot = jpeg_slot_of(work->frame.sampling, -1, before.within);
    tile->dcs[slot] = jpeg_forward_dc(tile->slots[slot], reciprocals);
}

static int32_t dc_difference(const struct work *work, const struct worker *worker) {
    const struct tile *tile = &work->tile;
    if (worker->fills) return 0;
    const struct jpeg_predecessor before =
        jpeg_predecessor_of(&work->frame, worker->column, worker->row, worker->block.within);
    if (!before.same_mcu && !worker->mcu) return tile->dcs[worker->number];
    const int32_t mcu = (int32_t)worker->block.mcu - !before.same_mcu;
    return tile->dcs[worker->number] -
           tile->dcs[jpeg_slot_of(work->frame.sampling, mcu, before.within)];
}

static uint32_t code(struct work *work, const struct worker *worker, uint32_t first) {
    struct tile *tile = &work->tile;
    return jpeg_code_block(tile->coefficients[worker->number], tile->masks[worker->number],
                           dc_difference(work, worker), work->symbols[worker->which],
                           tile->stages[worker->number], first);
}

/* ---- the string */

/* Bits of a stage to where they belong. */
static void lay(uint32_t *string, uint32_t offset, const uint32_t *stage, uint32_t bits) {
    const uint32_t words = (bits + 31) / 32, phase = offset & 31;
    for (uint32_t i = 0; i < (phase + bits + 31) / 32; i++) {
        const uint64_t pair = (uint64_t)(i ? stage[i - 1] : 0) << 32 | (i < words ? stage[i] : 0);
        string[offset / 32 + i] |= (uint32_t)(pair >> phase);
    }
}

/* A block longer than its stage is coded again for each part. */
static void lay_block(struct work *work, const struct worker *worker, uint32_t *string,
                      uint32_t offset, uint32_t length) {
    const uint32_t part = 32 * JPEG_STAGE_WORDS;
    for (uint32_t done = 0; done < length; done += part) {
        if (length > part) code(work, worker, done / 32);
        lay(string, offset + done, work->tile.stages[worker->number],
            jpeg_lesser(length - done, part));
    }
}

static void describe(struct jpeg_string *string, const uint32_t *words) {
    const uint32_t bits = string->bits, last = (bits - 1) / 32;
    for (uint32_t i = 0; i <= last; i++) {
        uint32_t ends = jpeg_ff_ends(i ? words[i - 1] : 0, words[i]);
        for (uint32_t bit = 0; ends; bit++, ends >>= 1) string->stuffed[bit % 8] += ends & 1;
    }
    const uint64_t end = (uint64_t)(last ? words[last - 1] : 0) << 32 | words[last];
    string->head = (uint8_t)(words[0] >> 24);
    string->tail = (uint8_t)(end >> (31 - (bits - 1) % 32));
}

static void encode_tile(struct work *work, uint32_t t) {
    const uint32_t sampling = work->frame.sampling, first = t * jpeg_tile_mcus(sampling);
    uint32_t offset = 0;
    for (uint32_t i = 0; i < jpeg_tile_strips(sampling); i++) take_strip(work, first, i);
    for (uint32_t n = 0; n < JPEG_TILE_BLOCKS; n++) {
        const struct worker worker = worker_of(work, first, n);
        transform(work, &worker);
    }
    for (uint32_t n = 0; n < JPEG_TILE_BLOCKS; n++) {
        const struct worker worker = worker_of(work, first, n);
        const uint32_t place = worker.block.mcu * jpeg_mcu_blocks(sampling) + worker.block.within;
        work->tile.lengths[place] = worker.codes ? code(work, &worker, 0) : 0;
    }
    for (uint32_t place = 0; place < JPEG_TILE_BLOCKS; place++) {
        const uint32_t blocks = jpeg_mcu_blocks(sampling);
        const struct worker worker = worker_of(
            work, first, jpeg_slot_of(sampling, (int32_t)(place / blocks), place % blocks));
        lay_block(work, &worker, work->words[t], offset, work->tile.lengths[place]);
        offset += work->tile.lengths[place];
    }
    work->strings[t].bits = offset;
    describe(&work->strings[t], work->words[t]);
}

/* ---- the file */

struct file {
    uint8_t *bytes;
    size_t capacity, length; /* the length goes on where the room ends */
};

static void put_byte(struct file *file, uint8_t byte) {
    if (file->length < file->capacity) file->bytes[file->length] = byte;
    file->length++;
}

/* Writes the bytes that end in string T, which BEFORE bits precede. Returns whether their number
 * is that of its description. */
static bool write_string(const struct work *work, uint32_t t, uint64_t before, struct file *file) {
    const struct jpeg_string *string = &work->strings[t];
    const bool last = t + 1 == work->tiles;
    const uint8_t tail = t ? work->strings[t - 1].tail : 0;
    const struct jpeg_splice splice = jpeg_splice_of(string, before, tail, last);
    const uint32_t end = splice.phase + string->bits;
    const size_t wanted = file->length + splice.bytes + splice.stuffed;
    for (uint32_t b = 0; b < splice.bytes; b++) {
        const uint32_t i = b / 4;
        uint32_t word =
            jpeg_spliced_word(i ? work->words[t][i - 1] : tail, work->words[t][i], splice.phase);
        if (last) word = jpeg_padded_word(word, end < 32 * i ? 0 : end - 32 * i);
        const uint8_t byte = (uint8_t)(word >> (24 - 8 * (b % 4)));
        put_byte(file, byte);
        if (byte == 0xff) put_byte(file, 0);
    }
    return file->length == wanted;
}

static enum status write_file(const struct work *work, const struct encoding *encoding) {
    const unsigned quality = (unsigned)encoding->options->quality;
    const struct carried carried = codec_carried(encoding->metadata, encoding->options,
                                                 work->image->channels, encoding->notes);
    struct file file = { .bytes = encoding->bytes, .capacity = encoding->capacity };
    uint64_t before = 0;
    file.length = jpeg_prologue_bytes((enum jpeg_sampling)work->frame.sampling, &carried);
    if (file.length > file.capacity) return codec_overflow(encoding);
    jpeg_prologue_write(&work->frame, quality, &carried, file.bytes);
    for (uint32_t t = 0; t < work->tiles; t++) {
        if (!write_string(work, t, before, &file))
            return fail(encoding->failure, STATUS_INTERNAL, "tile %u is not as it was described",
                        t);
        before += work->strings[t].bits;
    }
    put_byte(&file, 0xff);
    put_byte(&file, 0xd9);
    if (file.length > file.capacity) return codec_overflow(encoding);
    *encoding->length = file.length;
    return STATUS_OK;
}

static void set_up(struct work *work, const struct encoding *encoding) {
    const unsigned quality = (unsigned)encoding->options->quality;
    uint8_t steps[JPEG_BLOCK];
    work->image = encoding->image;
    work->frame = jpeg_frame_of(encoding->image->width, encoding->image->height,
                                jpeg_sampling_of(encoding->image->channels, quality));
    work->tiles = jpeg_frame_tiles(&work->frame);
    for (int which = 0; which < 2; which++) {
        jpeg_quantization_steps(quality, which, steps);
        jpeg_reciprocals_init(work->reciprocals[which], steps);
        jpeg_symbols_init(work->symbols[which], which);
    }
}

enum status jpeg_tiles_encode(const struct encoding *encoding) {
    struct work *work = calloc(1, sizeof *work);
    if (!work) return fail(encoding->failure, STATUS_NO_MEMORY, "no memory for a JPEG's tile");
    set_up(work, encoding);
    work->strings = calloc(work->tiles, sizeof *work->strings);
    work->words = calloc(work->tiles, sizeof *work->words);
    enum status status = STATUS_OK;
    if (!work->strings || !work->words)
        status = fail(encoding->failure, STATUS_NO_MEMORY, "no memory for a JPEG's tiles");
    for (uint32_t t = 0; t < work->tiles && status == STATUS_OK; t++) encode_tile(work, t);
    if (status == STATUS_OK) status = write_file(work, encoding);
    free(work->strings);
    free(work->words);
    free(work);
    return status;
}
