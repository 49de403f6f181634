// SPDX-License-Identifier: Apache-2.0
/* How it works. A file is a chain of directories, each with the tags of a page. The first page
 * counts that is neither a smaller copy of another one nor a mask; if there is none, the first. A
 * chain that loops or breaks behind that page ends there. All tags are checked before a pixel is
 * read (tiff/decoder.c).
 *
 * Blocks may share bytes of the file. Where they do, so that a small file announces many pixels, it
 * must have the bytes that other formats' best ratio would take. */
#include "pipeline/codecs/tiff/codec.h"

#include "pipeline/codecs/common/lzw.h"

#include <stdio.h>

enum {
    ENTRIES_MAX = 4096,          /* of a directory, as libtiff has it */
    WALK_MAX = 16 * ENTRIES_MAX, /* entries and directories until the page is known */
    BLOCKS_MAX = 1 << 20,        /* of a plane; each is looked at before a pixel is read */
    SIDE_MAX = 1 << 20,          /* far more than is read; bytes of a block are counted before */
    DEFLATE_RATIO = 1032,
    PACKBITS_RATIO = 64,
    SHARED_RATIO = 32768, /* unpacked bytes a byte */
    PADDED_RATIO = 16,    /* unpacked bytes for one of the picture's, beside */
    PADDED_MORE = 64 << 20,
    PACKED_MORE = 1024, /* bytes that decoding may read beyond twice the unpacked ones of a block */
};

enum tag {
    SUBFILE = 254,
    OLD_SUBFILE = 255,
    WIDTH = 256,
    HEIGHT,
    BITS,
    COMPRESSION,
    COLOURS = 262,
    FILL_ORDER = 266,
    STRIP_OFFSETS = 273,
    ORIENTATION,
    SAMPLES = 277,
    STRIP_ROWS,
    STRIP_BYTES,
    PLANES = 284,
    PREDICTOR = 317,
    PALETTE = 320,
    TILE_WIDTH = 322,
    TILE_HEIGHT,
    TILE_OFFSETS,
    TILE_BYTES,
    SUB_PAGES = 330,
    INK_SET = 332,
    EXTRA_SAMPLES = 338,
    SAMPLE_FORMAT,
    PROFILE = 34675,
    DNG_VERSION = 50706,
};

/* ---- numbers */

static uint64_t read_number(const struct tiff_header *header, uint64_t at, unsigned size) {
    const uint8_t *bytes = header->bytes + at;
    uint64_t number = 0;
    for (unsigned i = 0; i < size; i++)
        number = number << 8 | bytes[header->big_endian ? i : size - 1 - i];
    return number;
}

uint64_t tiff_value(const struct tiff_header *header, const struct tiff_values *values,
                    uint64_t i) {
    return read_number(header, values->at + i * values->size, values->size);
}

/* ---- directories */

struct directory {
    uint64_t entries, count; /* where they begin, and how many */
    uint64_t next;           /* 0: this is the last directory */
};

static unsigned entry_bytes(const struct tiff_header *header) {
    return header->big ? 20 : 12;
}

/* False: there is no directory at AT, or it is cut off. */
static bool open_directory(const struct tiff_header *header, uint64_t at,
                           struct directory *directory) {
    const unsigned count_bytes = header->big ? 8 : 2, link_bytes = header->big ? 8 : 4;
    if (!at || at > header->length || header->length - at < count_bytes) return false;
    directory->count = read_number(header, at, count_bytes);
    directory->entries = at + count_bytes;
    if (directory->count > ENTRIES_MAX) return false;
    const uint64_t end = directory->entries + directory->count * entry_bytes(header);
    if (end > header->length) return false;
    directory->next = header->length - end < link_bytes ? 0 : read_number(header, end, link_bytes);
    return true;
}

/* The first entry of a tag counts. Values that do not fit into the entry lie elsewhere in the file.
 * Those that lie beyond it, or are no whole numbers, are none, which is noted. */
static struct tiff_values find_tag(struct tiff_header *header, const struct directory *directory,
                                   enum tag tag) {
    static const uint8_t sizes[] = { [1] = 1, [3] = 2,  [4] = 4,  [6] = 1,  [7] = 1, [8] = 2,
                                     [9] = 4, [13] = 4, [16] = 8, [17] = 8, [18] = 8 };
    const unsigned word = header->big ? 8 : 4;
    uint64_t entry = directory->entries, left = directory->count;
    for (; left && read_number(header, entry, 2) != tag; left--) entry += entry_bytes(header);
    if (!left) return (struct tiff_values){ 0 };
    const uint64_t type = read_number(header, entry + 2, 2);
    struct tiff_values values = { .at = entry + 4 + word,
                                  .count = read_number(header, entry + 4, word),
                                  .size = type < sizeof sizes ? sizes[type] : 0 };
    if (values.size && values.count <= word / values.size) return values;
    values.at = read_number(header, values.at, word);
    if (values.size && values.at <= header->length &&
        values.count <= (header->length - values.at) / values.size)
        return values;
    header->values_lost = true;
    return (struct tiff_values){ 0 };
}

static uint64_t number_of(struct tiff_header *header, const struct directory *directory,
                          enum tag tag, uint64_t otherwise) {
    const struct tiff_values values = find_tag(header, directory, tag);
    return values.count ? tiff_value(header, &values, 0) : otherwise;
}

/* Neither a smaller copy of another page nor a mask. */
static bool is_page(struct tiff_header *header, const struct directory *directory) {
    return !(number_of(header, directory, SUBFILE, 0) & 5) &&
           number_of(header, directory, OLD_SUBFILE, 1) != 2;
}

/* ---- refusals */

static enum status broken(struct failure *failure, const char *fault) {
    return fail(failure, STATUS_CORRUPT,
                "the TIFF is broken or cut off: %s; send an intact file, or another type", fault);
}

static enum status unread(struct failure *failure, const char *feature) {
    return fail(failure, STATUS_NOT_AN_IMAGE,
                "this is a TIFF with %s, which Burin does not read: convert it with vips or "
                "ImageMagick first",
                feature);
}

struct name {
    uint32_t number;
    const char *name;
};

static const char *name_of(const struct name *names, size_t count, uint64_t number,
                           const char *otherwise) {
    for (size_t i = 0; i < count; i++)
        if (names[i].number == number) return names[i].name;
    return otherwise;
}

static enum status refuse_compression(uint64_t number, struct failure *failure) {
    static const struct name names[] = {
        { 2, "CCITT compression" },         { 3, "CCITT fax compression" },
        { 4, "CCITT fax compression" },     { 6, "JPEG compression" },
        { 7, "JPEG compression" },          { 32771, "CCITT compression" },
        { 32809, "ThunderScan runs" },      { 33003, "JPEG 2000 compression" },
        { 33005, "JPEG 2000 compression" }, { 34661, "JBIG compression" },
        { 34712, "JPEG 2000 compression" }, { 34887, "LERC compression" },
        { 34925, "LZMA compression" },      { 50000, "ZSTD compression" },
        { 50001, "WebP compression" },      { 50002, "JPEG XL compression" },
        { 52546, "JPEG XL compression" },
    };
    return unread(failure,
                  name_of(names, sizeof names / sizeof *names, number, "an unknown compression"));
}

static enum status refuse_colours(uint64_t number, struct failure *failure) {
    static const struct name names[] = {
        { 4, "a mask as its picture" },
        { 6, "YCbCr colours" },
        { 8, "CIELAB colours" },
        { 9, "ICC Lab colours" },
        { 10, "ITU Lab colours" },
        { 32803, "raw samples of a camera" },
        { 32844, "logarithmic luminance" },
        { 32845, "LogLuv colours" },
        { 34892, "raw samples of a camera" },
    };
    return unread(failure, name_of(names, sizeof names / sizeof *names, number, "unknown colours"));
}

/* ---- the page */

static enum status find_page(struct tiff_header *header, struct directory *page,
                             struct failure *failure) {
    struct directory directory;
    const unsigned word = header->big ? 8 : 4;
    uint64_t at = header->length < 2u * word ? 0 : read_number(header, word, word);
    const uint64_t first = at;
    uint64_t found = 0;
    for (uint64_t walked = 0; walked < WALK_MAX && open_directory(header, at, &directory);) {
        walked += 1 + directory.count;
        const bool other = at != found && is_page(header, &directory);
        header->more_pages = found && other;
        if (header->more_pages) break;
        if (other) {
            *page = directory;
            found = at;
        }
        at = directory.next;
    }
    header->values_lost = false; /* by pages that do not matter */
    if (found) return STATUS_OK;
    if (!open_directory(header, first, page))
        return broken(failure, "its first directory is not in the file");
    return find_tag(header, page, SUB_PAGES).count
               ? unread(failure, "its picture aside from its pages as cameras write it")
               : STATUS_OK;
}

/* ---- what a pixel is */

static bool all_are(const struct tiff_header *header, const struct tiff_values *values,
                    uint64_t number) {
    for (uint64_t i = 0; i < values->count && i < header->samples; i++)
        if (tiff_value(header, values, i) != number) return false;
    return true;
}

static enum status read_bits(struct tiff_header *header, const struct directory *page,
                             struct failure *failure) {
    const struct tiff_values formats = find_tag(header, page, SAMPLE_FORMAT);
    const uint64_t format = formats.count ? tiff_value(header, &formats, 0) : 1;
    if (!all_are(header, &formats, format) || (format != 1 && format != 4))
        return unread(failure, format == 3   ? "samples that are floating point"
                               : format == 2 ? "samples with a sign"
                                             : "samples that are no whole numbers");
    const struct tiff_values bits = find_tag(header, page, BITS);
    const uint64_t number = bits.count ? tiff_value(header, &bits, 0) : 1;
    if (!all_are(header, &bits, number)) return unread(failure, "samples of different bits");
    if (number != 1 && number != 2 && number != 4 && number != 8 && number != 16) {
        char text[48];
        snprintf(text, sizeof text, "samples of %llu bits", (unsigned long long)number);
        return unread(failure, text);
    }
    header->bits = (unsigned)number;
    if (header->differences && header->bits < 8)
        return unread(failure, "differences of samples of fewer than 8 bits");
    return STATUS_OK;
}

/* The first extra sample that is alpha counts. */
static void find_alpha(struct tiff_header *header, const struct directory *page) {
    const struct tiff_values kinds = find_tag(header, page, EXTRA_SAMPLES);
    const unsigned first = tiff_colour_samples(header);
    for (unsigned i = 0; first + i < header->samples && i < kinds.count && !header->alpha; i++) {
        const uint64_t kind = tiff_value(header, &kinds, i);
        if (kind != 1 && kind != 2) continue;
        header->alpha = first + i;
        header->premultiplied = kind == 1;
    }
    header->left_out = header->samples > first + (header->alpha > 0);
}

static enum status read_pixel(struct tiff_header *header, const struct directory *page,
                              struct failure *failure) {
    const struct tiff_values colours = find_tag(header, page, COLOURS);
    if (!colours.count) return broken(failure, "it does not say what its samples mean");
    const uint64_t number = tiff_value(header, &colours, 0);
    if (number > TIFF_CMYK || number == 4) return refuse_colours(number, failure);
    header->colours = (enum tiff_colours)number;
    const uint64_t samples = number_of(header, page, SAMPLES, 1);
    if (samples > TIFF_SAMPLES_MAX) return unread(failure, "more than 64 samples a pixel");
    header->samples = (unsigned)samples;
    if (header->samples < tiff_colour_samples(header))
        return broken(failure, "it has too few samples for its colours");
    const enum status status = read_bits(header, page, failure);
    if (status) return status;
    find_alpha(header, page);
    header->separate = header->samples > 1 && number_of(header, page, PLANES, 1) == 2;
    if (number == TIFF_CMYK && number_of(header, page, INK_SET, 1) != 1)
        return unread(failure, "inks other than CMYK");
    header->palette = find_tag(header, page, PALETTE);
    if (number != TIFF_PALETTE) return STATUS_OK;
    if (header->bits > 8) return unread(failure, "a palette of 16 bits");
    if (header->palette.size != 2 || header->palette.count < UINT64_C(3) << header->bits)
        return broken(failure, "its palette is not there, or too short");
    return STATUS_OK;
}

/* ---- where pixels are */

static enum status read_blocks(struct tiff_header *header, const struct directory *page,
                               struct failure *failure) {
    header->offsets = find_tag(header, page, TILE_OFFSETS);
    const bool tiled = header->offsets.count > 0;
    if (!tiled) header->offsets = find_tag(header, page, STRIP_OFFSETS);
    header->sizes = find_tag(header, page, tiled ? TILE_BYTES : STRIP_BYTES);
    const uint64_t width = tiled ? number_of(header, page, TILE_WIDTH, 0) : header->width;
    const uint64_t rows = number_of(header, page, tiled ? TILE_HEIGHT : STRIP_ROWS, header->height);
    if (!width || !rows) return broken(failure, "a side of its strips or tiles is 0");
    if (width > (uint64_t)header->width + TIFF_PADDING_MAX)
        return unread(failure, "tiles that are far wider than the picture");
    header->block_width = (uint32_t)width;
    header->block_height = rows < header->height ? (uint32_t)rows : header->height;
    header->across = (uint32_t)((header->width + width - 1) / width);
    header->down =
        (uint32_t)(((uint64_t)header->height + header->block_height - 1) / header->block_height);
    const uint64_t in_plane = (uint64_t)header->across * header->down;
    const uint64_t blocks = in_plane * (header->separate ? header->samples : 1);
    if (in_plane > BLOCKS_MAX) return unread(failure, "more than 1048576 strips or tiles");
    if (header->offsets.count < blocks || (header->sizes.count && header->sizes.count < blocks))
        return broken(failure, "it lists too few strips or tiles");
    return STATUS_OK;
}

static enum status read_compression(struct tiff_header *header, const struct directory *page,
                                    struct failure *failure) {
    const uint64_t number = number_of(header, page, COMPRESSION, TIFF_RAW);
    const bool packed = number == TIFF_LZW || number == TIFF_DEFLATE || number == TIFF_OLD_DEFLATE;
    if (!packed && number != TIFF_RAW && number != TIFF_PACKBITS)
        return refuse_compression(number, failure);
    header->compression = (enum tiff_compression)number;
    if (number_of(header, page, FILL_ORDER, 1) != 1) return unread(failure, "FillOrder 2");
    const uint64_t predictor = packed ? number_of(header, page, PREDICTOR, 1) : 1;
    if (predictor == 3) return unread(failure, "a predictor for floating point");
    if (predictor != 1 && predictor != 2) return unread(failure, "an unknown predictor");
    header->differences = predictor == 2;
    return STATUS_OK;
}

static enum status read_sides(struct tiff_header *header, const struct directory *page,
                              struct failure *failure) {
    const uint64_t width = number_of(header, page, WIDTH, 0);
    const uint64_t height = number_of(header, page, HEIGHT, 0);
    if (!width || !height) return broken(failure, "a side of its picture is 0 or missing");
    if (width > SIDE_MAX || height > SIDE_MAX)
        return fail(failure, STATUS_TOO_LARGE, "the TIFF is %llu x %llu pixels; send a smaller one",
                    (unsigned long long)width, (unsigned long long)height);
    header->width = (uint32_t)width;
    header->height = (uint32_t)height;
    const uint64_t orientation = number_of(header, page, ORIENTATION, 1);
    header->orientation = orientation >= 1 && orientation <= 8 ? (uint8_t)orientation : 1;
    return STATUS_OK;
}

static bool is_tiff(const uint8_t *bytes, size_t length) {
    return codec_has_magic(bytes, length, 0, "II*\0", 4) ||
           codec_has_magic(bytes, length, 0, "MM\0*", 4) ||
           codec_has_magic(bytes, length, 0, "II+\0\x08\0\0\0", 8) ||
           codec_has_magic(bytes, length, 0, "MM\0+\0\x08\0\0", 8);
}

enum status tiff_read_header(const uint8_t *bytes, size_t length, struct tiff_header *header,
                             struct failure *failure) {
    struct directory page;
    *header = (struct tiff_header){ .bytes = bytes, .length = length };
    if (!is_tiff(bytes, length)) return broken(failure, "its head is cut off");
    header->big_endian = bytes[0] == 'M';
    header->big = bytes[header->big_endian ? 3 : 2] == '+';
    enum status status = find_page(header, &page, failure);
    if (!status && find_tag(header, &page, DNG_VERSION).count)
        status = unread(failure, "raw samples of a camera");
    if (!status) status = read_compression(header, &page, failure);
    if (!status) status = read_sides(header, &page, failure);
    if (!status) status = read_pixel(header, &page, failure);
    if (!status) status = read_blocks(header, &page, failure);
    if (header->values_lost)
        return broken(failure, "values of its tags are beyond its end, or no whole numbers");
    if (status) return status;
    header->profile = find_tag(header, &page, PROFILE);
    if (header->profile.size != 1) header->profile.count = 0;
    return STATUS_OK;
}

/* ---- the probe */

size_t tiff_find_block(const struct tiff_header *header, uint64_t index, size_t *at) {
    const uint64_t row = index / header->across % header->down;
    const uint64_t whole =
        (uint64_t)tiff_block_rows(header, (uint32_t)row) * tiff_row_bytes(header);
    const uint64_t from = tiff_value(header, &header->offsets, index);
    uint64_t size =
        header->sizes.count ? tiff_value(header, &header->sizes, index) : header->length;
    const uint64_t most = header->compression == TIFF_RAW ? whole : 2 * whole + PACKED_MORE;
    *at = from < header->length ? (size_t)from : header->length;
    if (size > most) size = most;
    if (size > header->length - *at) size = header->length - *at;
    return (size_t)size;
}

/* Bytes of the blocks that are needed: in the file, and unpacked. */
static uint64_t count_bytes(const struct tiff_header *header, uint64_t *unpacked) {
    uint64_t packed = 0;
    *unpacked = 0;
    for (unsigned plane = 0; plane < (header->separate ? header->samples : 1); plane++) {
        const uint64_t blocks = (uint64_t)header->across * header->down;
        if (!tiff_needs(header, plane)) continue;
        *unpacked += (uint64_t)header->across * tiff_row_bytes(header) * header->height;
        size_t at;
        for (uint64_t i = 0; i < blocks; i++)
            packed += tiff_find_block(header, plane * blocks + i, &at);
    }
    return packed;
}

/* LZW's longest string, that of its last entry, is as long as the table has entries, and its code
 * has 12 bits. */
static uint64_t least_bytes(const struct tiff_header *header, uint64_t unpacked) {
    switch (header->compression) {
    case TIFF_RAW: return unpacked;
    case TIFF_PACKBITS: return unpacked / PACKBITS_RATIO;
    case TIFF_LZW: return unpacked * LZW_BITS_MAX / 8 / LZW_CODES;
    default: return unpacked / DEFLATE_RATIO;
    }
}

static uint64_t picture_bytes(const struct tiff_header *header) {
    return (uint64_t)header->width * header->height * header->samples * header->bits / 8;
}

static enum status tiff_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                              struct failure *failure) {
    struct tiff_header header;
    uint64_t unpacked;
    const enum status status = tiff_read_header(bytes, length, &header, failure);
    if (status) return status;
    const bool gray = header.colours <= TIFF_BLACK_IS_ZERO;
    probe->width = header.width;
    probe->height = header.height;
    probe->orientation = header.orientation;
    probe->components = (uint8_t)header.samples;
    probe->bits = (uint8_t)header.bits;
    probe->palette = header.colours == TIFF_PALETTE;
    probe->animated = header.more_pages;
    probe->profile = header.profile.count > 0;
    strcpy(probe->space, gray ? "gray" : header.colours == TIFF_CMYK ? "cmyk" : "rgb");
    probe->shape.channels = (uint8_t)((gray ? 1 : 3) + (header.alpha > 0));
    probe->shape.depth = header.bits == 16 ? 16 : 8;
    probe->data_bytes = count_bytes(&header, &unpacked);
    if (unpacked > PADDED_MORE + PADDED_RATIO * picture_bytes(&header))
        return unread(failure, "tiles that are far larger than the picture");
    probe->data_bytes_least = least_bytes(&header, unpacked);
    if (probe->data_bytes > length) { /* blocks share bytes */
        probe->data_bytes = length;
        probe->data_bytes_least = unpacked / SHARED_RATIO;
    }
    return STATUS_OK;
}

/* Whether it is packed: raw samples have at least a bit a pixel. */
static int tiff_decode_kind(const struct probe *probe) {
    return 8 * probe->data_bytes_least < image_pixels(&probe->shape);
}

/* ---- the record */

const struct format_record format_tiff = {
    .name = "tiff",
    .title = "TIFF",
    .media_types = { "image/tiff" },
    .endings = { "tif", "tiff" },
    .places = { [FORMATS_DESCRIBED] = 9 },
    .recognizes = is_tiff,
    .probe = tiff_probe,
    .decode = tiff_decode,
    .contained = true,
    .decode_memory = tiff_decode_memory,
    .decode_costs = { { .cpu = { 0.03f, 0.1f, 0.1f } }, { .cpu = { 0.03f, 3.2f, 0.3f } } },
    .decode_kind = tiff_decode_kind,
};
