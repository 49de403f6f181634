// SPDX-License-Identifier: Apache-2.0
/* How it works. Chunks are read in order up to IEND. Which tRNS counts is libpng's rule. IDATs
 * follow each other, and only their lengths are read here: the decoder checks them. */
#include "pipeline/codecs/png/parts.h"

#include "pipeline/codecs/common/exif.h"

#include <isa-l/crc.h>
#include <zlib.h>

enum {
    TEXT_MAX = 32 << 10,
    EXIF_HEAD = 6,
    MENDED_MAX = 4,         /* chunks of wrong length, whose ends are looked for */
    MENDED_BYTES = 1 << 20, /* in as many bytes each, since the front does so */
};

bool png_is(const struct png_chunk *chunk, const char *name) {
    return memcmp(chunk->name, name, 4) == 0;
}

/* A picture without this chunk has other pixels. An unknown one may be such, by its name. */
static bool is_needed(const struct png_chunk *chunk) {
    return !(chunk->name[0] & 32) || png_is(chunk, "tRNS");
}

/* ---- chunks */

/* A chunk may begin at AT, or the file ends there. */
static bool begins(const uint8_t *bytes, size_t length, size_t at) {
    if (at == length) return true;
    if (length - at < PNG_CHUNK_FRAME) return false;
    for (size_t i = at + 4; i < at + 8; i++)
        if ((bytes[i] | 32) < 'a' || (bytes[i] | 32) > 'z') return false;
    return memcmp(bytes + at + 4, "IDAT", 4) == 0 ||
           read_be32(bytes + at) <= length - at - PNG_CHUNK_FRAME;
}

/* Returns the end of the chunk at AT if its length is wrong and its checksum is right; or 0. */
static size_t find_end(const uint8_t *bytes, size_t length, size_t at) {
    size_t summed = at + 4;
    uint32_t crc = 0;
    const size_t most = length - at < MENDED_BYTES ? length : at + MENDED_BYTES;
    for (size_t end = at + PNG_CHUNK_FRAME; end <= most; end++) {
        if (!begins(bytes, length, end)) continue;
        crc = crc32_gzip_refl(crc, bytes + summed, end - 4 - summed);
        summed = end - 4;
        if (crc == read_be32(bytes + summed)) return end;
    }
    return 0;
}

size_t png_read_chunk(const uint8_t *bytes, size_t length, size_t at, struct png_chunk *chunk) {
    if (length - at < PNG_CHUNK_FRAME) return 0;
    const size_t stated = read_be32(bytes + at), left = length - at - PNG_CHUNK_FRAME;
    const bool whole = stated <= left;
    chunk->name = bytes + at + 4;
    chunk->data = chunk->name + 4;
    chunk->length = whole ? stated : left;
    chunk->sound =
        whole && crc32_gzip_refl(0, chunk->name, 4 + stated) == read_be32(chunk->data + stated);
    return at + PNG_CHUNK_FRAME + chunk->length;
}

/* Does what png_read_chunk() does; a chunk that no pixel needs may state a wrong length. */
static size_t next_chunk(struct png_parts *parts, const uint8_t *bytes, size_t length, size_t at,
                         struct png_chunk *chunk) {
    const size_t end = png_read_chunk(bytes, length, at, chunk);
    if (!end || chunk->sound || is_needed(chunk)) return end;
    const bool whole = read_be32(bytes + at) == chunk->length;
    if (whole && begins(bytes, length, end)) return end;
    return parts->mended++ < MENDED_MAX ? find_end(bytes, length, at) : 0;
}

/* ---- before the pixels */

/* The depths that each colour type may have, as a set of bits. */
static bool known_type(unsigned type, unsigned bits) {
    static const uint32_t depths[7] = {
        [PNG_GRAY] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16,
        [PNG_RGB] = 1 << 8 | 1 << 16,
        [PNG_PALETTE] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
        [PNG_GRAY_ALPHA] = 1 << 8 | 1 << 16,
        [PNG_RGB_ALPHA] = 1 << 8 | 1 << 16,
    };
    return type < 7 && bits <= 16 && depths[type] >> bits & 1;
}

static enum status read_ihdr(struct png_parts *parts, const struct png_chunk *chunk,
                             struct failure *failure) {
    static const uint8_t components[7] = {
        [PNG_GRAY] = 1, [PNG_RGB] = 3, [PNG_PALETTE] = 1, [PNG_GRAY_ALPHA] = 2, [PNG_RGB_ALPHA] = 4
    };
    const uint8_t *data = chunk->data;
    if (!png_is(chunk, "IHDR") || chunk->length != 13 || data[10] || data[11] || data[12] > 1 ||
        !known_type(data[9], data[8]))
        return fail(failure, STATUS_CORRUPT,
                    "the PNG does not begin with a valid IHDR; send an intact file");
    parts->width = read_be32(data);
    parts->height = read_be32(data + 4);
    if (!parts->width || !parts->height || parts->width >> 31 || parts->height >> 31)
        return fail(failure, STATUS_CORRUPT,
                    "the PNG's header gives sides of %u x %u pixels; send an intact file",
                    parts->width, parts->height);
    parts->bits = data[8];
    parts->type = data[9];
    parts->components = components[parts->type];
    parts->interlaced = data[12] == 1;
    return STATUS_OK;
}

/* A tRNS before its PLTE is void. false: which colours there are is not certain. */
static bool read_plte(struct png_parts *parts, const struct png_chunk *chunk) {
    if (parts->type == PNG_GRAY || parts->type == PNG_GRAY_ALPHA) return true;
    const size_t most = parts->type == PNG_PALETTE ? (size_t)1 << parts->bits : 256;
    const size_t colours = chunk->length / 3;
    if (parts->palette.name || (parts->type == PNG_PALETTE && (chunk->length % 3 || colours > 256)))
        return false;
    parts->palette = *chunk;
    parts->colours = (unsigned)(colours < most ? colours : most);
    parts->transparency.name = NULL;
    return true;
}

static void read_trns(struct png_parts *parts, const struct png_chunk *chunk) {
    const size_t length = chunk->length;
    if (parts->transparency.name) return;
    if ((parts->type == PNG_GRAY && length == 2) || (parts->type == PNG_RGB && length == 6) ||
        (parts->type == PNG_PALETTE && length && length <= parts->colours))
        parts->transparency = *chunk;
}

/* The first of each kind that has its length. */
static void keep_colour(struct png_parts *parts, const struct png_chunk *chunk) {
    static const struct {
        const char *name;
        size_t length;
    } kinds[] = { { "gAMA", 4 }, { "cHRM", 32 }, { "sRGB", 1 },
                  { "cICP", 4 }, { "mDCV", 24 }, { "cLLI", 8 } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t size = PNG_CHUNK_FRAME + kinds[i].length;
        if (!png_is(chunk, kinds[i].name) || parts->colour_kinds >> i & 1) continue;
        if (chunk->length != kinds[i].length) {
            parts->left_out = true;
            continue;
        }
        memcpy(parts->colour + parts->colour_length, chunk->name - 4, size);
        parts->colour_length += size;
        parts->colour_kinds |= (uint8_t)(1 << i);
    }
}

/* ---- orientation */

static int digit_of(uint8_t letter) {
    const uint8_t lower = letter | 32;
    if (letter >= '0' && letter <= '9') return letter - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* EXIF as text: a line feed, "exif", a line with its length, and lines of hexadecimal digits. */
static uint8_t text_orientation(uint8_t *text, size_t length) {
    size_t from = 0, to = 0;
    for (int line = 0; line < 3; line++) {
        const uint8_t *end = memchr(text + from, '\n', length - from);
        if (!end) return 1;
        from = (size_t)(end - text) + 1;
    }
    for (int high = -1; from < length; from++) {
        const int digit = digit_of(text[from]);
        if (digit < 0) continue;
        if (high >= 0) text[to++] = (uint8_t)(high << 4 | digit);
        high = high < 0 ? digit : -1;
    }
    const size_t head = to > EXIF_HEAD && memcmp(text, "Exif\0", EXIF_HEAD) == 0 ? EXIF_HEAD : 0;
    return exif_orientation(text + head, to - head);
}

/* Returns 0 if CHUNK has no EXIF. IFD0 stands at its start; behind TEXT_MAX nothing is read. */
static uint8_t read_text(const struct png_chunk *chunk) {
    static const char keyword[] = "Raw profile type exif";
    uint8_t text[TEXT_MAX];
    const uint8_t *data = chunk->data + sizeof keyword;
    if (chunk->length <= sizeof keyword || memcmp(chunk->data, keyword, sizeof keyword) != 0)
        return 0;
    uLongf size = chunk->length - sizeof keyword;
    if (png_is(chunk, "zTXt")) {
        uLong packed = size - 1; /* behind the method; blocks may be empty */
        if (packed > 2 * TEXT_MAX) packed = 2 * TEXT_MAX;
        size = sizeof text;
        const int result = *data ? Z_DATA_ERROR : uncompress(text, &size, data + 1, packed);
        if (result != Z_OK && result != Z_BUF_ERROR) return 1;
    } else {
        if (size > sizeof text) size = sizeof text;
        memcpy(text, data, size);
    }
    return text_orientation(text, size);
}

/* ---- all of it */

/* Chunks that count wherever they stand; eXIf before text. */
static void read_anywhere(struct png_parts *parts, const struct png_chunk *chunk,
                          uint8_t *by_text) {
    if (png_is(chunk, "eXIf")) {
        parts->exif = *chunk;
        parts->orientation = exif_orientation(chunk->data, chunk->length);
    }
    if (png_is(chunk, "iTXt") && chunk->length > sizeof PNG_XMP &&
        memcmp(chunk->data, PNG_XMP, sizeof PNG_XMP) == 0)
        parts->xmp = *chunk;
    if (!*by_text && (png_is(chunk, "tEXt") || png_is(chunk, "zTXt"))) *by_text = read_text(chunk);
}

/* false: the pixels are not certain. */
static bool read_before(struct png_parts *parts, const struct png_chunk *chunk) {
    if (is_needed(chunk)) {
        if (!chunk->sound && !*parts->damaged) memcpy(parts->damaged, chunk->name, 4);
        if (png_is(chunk, "PLTE")) return read_plte(parts, chunk);
        if (png_is(chunk, "tRNS")) read_trns(parts, chunk);
        return png_is(chunk, "tRNS");
    }
    if (!chunk->sound) {
        parts->left_out = true;
        return true;
    }
    if (png_is(chunk, "iCCP") && !parts->profile.name) parts->profile = *chunk;
    if (png_is(chunk, "acTL") && chunk->length == 8) parts->animated = read_be32(chunk->data) > 1;
    keep_colour(parts, chunk);
    return true;
}

/* Whether an IDAT begins at AT. */
static bool is_data(const uint8_t *bytes, size_t length, size_t at) {
    return length - at >= PNG_CHUNK_FRAME && memcmp(bytes + at + 4, "IDAT", 4) == 0;
}

/* Skips the IDATs from AT on, whose bytes may end anywhere. */
static size_t measure_data(struct png_parts *parts, const uint8_t *bytes, size_t length,
                           size_t at) {
    parts->data_at = at;
    while (is_data(bytes, length, at)) {
        const size_t stated = read_be32(bytes + at), left = length - at - PNG_CHUNK_FRAME;
        parts->data_bytes += stated < left ? stated : left;
        at += PNG_CHUNK_FRAME + (stated < left ? stated : left);
    }
    return at;
}

static void read_behind(struct png_parts *parts, const uint8_t *bytes, size_t length, size_t at,
                        uint8_t *by_text) {
    struct png_chunk chunk;
    while ((at = next_chunk(parts, bytes, length, at, &chunk))) {
        if (!chunk.sound) parts->left_out = true;
        if (png_is(&chunk, "IEND")) return;
        if (chunk.sound) read_anywhere(parts, &chunk, by_text);
    }
    parts->left_out = true;
}

enum status png_read_parts(const uint8_t *bytes, size_t length, struct png_parts *parts,
                           struct failure *failure) {
    struct png_chunk chunk;
    uint8_t by_text = 0;
    size_t at = png_read_chunk(bytes, length, 8, &chunk), next = at; /* past the signature */
    *parts = (struct png_parts){ .orientation = 0 };
    bool certain = at;
    if (certain) {
        const enum status status = read_ihdr(parts, &chunk, failure);
        if (status != STATUS_OK) return status;
        if (!chunk.sound) memcpy(parts->damaged, chunk.name, 4);
    }
    while (certain && !is_data(bytes, length, at) &&
           (next = next_chunk(parts, bytes, length, at, &chunk)) && !png_is(&chunk, "IEND")) {
        certain = read_before(parts, &chunk);
        if (chunk.sound) read_anywhere(parts, &chunk, &by_text);
        at = next;
    }
    if (!certain || !next || !is_data(bytes, length, at))
        return fail(failure, STATUS_CORRUPT,
                    "the PNG's header is broken or cut off at byte %zu of %zu; send the whole file",
                    at, length);
    if (parts->type == PNG_PALETTE && !parts->colours)
        return fail(failure, STATUS_CORRUPT, "the PNG has no palette; send an intact file");
    read_behind(parts, bytes, length, measure_data(parts, bytes, length, at), &by_text);
    if (!parts->orientation) parts->orientation = by_text ? by_text : 1;
    return STATUS_OK;
}

/* ---- the rows */

/* Pixels along a side of LENGTH in a pass that begins at FIRST and takes every STEP-th. */
static uint32_t in_pass(uint32_t length, uint32_t first, uint32_t step) {
    return length > first ? (length - first + step - 1) / step : 0;
}

bool png_pass(const struct png_parts *parts, int index, struct png_pass *pass) {
    static const struct png_pass whole = { 0, 1, 0, 1, 0, 0, 0 };
    static const struct png_pass passes[7] = { { 0, 8, 0, 8, 0, 0, 0 }, { 4, 8, 0, 8, 0, 0, 0 },
                                               { 0, 4, 4, 8, 0, 0, 0 }, { 2, 4, 0, 4, 0, 0, 0 },
                                               { 0, 2, 2, 4, 0, 0, 0 }, { 1, 2, 0, 2, 0, 0, 0 },
                                               { 0, 1, 1, 2, 0, 0, 0 } };
    if (index >= (parts->interlaced ? 7 : 1)) return false;
    *pass = parts->interlaced ? passes[index] : whole;
    pass->width = in_pass(parts->width, pass->first_x, pass->step_x);
    pass->height = pass->width ? in_pass(parts->height, pass->first_y, pass->step_y) : 0;
    pass->row_bytes = ((size_t)pass->width * parts->bits * parts->components + 7) / 8;
    return true;
}

uint64_t png_filtered_bytes(const struct png_parts *parts) {
    uint64_t bytes = 0;
    struct png_pass pass;
    for (int i = 0; png_pass(parts, i, &pass); i++)
        bytes += (1 + (uint64_t)pass.row_bytes) * pass.height; /* a byte for the filter */
    return bytes;
}

bool png_has_alpha(const struct png_parts *parts) {
    return parts->transparency.name || parts->type == PNG_GRAY_ALPHA ||
           parts->type == PNG_RGB_ALPHA;
}
