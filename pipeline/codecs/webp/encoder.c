// SPDX-License-Identifier: Apache-2.0
/* How it works. libwebp takes one word a pixel, alpha highest, and writes a file in pieces. For a
 * colour profile or metadata that file begins further back in the caller's memory, and then gets a
 * new head: RIFF, VP8X, ICCP, behind them the chunks of the picture, then EXIF and XMP. libwebp
 * keeps nothing between calls and starts no threads, so the bytes depend on nothing else. */
#include "pipeline/codecs/common/argb_row.h"
#include "pipeline/codecs/webp/chunks.h"
#include "pipeline/codecs/webp/codec.h"
#include "pipeline/codecs/webp/memory.h"

#include <stdlib.h>
#include <string.h>

#include <webp/encode.h>

enum {
    MACROBLOCK = 16,
    /* A coefficient takes two bytes at most, a macroblock has 384; the lossless alpha of a pixel
     * takes little more than its byte. Lossless pixels are at most four bytes and their codes. */
    PIXEL_BYTES_MAX = 6,
    HEADERS = 8192 /* chunks, and probabilities or codes of an image however small */
};

struct writer {
    const struct encoding *encoding;
    size_t start, used; /* of the output's bytes */
    bool overflow;
    struct carried carried;
    struct webp_memory memory;
};

/* Bytes of a chunk, padded; without content there is none. */
static size_t chunk_bytes(size_t length) {
    return length ? WEBP_CHUNK_HEAD + length + (length & 1) : 0;
}

size_t webp_bound(const struct image *image, size_t profile_length) {
    const size_t across = (image->width + MACROBLOCK - 1) / MACROBLOCK;
    const size_t down = (image->height + MACROBLOCK - 1) / MACROBLOCK;
    return across * down * MACROBLOCK * MACROBLOCK * PIXEL_BYTES_MAX + HEADERS +
           chunk_bytes(profile_length);
}

/* ns a pixel of noise between two allocations of libwebp, on a core of an EPYC. */
double webp_still_ms(const struct image *image, const struct encode_options *options) {
    const bool alpha = image_has_alpha(image) && !options->lossless;
    const double ns = alpha && options->effort == 6 ? 1100 : 100;
    return (double)image_pixels(image) * ns / 1e6;
}

/* ---- pixels */

static bool fill(WebPPicture *picture, const struct image *image) {
    picture->use_argb = 1;
    picture->width = (int)image->width;
    picture->height = (int)image->height;
    if (!WebPPictureAlloc(picture)) return false;
    for (uint32_t y = 0; y < image->height; y++)
        argb_row(image, y, picture->argb + (size_t)y * (size_t)picture->argb_stride);
    return true;
}

/* ---- what libwebp calls */

static int on_bytes(const uint8_t *bytes, size_t length, const WebPPicture *picture) {
    struct writer *writer = picture->custom_ptr;
    writer->overflow |= length > writer->encoding->capacity - writer->used;
    if (writer->overflow) return 0;
    memcpy(writer->encoding->bytes + writer->used, bytes, length);
    writer->used += length;
    return 1;
}

static int on_progress(int percent, const WebPPicture *picture) {
    struct writer *writer = picture->user_data;
    (void)percent;
    writer->memory.stopped = progress_check(writer->encoding->progress);
    return writer->memory.stopped == STATUS_OK;
}

/* ---- chunks around the picture */

static uint8_t *put_chunk(uint8_t *at, const char *name, const uint8_t *bytes, size_t length) {
    if (!length) return at;
    webp_write_chunk(at, name, length);
    memcpy(at + WEBP_CHUNK_HEAD, bytes, length);
    if (length & 1) at[WEBP_CHUNK_HEAD + length] = 0;
    return at + chunk_bytes(length);
}

/* LENGTH: of the whole file. */
static void write_head(const struct writer *writer, size_t length, bool alpha) {
    const struct encoding *encoding = writer->encoding;
    const struct carried *carried = &writer->carried;
    uint8_t *at = encoding->bytes;
    webp_write_chunk(at, "RIFF", length - WEBP_CHUNK_HEAD);
    memcpy(at + WEBP_CHUNK_HEAD, "WEBP", 4);
    at += WEBP_FILE_HEAD;
    webp_write_chunk(at, "VP8X", WEBP_VP8X_BYTES - WEBP_CHUNK_HEAD);
    memset(at + WEBP_CHUNK_HEAD, 0, 4);
    at[WEBP_CHUNK_HEAD] = (carried->profile_length ? WEBP_HAS_PROFILE : 0) |
                          (carried->exif_length ? WEBP_HAS_EXIF : 0) |
                          (carried->xmp_length ? WEBP_HAS_XMP : 0) | (alpha ? WEBP_HAS_ALPHA : 0);
    write_le24(at + 12, encoding->image->width - 1);
    write_le24(at + 15, encoding->image->height - 1);
    put_chunk(at + WEBP_VP8X_BYTES, "ICCP", carried->profile, carried->profile_length);
}

/* libwebp's file is at `start`, so that the chunks of its picture are in place if it has no VP8X of
 * its own, which it writes for alpha alone. */
static enum status add_carried(struct writer *writer) {
    const struct carried *carried = &writer->carried;
    uint8_t *bytes = writer->encoding->bytes;
    const uint8_t *file = bytes + writer->start;
    const size_t place = writer->start + WEBP_FILE_HEAD;
    const bool extended = memcmp(file + WEBP_FILE_HEAD, "VP8X", 4) == 0;
    const bool lossless = memcmp(file + WEBP_FILE_HEAD, "VP8L", 4) == 0;
    const size_t from = place + (extended ? WEBP_VP8X_BYTES : 0), pictures = writer->used - from;
    /* A VP8L has 28 bits of sides behind its signature, then a bit for alpha. */
    const bool alpha = extended || (lossless && file[WEBP_FILE_HEAD + 12] & 0x10);
    const size_t behind = chunk_bytes(carried->exif_length) + chunk_bytes(carried->xmp_length);
    writer->used = place + pictures;
    if (behind > writer->encoding->capacity - writer->used) return codec_overflow(writer->encoding);
    memmove(bytes + place, bytes + from, pictures);
    uint8_t *at = put_chunk(bytes + writer->used, "EXIF", carried->exif, carried->exif_length);
    put_chunk(at, "XMP ", carried->xmp, carried->xmp_length);
    writer->used += behind;
    write_head(writer, writer->used, alpha);
    return STATUS_OK;
}

/* ---- all of it */

static enum status report_error(const struct writer *writer, WebPEncodingError error) {
    struct failure *failure = writer->encoding->failure;
    if (writer->overflow) return codec_overflow(writer->encoding); /* reported as various errors */
    if (writer->memory.stopped) return codec_stopped(writer->memory.stopped, failure);
    switch (error) {
    case VP8_ENC_ERROR_OUT_OF_MEMORY:
    case VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY:
        return fail(failure, STATUS_NO_MEMORY, "no memory for the WebP codec");
    case VP8_ENC_ERROR_PARTITION0_OVERFLOW:
    case VP8_ENC_ERROR_PARTITION_OVERFLOW:
    case VP8_ENC_ERROR_FILE_TOO_BIG:
        return fail(failure, STATUS_TOO_LARGE,
                    "the result has more detail than a WebP can hold; ask for a lower quality, a "
                    "smaller image or another type");
    default: return fail(failure, STATUS_INTERNAL, "the WebP codec failed (%d)", (int)error);
    }
}

/* For lossless files `quality` is an effort beside `method`. Twice the value takes three times as
 * long on a photograph, for a thousandth of the bytes. */
static const float lossless_quality[] = { 0, 20, 25, 25, 25, 25, 50 };

static void configure(WebPConfig *config, const struct encode_options *options) {
    WebPConfigInit(config);
    config->method = options->effort;
    config->lossless = options->lossless;
    config->exact = options->lossless; /* colours under transparent pixels too */
    config->quality =
        options->lossless ? lossless_quality[options->effort] : (float)options->quality;
}

static enum status write_webp(struct writer *writer, WebPPicture *picture) {
    const struct encoding *encoding = writer->encoding;
    WebPConfig config;
    configure(&config, encoding->options);
    picture->writer = on_bytes;
    picture->custom_ptr = writer;
    picture->progress_hook = on_progress;
    picture->user_data = writer;
    if (!fill(picture, encoding->image))
        return fail(encoding->failure, STATUS_NO_MEMORY, "no memory for the pixels of the WebP");
    webp_memory_begin(&writer->memory);
    const bool done = WebPEncode(&config, picture);
    webp_memory_end();
    return done ? STATUS_OK : report_error(writer, picture->error_code);
}

enum status webp_encode(const struct encoding *encoding) {
    struct writer writer = { .encoding = encoding,
                             .memory = { .left = SIZE_MAX, .progress = encoding->progress } };
    WebPPicture picture;
    writer.carried = codec_carried(encoding->metadata, encoding->options, 3, encoding->notes);
    const bool extended = carried_bytes(&writer.carried) > 0;
    if (!WebPPictureInit(&picture))
        return fail(encoding->failure, STATUS_INTERNAL,
                    "the installed libwebp does not match the one Burin was built with");
    if (extended) writer.start = WEBP_VP8X_BYTES + chunk_bytes(writer.carried.profile_length);
    if (writer.start > encoding->capacity) return codec_overflow(encoding);
    writer.used = writer.start;
    enum status status = write_webp(&writer, &picture);
    WebPPictureFree(&picture);
    if (!status && extended) status = add_carried(&writer);
    if (status) return status;
    *encoding->length = writer.used;
    if (encoding->image->depth == 16) *encoding->notes |= NOTE_DEPTH_CUT;
    return STATUS_OK;
}
