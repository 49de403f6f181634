// SPDX-License-Identifier: Apache-2.0
/* How it works. Chunks are read in order up to the first IDAT; nothing here calls libpng, and CRCs
 * are left to the decoder. Which tRNS counts is libpng's rule, so that the decoder agrees. IDATs
 * follow each other, and only their lengths are read. */
#include "pipeline/codecs/common/exif.h"
#include "pipeline/codecs/png/codec.h"

#include <string.h>

enum { GRAY = 0, RGB = 2, PALETTE = 3, GRAY_ALPHA = 4, RGB_ALPHA = 6, CHUNK_FRAME = 12 };

/* Deflate's best: 258 bytes from a length and a distance of one bit each. */
enum { DEFLATE_RATIO = 1032 };

struct chunk {
    const uint8_t *name; /* 4 letters */
    const uint8_t *data;
    size_t length;
};

struct header {
    struct probe *probe;
    uint8_t type;
    unsigned colours; /* in the palette; 0: none yet */
    bool transparent;
};

static bool is(const struct chunk *chunk, const char *name) {
    return memcmp(chunk->name, name, 4) == 0;
}

/* Reads the chunk at *AT and moves past it; false if it is cut off. The header ends at an IDAT, of
 * which only the start need be there. */
static bool next_chunk(const uint8_t *bytes, size_t length, size_t *at, struct chunk *chunk) {
    const size_t left = length - *at;
    if (left < CHUNK_FRAME) return false;
    chunk->length = read_be32(bytes + *at);
    chunk->name = bytes + *at + 4;
    chunk->data = chunk->name + 4;
    if (is(chunk, "IDAT")) return true;
    if (chunk->length > left - CHUNK_FRAME) return false;
    *at += CHUNK_FRAME + chunk->length;
    return true;
}

/* The depths that each colour type may have, as a set of bits. */
static bool known_type(unsigned type, unsigned bits) {
    static const uint32_t depths[7] = {
        [GRAY] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16,
        [RGB] = 1 << 8 | 1 << 16,
        [PALETTE] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
        [GRAY_ALPHA] = 1 << 8 | 1 << 16,
        [RGB_ALPHA] = 1 << 8 | 1 << 16,
    };
    return type < 7 && bits <= 16 && depths[type] >> bits & 1;
}

static enum status read_ihdr(struct header *header, const struct chunk *chunk,
                             struct failure *failure) {
    static const uint8_t components[7] = {
        [GRAY] = 1, [RGB] = 3, [PALETTE] = 1, [GRAY_ALPHA] = 2, [RGB_ALPHA] = 4
    };
    struct probe *probe = header->probe;
    const uint8_t *data = chunk->data;
    if (!is(chunk, "IHDR") || chunk->length != 13 || data[10] || data[11] || data[12] > 1 ||
        !known_type(data[9], data[8]))
        return fail(failure, STATUS_CORRUPT,
                    "the PNG does not begin with a valid IHDR; send an intact file");
    probe->width = read_be32(data);
    probe->height = read_be32(data + 4);
    if (!probe->width || !probe->height || probe->width >> 31 || probe->height >> 31)
        return fail(failure, STATUS_CORRUPT,
                    "the PNG's header gives sides of %u x %u pixels; send an intact file",
                    probe->width, probe->height);
    header->type = data[9];
    probe->bits = data[8];
    probe->components = components[header->type];
    probe->palette = header->type == PALETTE;
    probe->interlaced = data[12] == 1;
    return STATUS_OK;
}

static void read_plte(struct header *header, const struct chunk *chunk) {
    if (header->type == GRAY || header->type == GRAY_ALPHA) return;
    const size_t most = header->type == PALETTE ? (size_t)1 << header->probe->bits : 256;
    const size_t colours = chunk->length / 3;
    header->colours = (unsigned)(colours < most ? colours : most);
    header->transparent = false; /* a tRNS before its PLTE is void */
}

static void read_trns(struct header *header, const struct chunk *chunk) {
    const size_t length = chunk->length;
    if (header->type == GRAY && length == 2) header->transparent = true;
    if (header->type == RGB && length == 6) header->transparent = true;
    if (header->type == PALETTE && length && length <= header->colours) header->transparent = true;
}

static void read_ancillary(struct header *header, const struct chunk *chunk) {
    struct probe *probe = header->probe;
    if (is(chunk, "PLTE")) read_plte(header, chunk);
    if (is(chunk, "tRNS")) read_trns(header, chunk);
    if (is(chunk, "iCCP")) probe->profile = true;
    if (is(chunk, "acTL") && chunk->length == 8) probe->animated = read_be32(chunk->data) > 1;
    if (is(chunk, "eXIf")) probe->orientation = exif_orientation(chunk->data, chunk->length);
}

static enum status settle_shape(struct header *header, struct failure *failure) {
    struct probe *probe = header->probe;
    if (probe->palette && !header->colours)
        return fail(failure, STATUS_CORRUPT, "the PNG has no palette; send an intact file");
    const bool gray = header->type == GRAY || header->type == GRAY_ALPHA;
    const bool alpha =
        header->transparent || header->type == GRAY_ALPHA || header->type == RGB_ALPHA;
    strcpy(probe->space, gray ? "gray" : "rgb");
    probe->shape.channels = (uint8_t)((gray ? 1 : 3) + alpha);
    probe->shape.depth = probe->bits == 16 ? 16 : 8;
    return STATUS_OK;
}

/* ---- how much data there is, and has to be */

/* Bytes of a picture or pass; each row begins with a byte for its filter. */
static uint64_t filtered_bytes(uint32_t width, uint32_t height, unsigned pixel_bits) {
    return width ? (1 + ((uint64_t)width * pixel_bits + 7) / 8) * height : 0;
}

/* Pixels along a side of LENGTH in a pass that begins at FIRST and takes every STEP-th. */
static uint32_t in_pass(uint32_t length, uint32_t first, uint32_t step) {
    return length > first ? (length - first + step - 1) / step : 0;
}

/* Wraps for sides beyond all limits, which are refused anyway. */
static uint64_t inflated_bytes(const struct probe *probe) {
    static const uint8_t passes[7][4] = {
        { 0, 8, 0, 8 }, { 4, 8, 0, 8 }, { 0, 4, 4, 8 }, { 2, 4, 0, 4 },
        { 0, 2, 2, 4 }, { 1, 2, 0, 2 }, { 0, 1, 1, 2 }
    }; /* first x, its step; first y, its step */
    const unsigned bits = probe->bits * probe->components;
    uint64_t bytes = 0;
    if (!probe->interlaced) return filtered_bytes(probe->width, probe->height, bits);
    for (int i = 0; i < 7; i++)
        bytes += filtered_bytes(in_pass(probe->width, passes[i][0], passes[i][1]),
                                in_pass(probe->height, passes[i][2], passes[i][3]), bits);
    return bytes;
}

/* From the first IDAT, at AT. */
static uint64_t idat_bytes(const uint8_t *bytes, size_t length, size_t at) {
    uint64_t sum = 0;
    while (length - at >= CHUNK_FRAME && memcmp(bytes + at + 4, "IDAT", 4) == 0) {
        const size_t stated = read_be32(bytes + at), left = length - at - CHUNK_FRAME;
        if (stated > left) return sum + left;
        sum += stated;
        at += CHUNK_FRAME + stated;
    }
    return sum;
}

static void measure_data(struct probe *probe, const uint8_t *bytes, size_t length, size_t at) {
    probe->data_bytes = idat_bytes(bytes, length, at);
    probe->data_bytes_least = (inflated_bytes(probe) + DEFLATE_RATIO - 1) / DEFLATE_RATIO;
}

static enum status png_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                             struct failure *failure) {
    struct header header = { .probe = probe };
    struct chunk chunk;
    size_t at = 8; /* past the signature */
    if (next_chunk(bytes, length, &at, &chunk)) {
        const enum status status = read_ihdr(&header, &chunk, failure);
        if (status != STATUS_OK) return status;
        while (next_chunk(bytes, length, &at, &chunk) && !is(&chunk, "IEND")) {
            if (is(&chunk, "IDAT")) {
                measure_data(probe, bytes, length, at);
                return settle_shape(&header, failure);
            }
            read_ancillary(&header, &chunk);
        }
    }
    return fail(failure, STATUS_CORRUPT,
                "the PNG's header is broken or cut off at byte %zu of %zu; send the whole file", at,
                length);
}

/* ---- the record */

static bool is_png(const uint8_t *bytes, size_t length) {
    return codec_has_magic(bytes, length, 0, "\x89PNG\r\n\x1a\n", 8);
}

static uint64_t png_decode_memory(const struct probe *probe) {
    return probe->interlaced ? codec_turned_bytes(probe) : 0;
}

static int png_encode_kind(const struct encode_options *options) {
    return options->compression;
}

const struct format_record format_png = {
    .name = "png",
    .title = "PNG",
    .media_types = { "image/png" },
    .endings = { "png" },
    /* First of what Accept likes equally: it loses nothing, and is small. */
    .places = { [FORMATS_DESCRIBED] = 2, [FORMATS_OFFERED] = 1, [FORMATS_PREFERRED] = 1 },
    .abilities = FORMAT_COMPRESSION,
    .recognizes = is_png,
    .probe = png_probe,
    .decode = png_decode,
    .decode_memory = png_decode_memory,
    .decode_costs = { { .cpu = { 0.05f, 3, 1.2f } } },
    .depth = 16,
    .encode = png_encode,
    .bound = png_bound,
    .encode_costs = { { .cpu = { 0.05f, 0.5f } }, /* by compression */
                      { .cpu = { 0.05f, 2.2f } },
                      { .cpu = { 0.05f, 5 } },
                      { .cpu = { 0.05f, 12 } } },
    .encode_kind = png_encode_kind,
};
