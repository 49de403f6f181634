// SPDX-License-Identifier: Apache-2.0
/* webp_files.h - WebPs for the tests: pictures by libwebp's encoder, the container by hand.
 *
 * Owns:   what a function returns is the caller's; free() its bytes or pixels.
 */
#ifndef BURIN_WEBP_FILES_H
#define BURIN_WEBP_FILES_H

#include "tests/pipeline/codecs/made_files.h"

#include <webp/decode.h>
#include <webp/encode.h>

enum { VP8X_ANIMATED = 2, VP8X_XMP = 4, VP8X_EXIF = 8, VP8X_ALPHA = 16, VP8X_ICC = 32 };

static inline void put_le(uint8_t *to, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t get_le32(const uint8_t *from) {
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static inline void append(struct bytes *bytes, const void *more, size_t length) {
    bytes->data = realloc(bytes->data, bytes->length + length + !length);
    assert_non_null(bytes->data);
    if (length) memcpy(bytes->data + bytes->length, more, length);
    bytes->length += length;
}

/* NAME, LENGTH, DATA, and a byte of padding where it is odd. */
static inline void append_chunk(struct bytes *bytes, const char *name, const void *data,
                                size_t length) {
    uint8_t head[8];
    memcpy(head, name, 4);
    put_le(head + 4, (uint32_t)length, 4);
    append(bytes, head, 8);
    append(bytes, data, length);
    append(bytes, "", length & 1);
}

static inline struct bytes begin_riff(void) {
    struct bytes bytes = { 0 };
    append(&bytes, "RIFF\0\0\0\0WEBP", 12);
    return bytes;
}

/* Writes the file's length into the head. */
static inline struct bytes end_riff(struct bytes bytes) {
    put_le(bytes.data + 4, (uint32_t)bytes.length - 8, 4);
    return bytes;
}

static inline struct bytes begin_extended(unsigned flags, uint32_t width, uint32_t height) {
    struct bytes bytes = begin_riff();
    uint8_t vp8x[10] = { (uint8_t)flags };
    put_le(vp8x + 4, width - 1, 3);
    put_le(vp8x + 7, height - 1, 3);
    append_chunk(&bytes, "VP8X", vp8x, sizeof vp8x);
    return bytes;
}

/* Simple or, for a lossy one with alpha, extended, as libwebp writes it. */
static inline struct bytes make_webp(const struct image *image, bool lossless) {
    uint8_t *data = NULL;
    const int w = (int)image->width, h = (int)image->height, stride = (int)image->stride;
    const size_t length =
        image->channels == 4
            ? (lossless ? WebPEncodeLosslessRGBA(image->pixels, w, h, stride, &data)
                        : WebPEncodeRGBA(image->pixels, w, h, stride, 75, &data))
            : (lossless ? WebPEncodeLosslessRGB(image->pixels, w, h, stride, &data)
                        : WebPEncodeRGB(image->pixels, w, h, stride, 75, &data));
    assert_true(length > 20);
    struct bytes bytes = { 0 };
    append(&bytes, data, length);
    WebPFree(data);
    return bytes;
}

/* The chunks of the picture alone, from the first that is no VP8X. */
static inline struct bytes picture_chunks(const struct image *image, bool lossless) {
    struct bytes whole = make_webp(image, lossless), chunks = { 0 };
    const size_t at = memcmp(whole.data + 12, "VP8X", 4) == 0 ? 30 : 12;
    append(&chunks, whole.data + at, whole.length - at);
    free(whole.data);
    return chunks;
}

/* An ANMF with PICTURE's chunks at 2 LEFT, 2 TOP. */
static inline void append_frame(struct bytes *bytes, uint32_t left, uint32_t top, uint32_t width,
                                uint32_t height, const struct bytes *picture) {
    struct bytes frame = { 0 };
    uint8_t head[16] = { 0 };
    put_le(head, left, 3);
    put_le(head + 3, top, 3);
    put_le(head + 6, width - 1, 3);
    put_le(head + 9, height - 1, 3);
    put_le(head + 12, 100, 3);
    append(&frame, head, sizeof head);
    append(&frame, picture->data, picture->length);
    append_chunk(bytes, "ANMF", frame.data, frame.length);
    free(frame.data);
}

/* libwebp's plain decoder reads the file: RGB, or RGBA where it finds alpha. */
static inline struct image plain_webp(const struct bytes *bytes) {
    WebPBitstreamFeatures features;
    assert_int_equal(WebPGetFeatures(bytes->data, bytes->length, &features), VP8_STATUS_OK);
    struct image image = new_image((uint32_t)features.width, (uint32_t)features.height,
                                   features.has_alpha ? 4 : 3, 8);
    const size_t room = image_bytes(&image);
    assert_non_null(
        features.has_alpha
            ? WebPDecodeRGBAInto(bytes->data, bytes->length, image.pixels, room, (int)image.stride)
            : WebPDecodeRGBInto(bytes->data, bytes->length, image.pixels, room, (int)image.stride));
    return image;
}

#endif
