// SPDX-License-Identifier: Apache-2.0
/* How it works. libwebp's incremental decoder gets the picture's bytes piece by piece and writes
 * rows into their places. Between two pieces the decoder checks whether the picture is still
 * wanted, and after damage how many rows there are. libwebp writes from the top, so the rows of a
 * turned picture are kept and moved at the end. libwebp gets only the chunks of the picture, reads
 * nothing else in the file, and starts no threads. */
#include "pipeline/codecs/common/oriented_rows.h"
#include "pipeline/codecs/webp/codec.h"
#include "pipeline/codecs/webp/memory.h"

#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>

enum {
    PIECE_BYTES = 1 << 14,  /* the first piece, and the least */
    PIECE_PIXELS = 1 << 20, /* about the pixels of a later piece: some 15 ms of a core */
};

struct reader {
    const struct decoding *decoding;
    struct webp_header header;
    struct oriented_rows rows;
    struct webp_memory memory;
    WebPDecoderConfig config;
    WebPIDecoder *decoder;
    uint32_t rows_done; /* of the frame */
};

/* ---- where pixels go */

static enum status take_webp_memory(struct reader *reader) {
    const struct decoding *decoding = reader->decoding;
    const struct probe *probe = decoding->probe;
    oriented_rows_plan(&reader->rows, decoding->into, probe->orientation, probe->width,
                       probe->height);
    const size_t bytes = oriented_rows_memory(&reader->rows, probe->height);
    if (bytes > reader->memory.left)
        return fail(decoding->failure, STATUS_TOO_LARGE,
                    "turning this WebP takes %zu bytes and %zu are allowed (codec_memory_bytes); "
                    "send it upright",
                    bytes, reader->memory.left);
    reader->memory.left -= bytes;
    if (oriented_rows_init(&reader->rows, probe->height)) return STATUS_OK;
    return fail(decoding->failure, STATUS_NO_MEMORY, "no memory for rows of the WebP");
}

/* The frame's pixel (0, Y). */
static uint8_t *frame_row(struct reader *reader, uint32_t y) {
    const struct webp_frame *frame = &reader->header.frame;
    return oriented_rows_begin(&reader->rows, frame->top + y) +
           frame->left * image_pixel_bytes(reader->decoding->into);
}

/* Rows go down in memory, or up with `flip`. */
static void lay_config(struct reader *reader) {
    const struct webp_frame *frame = &reader->header.frame;
    const size_t pixel = image_pixel_bytes(reader->decoding->into);
    uint8_t *first = frame_row(reader, 0), *last = frame_row(reader, frame->height - 1);
    const struct image *band = &reader->rows.band;
    const size_t stride = band->pixels ? band->stride : reader->decoding->into->stride;
    WebPDecBuffer *output = &reader->config.output;
    reader->config.options.flip = last < first;
    output->colorspace = pixel == 4 ? MODE_RGBA : MODE_RGB;
    output->is_external_memory = 1;
    output->u.RGBA.rgba = last < first ? last : first;
    output->u.RGBA.stride = (int)stride;
    output->u.RGBA.size = stride * (frame->height - 1) + frame->width * pixel;
}

/* The canvas around the first frame is transparent. A band is all 0 already. */
static void clear_canvas(const struct reader *reader) {
    const struct image *into = reader->decoding->into;
    const struct webp_header *header = &reader->header;
    const struct webp_frame *frame = &header->frame;
    const bool covered = frame->width == header->width && frame->height == header->height;
    for (uint32_t y = 0; y < into->height && !covered; y++)
        memset(image_row(into, y), 0, image_row_bytes(into));
}

/* ---- decoding */

/* Before the first row each piece doubles the bytes: libwebp reads the codes anew with each. */
static size_t next_end(const struct reader *reader, size_t end, size_t length) {
    const struct webp_frame *frame = &reader->header.frame;
    const uint64_t pixels = (uint64_t)frame->width * frame->height;
    const uint64_t share = (uint64_t)length * PIECE_PIXELS / pixels;
    const size_t step = !reader->rows_done    ? (end ? end : PIECE_BYTES)
                        : share > PIECE_BYTES ? (size_t)share
                                              : PIECE_BYTES;
    return step < length - end ? end + step : length;
}

static bool starves(const struct reader *reader) {
    return reader->memory.refused || reader->memory.failed;
}

/* STOPPED: cancelled or over its deadline; then the result means nothing. */
static VP8StatusCode decode_pieces(struct reader *reader, enum status *stopped) {
    const struct webp_frame *frame = &reader->header.frame;
    const uint8_t *bytes = reader->decoding->bytes + frame->at;
    const size_t length = frame->end - frame->at;
    VP8StatusCode code = VP8_STATUS_SUSPENDED;
    for (size_t end = 0; code == VP8_STATUS_SUSPENDED && end < length && !starves(reader);) {
        int rows = 0;
        *stopped = progress_check(reader->decoding->progress);
        if (*stopped) break;
        end = next_end(reader, end, length);
        code = WebPIUpdate(reader->decoder, bytes, end);
        if (WebPIDecGetRGB(reader->decoder, &rows, NULL, NULL, NULL))
            reader->rows_done = (uint32_t)rows;
    }
    return code;
}

/* Missing rows stay 0. */
static enum status salvage(struct reader *reader, const char *text) {
    if (!reader->decoding->limits->accept_damage || !reader->rows_done)
        return fail(reader->decoding->failure, STATUS_CORRUPT,
                    "the WebP is broken or cut off (%s); send an intact file", text);
    codec_damage(reader->decoding, text);
    return STATUS_OK;
}

/* libwebp reports codes for which there is no memory as a bitstream error, and broken alpha as
 * VP8_STATUS_USER_ABORT. */
static enum status settle(struct reader *reader, VP8StatusCode code) {
    struct failure *failure = reader->decoding->failure;
    if (reader->memory.refused)
        return fail(failure, STATUS_TOO_LARGE,
                    "this WebP takes more memory to decode than is allowed (codec_memory_bytes); "
                    "send a smaller one");
    if (reader->memory.failed || code == VP8_STATUS_OUT_OF_MEMORY)
        return fail(failure, STATUS_NO_MEMORY, "no memory for the WebP codec");
    switch (code) {
    case VP8_STATUS_OK:
        return reader->header.cut ? salvage(reader, "bytes are missing behind the picture")
                                  : STATUS_OK;
    case VP8_STATUS_SUSPENDED: return salvage(reader, "its data ends before the picture does");
    default: return salvage(reader, "its data makes no sense");
    }
}

static enum status decode_frame(struct reader *reader) {
    enum status stopped = STATUS_OK;
    VP8StatusCode code = VP8_STATUS_OUT_OF_MEMORY;
    lay_config(reader);
    clear_canvas(reader);
    webp_memory_begin(&reader->memory);
    reader->decoder = WebPIDecode(NULL, 0, &reader->config);
    if (reader->decoder) code = decode_pieces(reader, &stopped);
    WebPIDelete(reader->decoder);
    webp_memory_end();
    if (stopped) return codec_stopped(stopped, reader->decoding->failure);
    const enum status status = settle(reader, code);
    if (!status) oriented_rows_end(&reader->rows, reader->header.height - 1);
    return status;
}

/* The pixels were laid out for the shape that the probe found: the header must have the same. */
enum status webp_decode(const struct decoding *decoding) {
    const struct probe *probe = decoding->probe;
    struct reader reader = { .decoding = decoding, .memory.left = decoding->limits->memory_max };
    enum status status =
        webp_header_read(decoding->bytes, decoding->length, &reader.header, decoding->failure);
    if (!status && (reader.header.width != probe->width || reader.header.height != probe->height ||
                    3 + reader.header.alpha != probe->shape.channels))
        status = fail(decoding->failure, STATUS_CORRUPT,
                      "the WebP's header contradicts itself; send an intact file");
    if (!status && !WebPInitDecoderConfig(&reader.config))
        status = fail(decoding->failure, STATUS_INTERNAL,
                      "the installed libwebp does not match the one Burin was built with");
    if (!status) status = take_webp_memory(&reader);
    if (!status) status = decode_frame(&reader);
    if (!status)
        status =
            codec_keep_profile(decoding, reader.header.profile_at, reader.header.profile_length);
    oriented_rows_release(&reader.rows);
    return status;
}

enum status webp_decode_frame(const struct decoding *decoding, const struct webp_frame *frame,
                              const struct image *into) {
    struct probe probe = *decoding->probe;
    struct decoding still = *decoding;
    struct reader reader = { .decoding = &still,
                             .memory.left = decoding->limits->memory_max - image_bytes(into) };
    still.probe = &probe;
    still.into = into;
    reader.header = (struct webp_header){ .width = frame->width, .height = frame->height };
    reader.header.frame = *frame;
    reader.header.frame.left = reader.header.frame.top = 0;
    probe.width = frame->width;
    probe.height = frame->height;
    probe.orientation = 1;
    if (!WebPInitDecoderConfig(&reader.config))
        return fail(decoding->failure, STATUS_INTERNAL,
                    "the installed libwebp does not match the one Burin was built with");
    enum status status = take_webp_memory(&reader);
    if (!status) status = decode_frame(&reader);
    oriented_rows_release(&reader.rows);
    return status;
}
