// SPDX-License-Identifier: Apache-2.0
/* How it works. The header is the magic and three numbers; the raster behind it is one block, whose
 * size is known before a sample is read. Samples with a maximum other than 255 or 65535 are scaled
 * to the full range, those of 8 bits by a table. */
#include "pipeline/codecs/codecs.h"
#include "pipeline/codecs/common/flatten.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES_MAX = 32 }; /* "P6\n65535 65535\n65535\n" and some */

struct header {
    uint32_t width, height, maximum;
    unsigned channels;
    size_t raster; /* where it starts */
};

static bool is_space(uint8_t byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Skips whitespace and comments, then reads 1 to 9 digits. */
static bool read_number(const uint8_t *bytes, size_t length, size_t *at, uint32_t *number) {
    size_t i = *at;
    while (i < length && (is_space(bytes[i]) || bytes[i] == '#')) {
        if (bytes[i] == '#')
            while (i < length && bytes[i] != '\n' && bytes[i] != '\r') i++;
        else
            i++;
    }
    const size_t first = i;
    *number = 0;
    for (; i < length && bytes[i] >= '0' && bytes[i] <= '9' && i - first < 10; i++)
        *number = *number * 10 + (bytes[i] - '0'); /* a tenth digit may wrap, and is refused */
    *at = i;
    return i > first && i - first < 10;
}

static bool read_pnm_header(const uint8_t *bytes, size_t length, struct header *header) {
    size_t at = 2;
    header->channels = bytes[1] == '5' ? 1 : 3;
    if (!read_number(bytes, length, &at, &header->width) ||
        !read_number(bytes, length, &at, &header->height) ||
        !read_number(bytes, length, &at, &header->maximum))
        return false;
    /* A single whitespace byte: the raster behind it may begin with any byte. */
    if (at >= length || !is_space(bytes[at])) return false;
    header->raster = at + 1;
    return header->width && header->height && header->maximum && header->maximum <= 65535;
}

static size_t row_bytes(const struct header *header) {
    return (size_t)header->width * header->channels * (header->maximum > 255 ? 2 : 1);
}

static uint64_t raster_bytes(const struct header *header) {
    return (uint64_t)row_bytes(header) * header->height;
}

static bool is_pnm(const uint8_t *bytes, size_t length) {
    return length >= 3 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6') &&
           (is_space(bytes[2]) || bytes[2] == '#');
}

/* A second image may follow in the same file. */
static bool has_more(const uint8_t *bytes, size_t length, const struct header *header) {
    const uint64_t end = header->raster + raster_bytes(header);
    return end < length && is_pnm(bytes + end, length - end);
}

static enum status pnm_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                             struct failure *failure) {
    struct header header;
    if (!read_pnm_header(bytes, length, &header))
        return fail(failure, STATUS_CORRUPT,
                    "the PNM's header is broken or cut off; it is P5 or P6, width, height and a "
                    "maximum of 1 to 65535");
    probe->width = header.width;
    probe->height = header.height;
    probe->components = (uint8_t)header.channels;
    probe->bits = header.maximum > 255 ? 16 : 8;
    probe->animated = has_more(bytes, length, &header);
    probe->data_bytes = length - header.raster;
    probe->data_bytes_least = raster_bytes(&header);
    strcpy(probe->space, header.channels == 1 ? "gray" : "rgb");
    probe->shape.channels = (uint8_t)header.channels;
    probe->shape.depth = probe->bits;
    return STATUS_OK;
}

/* Scales samples of 0..MAXIMUM to the full range, rounded half up; false if one is above MAXIMUM,
 * which is taken for MAXIMUM. */
static bool read_row_8(const uint8_t *from, size_t samples, uint32_t maximum, uint8_t *to) {
    uint8_t table[256];
    if (maximum == 255) {
        memcpy(to, from, samples);
        return true;
    }
    memset(table, 255, sizeof table);
    for (uint32_t v = 0; v < maximum; v++)
        table[v] = (uint8_t)((510 * v + maximum) / (2 * maximum));
    bool sound = true;
    for (size_t i = 0; i < samples; i++) {
        sound &= from[i] <= maximum;
        to[i] = table[from[i]];
    }
    return sound;
}

static bool read_row_16(const uint8_t *from, size_t samples, uint32_t maximum, uint16_t *to) {
    bool sound = true;
    for (size_t i = 0; i < samples; i++, from += 2) {
        const uint32_t stored = read_be16(from), v = stored < maximum ? stored : maximum;
        sound &= stored <= maximum;
        to[i] = maximum == 65535
                    ? (uint16_t)v
                    : (uint16_t)((UINT64_C(131070) * v + maximum) / (2 * (uint64_t)maximum));
    }
    return sound;
}

/* STATUS_OK if the caller accepts damage, which is noted with TEXT. */
static enum status damage(const struct decoding *decoding, const char *text) {
    if (!decoding->limits->accept_damage)
        return fail(decoding->failure, STATUS_CORRUPT, "%s; send an intact file", text);
    codec_damage(decoding, text);
    return STATUS_OK;
}

static enum status read_row(const struct decoding *decoding, const struct header *header,
                            uint32_t y) {
    const size_t samples = (size_t)header->width * header->channels;
    const uint8_t *from = decoding->bytes + header->raster + y * row_bytes(header);
    uint8_t *to = image_row(decoding->into, y);
    const bool sound = header->maximum > 255
                           ? read_row_16(from, samples, header->maximum, (uint16_t *)(void *)to)
                           : read_row_8(from, samples, header->maximum, to);
    char text[WARNING_MAX];
    if (sound) return STATUS_OK;
    snprintf(text, sizeof text, "row %u of the PNM holds a sample above its maximum of %u", y,
             header->maximum);
    return damage(decoding, text);
}

/* A file that is cut off has ROWS whole rows; the rest of the next row is dropped. */
static enum status read_pnm_rows(const struct decoding *decoding, const struct header *header,
                                 uint32_t rows) {
    for (uint32_t y = 0; y < rows; y++) {
        enum status status = progress_check(decoding->progress);
        if (status != STATUS_OK) return codec_stopped(status, decoding->failure);
        status = read_row(decoding, header, y);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

static bool is_as_probed(const struct header *header, const struct decoding *decoding) {
    return header->width == decoding->probe->width && header->height == decoding->probe->height &&
           (header->maximum > 255) == (decoding->into->depth == 16) &&
           header->channels == decoding->into->channels;
}

static enum status pnm_decode(const struct decoding *decoding) {
    struct header header;
    if (!read_pnm_header(decoding->bytes, decoding->length, &header) ||
        !is_as_probed(&header, decoding))
        return fail(decoding->failure, STATUS_CORRUPT,
                    "the PNM's header is broken; send an intact file");
    const size_t there = decoding->length - header.raster;
    const uint64_t wanted = raster_bytes(&header);
    if (there >= wanted) return read_pnm_rows(decoding, &header, header.height);
    char text[WARNING_MAX];
    snprintf(text, sizeof text, "the PNM is cut off: %zu of %llu bytes of samples are there", there,
             (unsigned long long)wanted);
    const uint32_t rows = (uint32_t)(there / row_bytes(&header));
    if (!rows) return fail(decoding->failure, STATUS_CORRUPT, "%s; send the whole file", text);
    const enum status status = damage(decoding, text);
    return status ? status : read_pnm_rows(decoding, &header, rows);
}

static size_t pnm_bound(const struct image *image, size_t profile_length) {
    (void)profile_length; /* it cannot be carried */
    /* Gray with alpha may become colour, on a coloured background. */
    const size_t colours = image->channels == 1 ? 1 : 3;
    return HEADER_BYTES_MAX + image->width * colours * (image->depth / 8u) * image->height;
}

static void write_row(const struct image *image, const uint8_t *row, size_t samples, uint8_t *to) {
    if (image->depth == 8) {
        memcpy(to, row, samples);
        return;
    }
    const uint16_t *wide = (const uint16_t *)(const void *)row;
    for (size_t i = 0; i < samples; i++) {
        to[2 * i] = (uint8_t)(wide[i] >> 8);
        to[2 * i + 1] = (uint8_t)wide[i];
    }
}

static enum status write_pnm_rows(const struct encoding *encoding, unsigned colours, uint8_t *to,
                                  uint8_t *scratch) {
    const struct image *image = encoding->image;
    const size_t samples = (size_t)image->width * colours;
    for (uint32_t y = 0; y < image->height; y++, to += samples * (image->depth / 8u)) {
        const enum status status = progress_check(encoding->progress);
        if (status != STATUS_OK) return codec_stopped(status, encoding->failure);
        write_row(
            image,
            flatten_row(image, y, colours, image->depth, encoding->options->background, scratch),
            samples, to);
    }
    return STATUS_OK;
}

static enum status pnm_encode(const struct encoding *encoding) {
    const struct image *image = encoding->image;
    const unsigned colours = flatten_colours(image, encoding->options->background);
    char header[HEADER_BYTES_MAX];
    const size_t head =
        (size_t)snprintf(header, sizeof header, "P%c\n%u %u\n%u\n", colours == 1 ? '5' : '6',
                         image->width, image->height, image_max(image));
    const size_t row = (size_t)image->width * colours * (image->depth / 8u);
    if (head + row * image->height > encoding->capacity) return codec_overflow(encoding);
    uint8_t *scratch = malloc(row);
    if (!scratch)
        return fail(encoding->failure, STATUS_NO_MEMORY, "no memory for a row of the PNM");
    memcpy(encoding->bytes, header, head);
    const enum status status = write_pnm_rows(encoding, colours, encoding->bytes + head, scratch);
    free(scratch);
    if (status != STATUS_OK) return status;
    *encoding->length = head + row * image->height;
    if (image_has_alpha(image)) *encoding->notes |= NOTE_ALPHA_FLATTENED;
    if (encoding->metadata && encoding->metadata->profile_length)
        *encoding->notes |= NOTE_PROFILE_DROPPED;
    return STATUS_OK;
}

/* ---- the record: beside a GPU the costs are the same, and too small to count as its cores' */

#define DECODE_MS 0.02f, 0.05f, 0.1f
#define ENCODE_MS 0.02f, 0.1f

const struct format_record format_pnm = {
    .name = "pnm",
    .title = "PNM",
    .input_title = "binary PNM (P5, P6)",
    .media_types = { "image/x-portable-anymap", "image/x-portable-pixmap",
                     "image/x-portable-graymap" },
    .endings = { "pnm", "ppm", "pgm" },
    .places = { [FORMATS_DESCRIBED] = 5, [FORMATS_OFFERED] = 5, [FORMATS_PREFERRED] = 4 },
    .recognizes = is_pnm,
    .probe = pnm_probe,
    .decode = pnm_decode,
    .decode_costs = { { .cpu = { DECODE_MS }, .gpu = { DECODE_MS } } },
    .depth = 16,
    .encode = pnm_encode,
    .bound = pnm_bound,
    .encode_costs = { { .cpu = { ENCODE_MS }, .gpu = { ENCODE_MS } } },
};
