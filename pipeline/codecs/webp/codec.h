// SPDX-License-Identifier: Apache-2.0
/* codec.h - the parts of the WebP codec: what its chunks say, decoder and encoder.
 *
 * A still picture is the file's, that of an animation its first frame's. ICCP, EXIF and alpha count
 * only if the VP8X announces them, as in libwebp's own demuxer.
 *
 * Used by:  pipeline/codecs/webp.c, which has the record and defines webp_header_read();
 *           webp/decoder.c, which reads the header a second time; webp/encoder.c.
 * Owns:     nothing.
 * Fails:    as format.h says of each function; webp_header_read: STATUS_CORRUPT with a sentence.
 *           Input is hostile: each offset is checked.
 * Threads:  any.
 * Limits:   65,536 chunks; a file with more is refused. Sizes are not limited here.
 * Source:   RFC 9649 (WebP), RFC 6386 (VP8).
 */
#ifndef BURIN_WEBP_CODEC_H
#define BURIN_WEBP_CODEC_H

#include "pipeline/codecs/codecs.h"

struct webp_frame {
    size_t at, end; /* its chunks that a decoder takes, from the ALPH or the picture itself on; END
                       is before the picture's where that is cut off */
    size_t data_bytes;                 /* of the picture's chunk, as far as they came */
    uint32_t left, top, width, height; /* on the canvas */
    bool lossless, alpha;
    /* of an animation */
    uint32_t ms;   /* for which it is shown */
    bool over;     /* it is laid over what is there, by its alpha; else it takes its place */
    bool disposed; /* afterwards its part of the canvas is transparent */
};

struct webp_header {
    uint32_t width, height; /* of the canvas; without one the frame's */
    struct webp_frame frame;
    uint32_t frames; /* of an animation; 0: it is a still picture */
    uint32_t plays;  /* of the animation; 0: without end */
    bool alpha;      /* somewhere on the canvas, or so the file says */
    bool cut;        /* chunks reach beyond the file's end, or the end stated in its head */
    uint8_t orientation;
    size_t profile_at, profile_length; /* 0: none */
    size_t exif_at, exif_length, xmp_at, xmp_length;
};

enum status webp_header_read(const uint8_t *bytes, size_t length, struct webp_header *header,
                             struct failure *failure);

/* Reads the frame of an animation behind *AT, which is 0 before the first. False: there is none, or
 * it is broken; then *FAULT says how. */
bool webp_next_frame(const uint8_t *bytes, size_t length, const struct webp_header *header,
                     size_t *at, struct webp_frame *frame, const char **fault);

/* Decodes the picture of FRAME into the pixels of INTO, which has its sides and four channels; they
 * count as memory of the decoder. */
enum status webp_decode_frame(const struct decoding *decoding, const struct webp_frame *frame,
                              const struct image *into);
enum status webp_decode_frames(const struct decoding *decoding, const struct frame_sink *sink);
bool webp_begin_animation(struct animation_file *file);
bool webp_add_frame(struct animation_file *file, const uint8_t *frame, size_t length, uint32_t ms);
bool webp_end_animation(struct animation_file *file);
enum status webp_decode(const struct decoding *decoding);
enum status webp_encode(const struct encoding *encoding);
size_t webp_bound(const struct image *image, size_t profile_length);
double webp_still_ms(const struct image *image, const struct encode_options *options);

#endif
