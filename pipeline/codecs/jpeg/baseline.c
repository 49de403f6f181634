// SPDX-License-Identifier: Apache-2.0
/* How it works. Each segment is read strictly: a file that some reader might understand differently
 * is left to the cores. */
#include "pipeline/codecs/jpeg/baseline.h"
#include "pipeline/codecs/codecs.h"
#include "pipeline/codecs/jpeg/lost.h"
#include "pipeline/codecs/jpeg/scan.h"
#include "pipeline/codecs/jpeg/segment.h"

#include <string.h>

/* Limits of all before the scan. The thread that serves a device reads it, while other jobs wait:
 * 64 MiB of empty comments would take 80 ms. */
enum { HEADER_MAX = 2 << 20, SEGMENTS_MAX = 1000 };

enum { TABLES = 4, COEFFICIENTS = 64, COUNTS = 16, DC_SIZE_MAX = 11 };

/* Definitions in the segments before the scan. */
struct tables {
    const uint8_t *quantization[TABLES];   /* NULL: none yet */
    struct jpeg_code codes[2][JPEG_CODES]; /* of DC and of AC; NULL: none yet */
    uint32_t interval;                     /* MCUs from restart to restart; 0: none */
};

/* ---- tables */

/* 8 bit, none of them 0. */
static bool read_quantization(const struct segment *segment, struct tables *tables) {
    if (!segment->length || segment->length % (1 + COEFFICIENTS)) return false;
    for (size_t at = 0; at < segment->length; at += 1 + COEFFICIENTS) {
        const uint8_t *data = segment->data + at;
        if (data[0] >= TABLES || memchr(data + 1, 0, COEFFICIENTS)) return false;
        tables->quantization[data[0]] = data + 1;
    }
    return true;
}

/* No DC code may announce more bits than a difference has, not even a code that no block uses. */
static bool are_sizes(const uint8_t *symbols, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (symbols[i] > DC_SIZE_MAX) return false;
    return true;
}

static bool read_huffman(const struct segment *segment, struct tables *tables) {
    const uint8_t *data = segment->data;
    size_t left = segment->length;
    while (left > 1 + COUNTS) {
        const unsigned kind = data[0] >> 4, number = data[0] & 15;
        size_t count = 0;
        for (int i = 0; i < COUNTS; i++) count += data[1 + i];
        if (kind > 1 || number >= JPEG_CODES || count > 256 || left < 1 + COUNTS + count)
            return false;
        if (kind == 0 && !are_sizes(data + 1 + COUNTS, count)) return false;
        if (!huffman_is_code(data + 1)) return false;
        tables->codes[kind][number] = (struct jpeg_code){ data + 1, data + 1 + COUNTS };
        data += 1 + COUNTS + count;
        left -= 1 + COUNTS + count;
    }
    return left == 0 && segment->length > 0;
}

static bool read_interval(const struct segment *segment, struct tables *tables) {
    if (segment->length != 2) return false;
    tables->interval = read_be16(segment->data);
    return true;
}

/* Whether an application's segment leaves no doubt about the colours: libjpeg warns of odd
 * transforms of Adobe's, and 0 is RGB to some. */
static bool is_common(const struct segment *segment, const struct probe *probe, uint32_t *notes) {
    const uint8_t *data = segment->data;
    if (segment->marker == MARKER_APP0 && segment->length >= 5 && memcmp(data, "JFIF", 5) == 0) {
        if (segment->length >= 14 && data[5] != 1) *notes |= NOTE_HEADER_ODD;
        return segment->length >= 14;
    }
    if (segment->marker == MARKER_APP14 && segment->length >= 5 && memcmp(data, "Adobe", 5) == 0)
        return probe->components == 1 || (segment->length >= 12 && data[11] == 1);
    return true;
}

static bool read_other(const struct segment *segment, const struct probe *probe,
                       struct tables *tables, uint32_t *notes) {
    switch (segment->marker) {
    case MARKER_DQT: return read_quantization(segment, tables);
    case MARKER_DHT: return read_huffman(segment, tables);
    case MARKER_DRI: return read_interval(segment, tables);
    case MARKER_COM: return true;
    default:
        return segment->marker >= MARKER_APP0 && segment->marker <= MARKER_APP15 &&
               is_common(segment, probe, notes);
    }
}

/* ---- frame and scan */

/* Ids, sampling factors and tables of the frame: three bytes a component behind six. */
static bool read_frame(const struct segment *frame, const struct probe *probe,
                       struct jpeg_baseline *out) {
    const unsigned components = probe->components;
    if (frame->length != 6 + 3 * components || frame->data[0] != 8) return false;
    if (read_be16(frame->data + 1) != probe->height || read_be16(frame->data + 3) != probe->width)
        return false;
    for (unsigned c = 0; c < components; c++) {
        if (c > 0 && frame->data[7 + 3 * c] != 0x11) return false;
        for (unsigned d = 0; d < c; d++)
            if (frame->data[6 + 3 * d] == frame->data[6 + 3 * c]) return false;
    }
    const unsigned luma = frame->data[7]; /* both factors in a byte */
    out->across = (uint8_t)(luma >> 4);
    out->down = luma & 15;
    return luma == 0x11 || (components == 3 && (luma == 0x21 || luma == 0x22));
}

/* All components in the frame's order, by tables that are there. Of a sequential frame the scan has
 * all coefficients at once, whatever the header says. */
static bool read_scan(const struct segment *header, const struct segment *frame,
                      const struct tables *tables, struct jpeg_baseline *jpeg) {
    const int components = jpeg->into.channels;
    const uint8_t *range = header->data + 1 + 2 * components;
    if (header->length != 4u + 2u * (unsigned)components || header->data[0] != components)
        return false;
    for (int c = 0; c < components; c++) {
        const uint8_t *selector = header->data + 1 + 2 * c, *its = frame->data + 6 + 3 * c;
        const unsigned dc = selector[1] >> 4, ac = selector[1] & 15, quantization = its[2];
        if (selector[0] != its[0] || dc >= JPEG_CODES || ac >= JPEG_CODES || quantization >= TABLES)
            return false;
        if (!tables->codes[0][dc].counts || !tables->codes[1][ac].counts ||
            !tables->quantization[quantization])
            return false;
        jpeg->dc[c] = (uint8_t)dc;
        jpeg->ac[c] = (uint8_t)ac;
        memcpy(jpeg->steps[c], tables->quantization[quantization], COEFFICIENTS);
    }
    memcpy(jpeg->dc_codes, tables->codes[0], sizeof jpeg->dc_codes);
    memcpy(jpeg->ac_codes, tables->codes[1], sizeof jpeg->ac_codes);
    jpeg->interval = tables->interval;
    jpeg->scan = header->data + header->length;
    if (range[0] != 0 || range[1] != COEFFICIENTS - 1 || range[2] != 0)
        jpeg->notes |= NOTE_HEADER_ODD;
    return true;
}

static bool is_sound(const struct jpeg_baseline *jpeg) {
    struct huffman codes[2][JPEG_CODES]; /* 18 KB */
    struct jpeg_scan scan = {
        .components = jpeg->into.channels,
        .across = jpeg->across,
        .down = jpeg->down,
        .width = jpeg->width,
        .height = jpeg->height,
        .interval = jpeg->interval,
    };
    for (int i = 0; i < JPEG_CODES; i++) {
        const struct jpeg_code *dc = &jpeg->dc_codes[i], *ac = &jpeg->ac_codes[i];
        if (dc->counts && !huffman_make(&codes[0][i], dc->counts, dc->symbols)) return false;
        if (ac->counts && !huffman_make(&codes[1][i], ac->counts, ac->symbols)) return false;
    }
    for (int c = 0; c < scan.components; c++) {
        scan.dc[c] = &codes[0][jpeg->dc[c]];
        scan.ac[c] = &codes[1][jpeg->ac[c]];
        scan.quantization[c] = jpeg->steps[c];
    }
    return jpeg_scan_is_sound(&scan, jpeg->scan, (size_t)(jpeg->bytes + jpeg->length - jpeg->scan));
}

/* ---- all of it */

static bool is_plain(const struct probe *probe, const struct codec_limits *limits) {
    const bool known = strcmp(probe->space, "gray") == 0 || strcmp(probe->space, "ycbcr") == 0;
    return probe->format == FORMAT_JPEG && known && !probe->progressive && limits->scans_max > 0 &&
           (uint64_t)probe->width * probe->height <= limits->scan_pixels_max;
}

bool jpeg_baseline_read_header(const uint8_t *bytes, size_t length, const struct probe *probe,
                               const struct codec_limits *limits, struct jpeg_baseline *out) {
    struct segment segment, frame = { .marker = 0 };
    struct tables tables = { .interval = 0 };
    const size_t most = length < HEADER_MAX ? length : HEADER_MAX;
    size_t at = 2; /* past SOI */
    *out = (struct jpeg_baseline){ .bytes = bytes,
                                   .length = length,
                                   .width = probe->width,
                                   .height = probe->height,
                                   .orientation = probe->orientation,
                                   .into = probe->shape };
    if (!is_plain(probe, limits)) return false;
    for (int i = 0; i < SEGMENTS_MAX && jpeg_segment(bytes, most, &at, &segment); i++) {
        if (segment.skipped) out->notes |= NOTE_BYTES_SKIPPED;
        if (segment.marker == MARKER_SOS)
            return frame.marker && read_scan(&segment, &frame, &tables, out) &&
                   !(out->notes & NOTE_BYTES_SKIPPED && jpeg_lost_matters(bytes, at, probe));
        if (segment.marker != MARKER_SOF0) {
            if (!read_other(&segment, probe, &tables, &out->notes)) return false;
            continue;
        }
        if (frame.marker || !read_frame(&segment, probe, out)) return false;
        frame = segment;
    }
    return false;
}

bool jpeg_baseline_read(const uint8_t *bytes, size_t length, const struct probe *probe,
                        const struct codec_limits *limits, struct jpeg_baseline *out) {
    return jpeg_baseline_read_header(bytes, length, probe, limits, out) && is_sound(out);
}
