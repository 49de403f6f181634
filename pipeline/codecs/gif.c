// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/common/lzw.h"
#include "pipeline/codecs/gif/codec.h"

enum { CANVAS_RATIO = 32768 };

/* ---- the probe */

/* A code has two entries of the table less than its value allows, so the longest string, that of
 * code 4095, has 4095 - 2^literal_bits indices, and its code 12 bits. Shorter codes stand for fewer
 * indices a bit. A canvas around the frame has no data: for it the file must have the bytes that
 * other formats' best ratio would take. */
static uint64_t least_bytes(const struct gif_header *header) {
    if (!gif_is_covered(header)) return (uint64_t)header->width * header->height / CANVAS_RATIO;
    const uint64_t pixels = (uint64_t)header->columns * header->rows;
    const uint64_t longest = LZW_CODES - 1 - (1u << header->literal_bits);
    return (pixels * LZW_BITS_MAX + longest * 8 - 1) / (longest * 8);
}

static enum status begin(struct gif_reader *reader, const uint8_t *bytes, size_t length,
                         struct gif_header *header, struct failure *failure) {
    const char *fault = gif_begin(reader, bytes, length, header);
    return fault ? fail(failure, STATUS_CORRUPT,
                        "the GIF is broken or cut off: %s; send an intact file", fault)
                 : STATUS_OK;
}

static enum status gif_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                             struct failure *failure) {
    struct gif_header header;
    struct gif_reader reader;
    const enum status status = begin(&reader, bytes, length, &header, failure);
    if (status) return status;
    const bool covered = gif_is_covered(&header);
    probe->width = header.width;
    probe->height = header.height;
    probe->components = 1;
    while (1u << probe->bits < header.colours) probe->bits++;
    probe->interlaced = header.interlaced;
    probe->palette = true;
    probe->animated = reader.animated;
    probe->shape.channels = header.transparent >= 0 || !covered ? 4 : 3;
    probe->shape.depth = 8;
    probe->data_bytes = covered ? header.data_bytes : length;
    probe->data_bytes_least = least_bytes(&header);
    strcpy(probe->space, "rgb");
    return STATUS_OK;
}

/* Without a transparent pixel in the first frame, no later one becomes transparent, unless a frame
 * leaves nothing. A later frame that is broken ends the count; the decoder refuses it. */
static enum status gif_probe_frames(const uint8_t *bytes, size_t length, uint32_t most,
                                    struct probe *probe, struct failure *failure) {
    struct gif_header header;
    struct gif_reader reader;
    const char *fault;
    const enum status status = begin(&reader, bytes, length, &header, failure);
    if (status) return status;
    bool opaque = gif_is_covered(&header) && header.transparent < 0 &&
                  header.disposal != GIF_DISPOSE_TO_PREVIOUS;
    bool more = true;
    for (probe->frames = 0; more && probe->frames <= most; probe->frames++) {
        opaque &= header.disposal != GIF_DISPOSE_TO_NOTHING;
        more = gif_next_picture(&reader, &header, &fault);
    }
    probe->plays = reader.plays;
    probe->shape.channels = opaque ? 3 : 4;
    return STATUS_OK;
}

/* ---- the record */

static bool is_gif(const uint8_t *bytes, size_t length) {
    return codec_has_magic(bytes, length, 0, "GIF87a", 6) ||
           codec_has_magic(bytes, length, 0, "GIF89a", 6);
}

/* An animation keeps what lies under a frame that is taken back. */
static uint64_t gif_decode_memory(const struct probe *probe) {
    return probe->frames ? image_pixels(&probe->shape) * image_pixel_bytes(&probe->shape) : 0;
}

const struct format_record format_gif = {
    .name = "gif",
    .title = "GIF",
    .media_types = { "image/gif" },
    .endings = { "gif" },
    .places = { [FORMATS_DESCRIBED] = 4, [FORMATS_OFFERED] = 5, [FORMATS_PREFERRED] = 6 },
    .recognizes = is_gif,
    .probe = gif_probe,
    .decode = gif_decode,
    .probe_frames = gif_probe_frames,
    .decode_frames = gif_decode_frames,
    .decode_memory = gif_decode_memory,
    .decode_costs = { { .cpu = { 0.03f, 4.2f, 2.2f } } },
    .depth = 8,
    .encode = gif_encode,
    .begin_animation = gif_begin_animation,
    .add_frame = gif_add_frame,
    .end_animation = gif_end_animation,
    .bound = gif_bound,
    .encode_memory = gif_encode_memory,
    .encode_costs = { { .cpu = { 0.3f, 9 } } },
};
