// SPDX-License-Identifier: Apache-2.0
/* How it works. Segment after segment, in the order in which encoder.c has them: JFIF, EXIF, XMP,
 * the profile in pieces, the tables of quantization, the frame, the Huffman tables, the scan. */
#include "pipeline/codecs/jpeg/prologue.h"

#include "pipeline/codecs/jpeg/segment.h"

#include <string.h>

enum {
    FULL_CHROMA_QUALITY = 95, /* and above: 4:4:4, below: 4:2:0, as encoder.c has it */
    PROFILE_PIECE = 65519,    /* of an ICC profile in an APP2 segment */
    PROFILE_PIECE_HEAD = 18,  /* marker, length, name, number, count */
    SEGMENT_HEAD = 4,         /* marker and length */
    DQT_BYTES = 5 + JPEG_BLOCK,
    DHT_HEAD = 5 + JPEG_CODE_BITS_MAX,
    JFIF_BYTES = 2 + 18, /* with SOI */
};

/* ISO/IEC 10918-1, annex K.1. */
static const uint8_t standard_steps[2][JPEG_BLOCK] = {
    { 16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,
      14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,
      18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,
      49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99 },
    { 17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99,
      99, 99, 47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
      99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99 },
};

void jpeg_quantization_steps(unsigned quality, int which, uint8_t steps[JPEG_BLOCK]) {
    const unsigned scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
    for (int i = 0; i < JPEG_BLOCK; i++) {
        const unsigned step = (standard_steps[which][i] * scale + 50) / 100;
        steps[i] = (uint8_t)(step < 1 ? 1 : step > 255 ? 255 : step);
    }
}

enum jpeg_sampling jpeg_sampling_of(unsigned colours, unsigned quality) {
    if (colours == 1) return JPEG_GRAY;
    return quality >= FULL_CHROMA_QUALITY ? JPEG_444 : JPEG_420;
}

static int classes_of(enum jpeg_sampling sampling) {
    return sampling == JPEG_GRAY ? 1 : 2;
}

static unsigned components_of(enum jpeg_sampling sampling) {
    return sampling == JPEG_GRAY ? 1 : 3;
}

static size_t profile_pieces(size_t profile_length) {
    return (profile_length + PROFILE_PIECE - 1) / PROFILE_PIECE;
}

/* From the Huffman tables on, which come after the frame. */
static size_t bytes_after_frame(enum jpeg_sampling sampling) {
    size_t bytes = 8 + 2 * components_of(sampling); /* SOS */
    for (int i = 0; i < classes_of(sampling); i++)
        bytes += 2 * DHT_HEAD + jpeg_standard_dc[i].symbol_count + jpeg_standard_ac[i].symbol_count;
    return bytes;
}

static size_t frame_bytes(enum jpeg_sampling sampling) {
    return 10 + 3 * components_of(sampling);
}

/* Bytes of an APP1 whose name has NAME_LENGTH bytes; without content there is none. */
static size_t app1_bytes(size_t name_length, size_t length) {
    return length ? SEGMENT_HEAD + name_length + length : 0;
}

size_t jpeg_prologue_bytes(enum jpeg_sampling sampling, const struct carried *carried) {
    const size_t profile =
        carried->profile_length + profile_pieces(carried->profile_length) * PROFILE_PIECE_HEAD;
    return JFIF_BYTES + app1_bytes(sizeof JPEG_EXIF_NAME, carried->exif_length) +
           app1_bytes(sizeof JPEG_XMP_NAME, carried->xmp_length) + profile +
           (size_t)classes_of(sampling) * DQT_BYTES + frame_bytes(sampling) +
           bytes_after_frame(sampling);
}

/* ---- segments */

static uint8_t *put(uint8_t *at, const void *bytes, size_t length) {
    memcpy(at, bytes, length);
    return at + length;
}

static uint8_t *put_be16(uint8_t *at, size_t value) {
    *at++ = (uint8_t)(value >> 8);
    *at++ = (uint8_t)value;
    return at;
}

/* LENGTH counts what follows the two bytes of the length. */
static uint8_t *put_marker(uint8_t *at, uint8_t marker, size_t length) {
    *at++ = 0xff;
    *at++ = marker;
    return put_be16(at, length + 2);
}

static uint8_t *put_app1(uint8_t *at, const char *name, size_t name_length, const uint8_t *bytes,
                         size_t length) {
    if (!length) return at;
    at = put_marker(at, MARKER_APP1, name_length + length);
    at = put(at, name, name_length);
    return put(at, bytes, length);
}

static uint8_t *put_profile(uint8_t *at, const uint8_t *profile, size_t length) {
    const size_t pieces = profile_pieces(length);
    for (size_t i = 0; i < pieces; i++) {
        const size_t left = length - i * PROFILE_PIECE;
        const size_t piece = left < PROFILE_PIECE ? left : PROFILE_PIECE;
        at = put_marker(at, 0xe2, 14 + piece);
        at = put(at, "ICC_PROFILE", 12);
        *at++ = (uint8_t)(i + 1);
        *at++ = (uint8_t)pieces;
        at = put(at, profile + i * PROFILE_PIECE, piece);
    }
    return at;
}

static uint8_t *put_steps(uint8_t *at, unsigned quality, int which) {
    static const uint8_t order[] = JPEG_ZIGZAG;
    uint8_t steps[JPEG_BLOCK];
    jpeg_quantization_steps(quality, which, steps);
    at = put_marker(at, 0xdb, 1 + JPEG_BLOCK);
    *at++ = (uint8_t)which;
    for (int i = 0; i < JPEG_BLOCK; i++) *at++ = steps[order[i]];
    return at;
}

static uint8_t *put_frame(uint8_t *at, const struct jpeg_frame *frame) {
    const unsigned components = components_of((enum jpeg_sampling)frame->sampling);
    at = put_marker(at, 0xc0, 6 + 3 * components);
    *at++ = 8;
    at = put_be16(at, frame->height);
    at = put_be16(at, frame->width);
    *at++ = (uint8_t)components;
    for (unsigned i = 0; i < components; i++) {
        *at++ = (uint8_t)(i + 1);
        *at++ = i == 0 && frame->sampling == JPEG_420 ? 0x22 : 0x11;
        *at++ = i > 0;
    }
    return at;
}

static uint8_t *put_codes(uint8_t *at, const struct jpeg_huffman_table *table, int number) {
    at = put_marker(at, 0xc4, 1 + JPEG_CODE_BITS_MAX + table->symbol_count);
    *at++ = (uint8_t)number;
    at = put(at, table->counts, JPEG_CODE_BITS_MAX);
    return put(at, table->symbols, table->symbol_count);
}

static void put_scan(uint8_t *at, unsigned components) {
    at = put_marker(at, 0xda, 4 + 2 * components);
    *at++ = (uint8_t)components;
    for (unsigned i = 0; i < components; i++) {
        *at++ = (uint8_t)(i + 1);
        *at++ = i ? 0x11 : 0;
    }
    put(at, "\0\x3f\0", 3); /* all coefficients, whole */
}

void jpeg_prologue_write(const struct jpeg_frame *frame, unsigned quality,
                         const struct carried *carried, uint8_t *bytes) {
    const enum jpeg_sampling sampling = (enum jpeg_sampling)frame->sampling;
    uint8_t *at = put(bytes, "\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0", JFIF_BYTES);
    at = put_app1(at, JPEG_EXIF_NAME, sizeof JPEG_EXIF_NAME, carried->exif, carried->exif_length);
    at = put_app1(at, JPEG_XMP_NAME, sizeof JPEG_XMP_NAME, carried->xmp, carried->xmp_length);
    at = put_profile(at, carried->profile, carried->profile_length);
    for (int i = 0; i < classes_of(sampling); i++) at = put_steps(at, quality, i);
    at = put_frame(at, frame);
    for (int i = 0; i < classes_of(sampling); i++) {
        at = put_codes(at, &jpeg_standard_dc[i], i);
        at = put_codes(at, &jpeg_standard_ac[i], 0x10 | i);
    }
    put_scan(at, components_of(sampling));
}

void jpeg_prologue_resize(const struct jpeg_frame *frame, uint8_t *bytes, size_t length) {
    const enum jpeg_sampling sampling = (enum jpeg_sampling)frame->sampling;
    put_frame(bytes + length - bytes_after_frame(sampling) - frame_bytes(sampling), frame);
}
