// SPDX-License-Identifier: Apache-2.0
/* How it works. An animation that is read is composed by libwebp's own arithmetic
 * (WebPAnimDecoder), since browsers show that: a frame lies in its place, over what is there or
 * instead of it. Where nothing is there yet, it is copied: laying over that would round. One that
 * is written has whole canvases in the place of what is there: the chunks of a still file, with
 * the head of a frame before them. */
#include "pipeline/animation_file.h"
#include "pipeline/codecs/webp/chunks.h"
#include "pipeline/codecs/webp/codec.h"

#include <stdlib.h>

/* ---- reading */

/* Lays FROM over TO; no part of alpha is multiplied into the colours. */
static void lay_over(const uint8_t from[4], uint8_t to[4]) {
    const uint32_t above = from[3];
    if (!above) return;
    const uint32_t below = to[3] * (256 - above) >> 8, alpha = above + below;
    const uint32_t scale = (1u << 24) / alpha;
    for (int c = 0; c < 3; c++) to[c] = (uint8_t)((from[c] * above + to[c] * below) * scale >> 24);
    to[3] = (uint8_t)alpha;
}

/* A part of the canvas; without a width nothing. */
struct part {
    uint32_t left, top, width, height;
};

static bool is_in(const struct part *part, uint32_t x, uint32_t y) {
    return x - part->left < part->width && y - part->top < part->height;
}

static void lay_frame(const struct webp_frame *frame, const struct part *bare,
                      const uint8_t *pixels, const struct image *into) {
    const size_t channels = into->channels;
    for (uint32_t y = 0; y < frame->height; y++) {
        uint8_t *to = image_row(into, frame->top + y) + frame->left * channels;
        for (uint32_t x = 0; x < frame->width; x++, pixels += 4, to += channels)
            if (channels == 4 && frame->over && pixels[3] < 255 &&
                !is_in(bare, frame->left + x, frame->top + y))
                lay_over(pixels, to);
            else
                memcpy(to, pixels, channels);
    }
}

static void clear(const struct image *into, uint32_t left, uint32_t top, uint32_t width,
                  uint32_t height) {
    const size_t pixel = image_pixel_bytes(into);
    for (uint32_t y = top; y < top + height; y++)
        memset(image_row(into, y) + left * pixel, 0, width * pixel);
}

/* The part that FRAME leaves bare on a canvas of which BARE was bare before. */
static struct part left_bare(const struct webp_frame *frame, const struct part *bare,
                             const struct image *into) {
    const struct part own = { frame->left, frame->top, frame->width, frame->height };
    if (!frame->disposed) return (struct part){ 0 };
    return bare->width == into->width && bare->height == into->height ? *bare : own;
}

/* BARE: the part of the canvas that is, before the frame and behind it. */
static enum status show_frame(const struct decoding *decoding, const struct webp_frame *frame,
                              struct part *bare, const struct frame_sink *sink) {
    const struct image *into = decoding->into;
    struct image picture = { .stride = (size_t)frame->width * 4,
                             .width = frame->width,
                             .height = frame->height,
                             .channels = 4,
                             .depth = 8 };
    if (image_bytes(&picture) > decoding->limits->memory_max)
        return fail(decoding->failure, STATUS_TOO_LARGE,
                    "a frame of this WebP takes %zu bytes and %zu are allowed "
                    "(codec_memory_bytes); send a smaller one",
                    image_bytes(&picture), decoding->limits->memory_max);
    picture.pixels = calloc(1, image_bytes(&picture));
    if (!picture.pixels)
        return fail(decoding->failure, STATUS_NO_MEMORY, "no memory for a frame of the WebP");
    enum status status = webp_decode_frame(decoding, frame, &picture);
    if (!status) lay_frame(frame, bare, picture.pixels, into);
    free(picture.pixels);
    if (!status) status = sink->take(sink->context, frame->ms);
    if (frame->disposed) clear(into, frame->left, frame->top, frame->width, frame->height);
    *bare = left_bare(frame, bare, into);
    return status;
}

enum status webp_decode_frames(const struct decoding *decoding, const struct frame_sink *sink) {
    const struct image *into = decoding->into;
    struct webp_header header;
    struct webp_frame frame;
    struct part bare = { 0, 0, into->width, into->height };
    const char *fault = NULL;
    size_t at = 0;
    enum status status =
        webp_header_read(decoding->bytes, decoding->length, &header, decoding->failure);
    if (!status && (header.width != into->width || header.height != into->height))
        status = fail(decoding->failure, STATUS_CORRUPT,
                      "the WebP's header contradicts itself; send an intact file");
    if (!status) status = codec_keep_profile(decoding, header.profile_at, header.profile_length);
    if (!status) clear(into, 0, 0, into->width, into->height);
    for (uint32_t i = 0; !status && i < decoding->probe->frames; i++) {
        if (!webp_next_frame(decoding->bytes, decoding->length, &header, &at, &frame, &fault))
            break;
        status = show_frame(decoding, &frame, &bare, sink);
    }
    if (!status && !fault)
        webp_next_frame(decoding->bytes, decoding->length, &header, &at, &frame, &fault);
    if (!status && (fault || header.cut)) {
        if (!decoding->limits->accept_damage)
            return fail(decoding->failure, STATUS_CORRUPT,
                        "the WebP is broken or cut off: %s; send an intact file",
                        fault ? fault : "bytes are missing at its end");
        codec_damage(decoding, fault ? fault : "bytes are missing at its end");
    }
    return status;
}

/* ---- writing */

bool webp_begin_animation(struct animation_file *file) {
    const struct carried carried = codec_carried(file->metadata, file->options, 3, file->notes);
    const size_t profile = carried.profile_length;
    const size_t iccp = profile ? WEBP_CHUNK_HEAD + profile + (profile & 1) : 0;
    const size_t anim = WEBP_CHUNK_HEAD + WEBP_ANIM_BYTES;
    uint8_t *at = animation_room(file, WEBP_FILE_HEAD + WEBP_VP8X_BYTES + iccp + anim);
    if (!at) return false;
    memset(at, 0, file->length);
    memcpy(at + WEBP_CHUNK_HEAD, "WEBP", 4);
    at += WEBP_FILE_HEAD;
    webp_write_chunk(at, "VP8X", WEBP_VP8X_BYTES - WEBP_CHUNK_HEAD);
    at[WEBP_CHUNK_HEAD] = WEBP_ANIMATED | (profile ? WEBP_HAS_PROFILE : 0) |
                          (carried.exif_length ? WEBP_HAS_EXIF : 0) |
                          (carried.xmp_length ? WEBP_HAS_XMP : 0) |
                          (image_has_alpha(file->canvas) ? WEBP_HAS_ALPHA : 0);
    write_le24(at + 12, file->canvas->width - 1);
    write_le24(at + 15, file->canvas->height - 1);
    at += WEBP_VP8X_BYTES;
    if (profile) {
        webp_write_chunk(at, "ICCP", profile);
        memcpy(at + WEBP_CHUNK_HEAD, carried.profile, profile);
    }
    at += iccp;
    webp_write_chunk(at, "ANIM", WEBP_ANIM_BYTES);
    const uint32_t plays = file->plays < 65535 ? file->plays : 65535;
    at[WEBP_CHUNK_HEAD + 4] = (uint8_t)plays;
    at[WEBP_CHUNK_HEAD + 5] = (uint8_t)(plays >> 8);
    return true;
}

bool webp_add_frame(struct animation_file *file, const uint8_t *frame, size_t length, uint32_t ms) {
    const bool extended = memcmp(frame + WEBP_FILE_HEAD, "VP8X", 4) == 0;
    const size_t head = WEBP_FILE_HEAD + (extended ? WEBP_VP8X_BYTES : 0);
    uint8_t *at = animation_room(file, WEBP_CHUNK_HEAD + WEBP_ANMF_HEAD + length - head);
    if (!at) return false;
    webp_write_chunk(at, "ANMF", WEBP_ANMF_HEAD + length - head);
    at += WEBP_CHUNK_HEAD;
    memset(at, 0, 6); /* its place */
    write_le24(at + 6, file->canvas->width - 1);
    write_le24(at + 9, file->canvas->height - 1);
    write_le24(at + 12, ms < 1u << 24 ? ms : (1u << 24) - 1);
    at[15] = WEBP_FRAME_REPLACES;
    memcpy(at + WEBP_ANMF_HEAD, frame + head, length - head);
    return true;
}

static bool add_chunk(struct animation_file *file, const char *name, const uint8_t *bytes,
                      size_t length) {
    const size_t padded = length + (length & 1);
    uint8_t *at = length ? animation_room(file, WEBP_CHUNK_HEAD + padded) : NULL;
    if (!at) return !length;
    at[WEBP_CHUNK_HEAD + padded - 1] = 0;
    webp_write_chunk(at, name, length);
    memcpy(at + WEBP_CHUNK_HEAD, bytes, length);
    return true;
}

bool webp_end_animation(struct animation_file *file) {
    const struct carried carried = codec_carried(file->metadata, file->options, 3, file->notes);
    if (!add_chunk(file, "EXIF", carried.exif, carried.exif_length) ||
        !add_chunk(file, "XMP ", carried.xmp, carried.xmp_length))
        return false;
    webp_write_chunk(file->bytes, "RIFF", file->length - WEBP_CHUNK_HEAD);
    return true;
}
