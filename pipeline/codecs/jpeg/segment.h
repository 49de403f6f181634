// SPDX-License-Identifier: Apache-2.0
/* segment.h - one marker segment of a JPEG after the other, read from bytes of a stranger.
 *
 * Used by:  the readers of a JPEG's header.
 * Fails:    false where the bytes end, or a length makes no sense.
 * Limits:   none: bytes before a marker are skipped as libjpeg skips them, so that libjpeg and the
 *           probe see the same segments; the decoder limits their number. Nothing is skipped
 *           before SOI: an image is known by its first bytes, here and in browsers.
 * Source:   ITU-T T.81, annex B; next_marker() of libjpeg's jdmarker.c.
 */
#ifndef BURIN_JPEG_SEGMENT_H
#define BURIN_JPEG_SEGMENT_H

#include "pipeline/codecs/codecs.h"

#include <stdbool.h>

/* Names of EXIF and XMP in an APP1, each with its last NUL. */
#define JPEG_EXIF_NAME "Exif\0"
#define JPEG_XMP_NAME  "http://ns.adobe.com/xap/1.0/"

enum {
    MARKER_SOF0 = 0xc0,
    MARKER_DHT = 0xc4,
    MARKER_JPG = 0xc8,
    MARKER_DAC = 0xcc,
    MARKER_SOF15 = 0xcf,
    MARKER_RST0 = 0xd0,
    MARKER_RST7 = 0xd7,
    MARKER_EOI = 0xd9,
    MARKER_SOS = 0xda,
    MARKER_DQT = 0xdb,
    MARKER_DRI = 0xdd,
    MARKER_APP0 = 0xe0,
    MARKER_APP1 = 0xe1,
    MARKER_APP2 = 0xe2,
    MARKER_APP14 = 0xee,
    MARKER_APP15 = 0xef,
    MARKER_COM = 0xfe,
    MARKER_TEM = 0x01,
};

struct segment {
    unsigned marker;
    const uint8_t *data;
    size_t length;
    size_t skipped; /* bytes in front of its marker that belong to nothing */
};

/* The next marker's place behind its 0xff, or LENGTH; a 0xff stands before any number of others,
 * and one before a 0 is no marker. */
static inline size_t jpeg_marker(const uint8_t *bytes, size_t length, size_t at) {
    for (;;) {
        while (at < length && bytes[at] != 0xff) at++;
        while (at < length && bytes[at] == 0xff) at++;
        if (at >= length || bytes[at] != 0) return at;
    }
}

/* The segment at *AT, which moves past it; false where the bytes end or make no sense. */
static inline bool jpeg_segment(const uint8_t *bytes, size_t length, size_t *at,
                                struct segment *segment) {
    size_t i = jpeg_marker(bytes, length, *at), fill = i;
    if (i >= length) return false;
    while (fill > *at && bytes[fill - 1] == 0xff) fill--;
    segment->skipped = fill - *at;
    segment->marker = bytes[i++];
    segment->length = 0;
    segment->data = bytes + i;
    *at = i;
    if (segment->marker == MARKER_TEM || segment->marker == MARKER_EOI ||
        (segment->marker >= MARKER_RST0 && segment->marker <= MARKER_RST7))
        return true;
    if (length - i < 2) return false;
    const size_t size = read_be16(bytes + i); /* counts itself */
    if (size < 2 || size > length - i) return false;
    segment->data = bytes + i + 2;
    segment->length = size - 2;
    *at = i + size;
    return true;
}

static inline bool jpeg_is_frame(unsigned marker) {
    return marker >= MARKER_SOF0 && marker <= MARKER_SOF15 && marker != MARKER_DHT &&
           marker != MARKER_JPG && marker != MARKER_DAC;
}

#endif
