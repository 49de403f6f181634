// SPDX-License-Identifier: Apache-2.0
/* How it works. The header gives shape and maximum. Raw samples behind it are one block, whose size
 * is known before a sample is read; plain ones are text, read once, number by number. A row of text
 * or of bits is first written as raw samples, in its place in the image. Samples with a maximum
 * other than 255 or 65535 are scaled to the full range, those of 8 bits by a table. */
#include "pipeline/codecs/codecs.h"
#include "pipeline/codecs/common/flatten.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES_MAX = 32 }; /* "P6\n65535 65535\n65535\n" and some */

struct header {
    uint32_t width, height, channels, maximum;
    bool plain;    /* samples are text */
    bool bitmap;   /* 1 is black; eight pixels a byte, or a digit each */
    size_t raster; /* where it starts */
};

static bool is_space(uint8_t byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* The place of the comment's line end. */
static size_t skip_comment(const uint8_t *bytes, size_t length, size_t at) {
    while (at < length && bytes[at] != '\n' && bytes[at] != '\r') at++;
    return at;
}

/* Skips whitespace and comments. */
static size_t skip_space(const uint8_t *bytes, size_t length, size_t at) {
    while (at < length && (is_space(bytes[at]) || bytes[at] == '#'))
        at = bytes[at] == '#' ? skip_comment(bytes, length, at) : at + 1;
    return at;
}

/* Skips whitespace and comments, then reads 1 to 9 digits. */
static bool read_number(const uint8_t *bytes, size_t length, size_t *at, uint32_t *number) {
    const size_t first = skip_space(bytes, length, *at);
    size_t i = first;
    *number = 0;
    for (; i < length && bytes[i] >= '0' && bytes[i] <= '9' && i - first < 10; i++)
        *number = *number * 10 + (bytes[i] - '0'); /* a tenth digit may wrap, and is refused */
    *at = i;
    return i > first && i - first < 10;
}

/* P1 to P6. A single whitespace byte ends the header, since the raster may begin with any byte; it
 * may end a comment. */
static bool read_numbers(const uint8_t *bytes, size_t length, struct header *header) {
    size_t at = 2;
    header->maximum = 1;
    if (!read_number(bytes, length, &at, &header->width) ||
        !read_number(bytes, length, &at, &header->height) ||
        (!header->bitmap && !read_number(bytes, length, &at, &header->maximum)))
        return false;
    if (at < length && bytes[at] == '#') at = skip_comment(bytes, length, at);
    header->raster = at + 1;
    return at < length && is_space(bytes[at]);
}

/* Without a type the number of channels decides. Types with other colours are not read. */
static bool is_tuple_type(const char *type, unsigned channels) {
    static const char *const types[][3] = { { "", "BLACKANDWHITE", "GRAYSCALE" },
                                            { "", "BLACKANDWHITE_ALPHA", "GRAYSCALE_ALPHA" },
                                            { "", "RGB", "RGB" },
                                            { "", "RGB_ALPHA", "RGB_ALPHA" } };
    bool found = false;
    for (int i = 0; i < 3 && channels >= 1 && channels <= 4; i++)
        found |= strcmp(type, types[channels - 1][i]) == 0;
    return found;
}

/* P7: a line for each value, in any order, up to ENDHDR. */
static bool read_lines(const uint8_t *bytes, size_t length, struct header *header) {
    static const char *const names[] = { "WIDTH", "HEIGHT", "DEPTH", "MAXVAL", "TUPLTYPE" };
    uint32_t *const values[] = { &header->width, &header->height, &header->channels,
                                 &header->maximum };
    enum { NAMES = sizeof names / sizeof *names, TYPE = NAMES - 1 };
    char line[96], word[16], value[32], more[2], type[sizeof value] = "";
    const uint8_t *at = bytes + 2, *feed;
    unsigned seen = 0; /* a bit for each name: so few lines have words, however long the file */
    header->channels = 0;
    for (bool done = false; !done; at = feed + 1) {
        feed = memchr(at, '\n', (size_t)(bytes + length - at));
        if (!feed) return false;
        while (at < feed && is_space(*at)) at++;
        if (at == feed || *at == '#') continue;
        const size_t there = (size_t)(feed - at);
        snprintf(line, sizeof line, "%.*s", there < sizeof line ? (int)there : (int)sizeof line - 1,
                 (const char *)at);
        *value = '\0';
        const int words = sscanf(line, "%15s %31s %1s", word, value, more);
        if (words < 1) return false;
        done = words == 1 && strcmp(word, "ENDHDR") == 0;
        if (done) continue;
        size_t digits = 0;
        int i = 0;
        while (i < NAMES && strcmp(word, names[i]) != 0) i++;
        if (i == NAMES || seen >> i & 1 || words > 2) return false;
        seen |= 1u << i;
        if (i == TYPE)
            strcpy(type, value);
        else if (!read_number((uint8_t *)value, strlen(value), &digits, values[i]) || value[digits])
            return false;
    }
    header->raster = (size_t)(at - bytes);
    return is_tuple_type(type, header->channels);
}

static bool read_pnm_header(const uint8_t *bytes, size_t length, struct header *header) {
    const int kind = bytes[1] - '0';
    *header = (struct header){ .channels = kind % 3 ? 1 : 3,
                               .plain = kind <= 3,
                               .bitmap = kind == 1 || kind == 4 };
    return (kind == 7 ? read_lines : read_numbers)(bytes, length, header) && header->width &&
           header->height && header->maximum && header->maximum <= 65535;
}

/* For a raw row. */
static size_t row_bytes(const struct header *header) {
    const size_t samples = (size_t)header->width * header->channels;
    return header->bitmap ? (samples + 7) / 8 : samples * (header->maximum > 255 ? 2 : 1);
}

/* A plain sample is a digit and, unless it is a bit, a blank before the next. */
static uint64_t raster_bytes_least(const struct header *header) {
    const uint64_t samples = (uint64_t)header->width * header->channels * header->height;
    if (header->plain) return header->bitmap ? samples : 2 * samples - 1;
    return (uint64_t)row_bytes(header) * header->height;
}

static bool is_pnm(const uint8_t *bytes, size_t length) {
    return length >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' &&
           (is_space(bytes[2]) || bytes[2] == '#');
}

/* A second image may follow in the same file, if it is raw. */
static bool has_more(const uint8_t *bytes, size_t length, const struct header *header) {
    const uint64_t end = header->raster + raster_bytes_least(header);
    return !header->plain && end < length && is_pnm(bytes + end, length - end);
}

static enum status pnm_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                             struct failure *failure) {
    struct header header;
    if (!read_pnm_header(bytes, length, &header))
        return fail(
            failure, STATUS_CORRUPT,
            bytes[1] == '7'
                ? "the PAM's header is broken or cut off; it has WIDTH, HEIGHT, DEPTH of 1 to 4, "
                  "MAXVAL of 1 to 65535, perhaps a TUPLTYPE of gray or RGB that fits, and ENDHDR"
                : "the PNM's header is broken or cut off; it is P1 to P6, width, height and, but "
                  "for P1 and P4, a maximum of 1 to 65535");
    probe->width = header.width;
    probe->height = header.height;
    probe->components = (uint8_t)header.channels;
    probe->plain = header.plain;
    probe->shape.channels = (uint8_t)header.channels;
    probe->shape.depth = header.maximum > 255 ? 16 : 8;
    probe->bits = header.bitmap ? 1 : probe->shape.depth;
    probe->animated = has_more(bytes, length, &header);
    probe->data_bytes = length - header.raster;
    probe->data_bytes_least = raster_bytes_least(&header);
    strcpy(probe->space, header.channels <= 2 ? "gray" : "rgb");
    return STATUS_OK;
}

/* A sample of text as raw files store it; of a bitmap 1 for white. False: there is none, or it is
 * above the maximum. */
static bool read_sample(const struct decoding *decoding, const struct header *header, size_t *at,
                        uint32_t *sample) {
    if (!header->bitmap)
        return read_number(decoding->bytes, decoding->length, at, sample) &&
               *sample <= header->maximum;
    *at = skip_space(decoding->bytes, decoding->length, *at);
    if (*at == decoding->length) return false;
    *sample = (uint32_t)('1' - decoding->bytes[(*at)++]);
    return *sample <= 1;
}

/* The raw samples of a row: of one byte, or of two, the higher first. *AT is the row's place in the
 * file, and becomes the next row's. ROOM: for a row that is not raw. NULL: it is not whole. */
static const uint8_t *raw_row(const struct decoding *decoding, const struct header *header,
                              size_t *at, uint8_t *room) {
    const size_t samples = (size_t)header->width * header->channels, bytes = row_bytes(header);
    const uint8_t *from = decoding->bytes + *at;
    uint32_t sample;
    if (header->plain) {
        for (size_t i = 0; i < samples; i++) {
            if (!read_sample(decoding, header, at, &sample)) return NULL;
            if (header->maximum > 255) *room++ = (uint8_t)(sample >> 8);
            *room++ = (uint8_t)sample;
        }
        return room - samples * (header->maximum > 255 ? 2 : 1);
    }
    if (decoding->length - *at < bytes) return NULL;
    *at += bytes;
    if (!header->bitmap) return from;
    for (size_t x = 0; x < samples; x++) room[x] = !(from[x / 8] >> (7 - x % 8) & 1);
    return room;
}

/* Scales samples of 0..MAXIMUM to the full range, rounded half up; false if one is above MAXIMUM,
 * which is taken for MAXIMUM. FROM may be TO. */
static bool scale_row_8(const uint8_t *from, size_t samples, uint32_t maximum, uint8_t *to) {
    uint8_t table[256];
    if (maximum == 255) {
        memmove(to, from, samples);
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

static bool scale_row_16(const uint8_t *from, size_t samples, uint32_t maximum, uint16_t *to) {
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

/* Row Y and the rest are dropped; of a plain one some samples may be there. */
static enum status end_at_row(const struct decoding *decoding, const struct header *header,
                              uint32_t y) {
    char text[WARNING_MAX];
    snprintf(text, sizeof text, "row %u of the PNM is cut off%s", y,
             header->plain ? ", or has something other than samples up to the maximum" : "");
    if (!y) return fail(decoding->failure, STATUS_CORRUPT, "%s; send the whole file", text);
    memset(image_row(decoding->into, y), 0, image_row_bytes(decoding->into));
    return damage(decoding, text);
}

static enum status read_pnm_rows(const struct decoding *decoding, const struct header *header) {
    const size_t samples = (size_t)header->width * header->channels;
    size_t at = header->raster;
    for (uint32_t y = 0; y < header->height; y++) {
        enum status status = progress_check(decoding->progress);
        if (status != STATUS_OK) return codec_stopped(status, decoding->failure);
        uint8_t *to = image_row(decoding->into, y);
        const uint8_t *from = raw_row(decoding, header, &at, to);
        if (!from) return end_at_row(decoding, header, y);
        if (header->maximum > 255
                ? scale_row_16(from, samples, header->maximum, (uint16_t *)(void *)to)
                : scale_row_8(from, samples, header->maximum, to))
            continue;
        char text[WARNING_MAX];
        snprintf(text, sizeof text, "row %u of the PNM holds a sample above its maximum of %u", y,
                 header->maximum);
        status = damage(decoding, text);
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
    return read_pnm_rows(decoding, &header);
}

/* Reading text takes a core, also beside a GPU. */
static int pnm_decode_kind(const struct probe *probe) {
    return probe->plain;
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
    if (codec_carried(encoding->metadata, encoding->options, 0, encoding->notes).profile_length)
        *encoding->notes |= NOTE_PROFILE_DROPPED;
    return STATUS_OK;
}

/* ---- the record: beside a GPU the costs of raw files are the same, and too small to count as its
 * cores' */

#define DECODE_MS 0.02f, 0.05f, 0.1f
#define ENCODE_MS 0.02f, 0.1f

const struct format_record format_pnm = {
    .name = "pnm",
    .title = "PNM",
    .media_types = { "image/x-portable-anymap", "image/x-portable-pixmap",
                     "image/x-portable-graymap" },
    .endings = { "pnm", "ppm", "pgm" },
    .places = { [FORMATS_DESCRIBED] = 6, [FORMATS_OFFERED] = 6, [FORMATS_PREFERRED] = 4 },
    .recognizes = is_pnm,
    .probe = pnm_probe,
    .decode = pnm_decode,
    .decode_costs = { { .cpu = { DECODE_MS }, .gpu = { DECODE_MS } },
                      { .cpu = { 0.02f, 5, 0.1f } } }, /* plain */
    .decode_kind = pnm_decode_kind,
    .depth = 16,
    .encode = pnm_encode,
    .bound = pnm_bound,
    .encode_costs = { { .cpu = { ENCODE_MS }, .gpu = { ENCODE_MS } } },
};
