// SPDX-License-Identifier: Apache-2.0
/* How it works. Chunks are read in order to the end of the file, since EXIF comes behind the
 * picture; nothing here calls libwebp. The picture is the first VP8 or VP8L, with an ALPH before
 * it, or the one in the first ANMF. The first error ends it, as a sentence in `fault`. */
#include "pipeline/codecs/common/exif.h"
#include "pipeline/codecs/webp/chunks.h"
#include "pipeline/codecs/webp/codec.h"

#include <string.h>

enum {
    CHUNKS_MAX = 65536,
    VP8_HEAD = 10, /* tag, start code, sides */
    VP8L_HEAD = 5, /* signature, sides, alpha, version */
    MACROBLOCK = 16,
    COPY_PIXELS_MAX = 4096 * 8,
};

struct chunk {
    const uint8_t *name; /* 4 letters */
    const uint8_t *data;
    size_t length, there; /* bytes as stated, and in the file */
};

struct reader {
    const uint8_t *bytes;
    size_t end; /* of the file or of a frame */
    size_t at;
    unsigned chunks;
    uint8_t flags; /* of the VP8X */
    bool extended; /* there is one */
    struct webp_header *header;
    const char *fault;
};

static bool is(const struct chunk *chunk, const char *name) {
    return memcmp(chunk->name, name, 4) == 0;
}

/* Returns false. The first fault stays. */
static bool blame(struct reader *reader, const char *fault) {
    if (!reader->fault) reader->fault = fault;
    return false;
}

/* A chunk may be cut off, which is noted; at the very end its padding may be missing. */
static bool next_chunk(struct reader *reader, struct chunk *chunk) {
    const size_t left = reader->end - reader->at;
    if (left < WEBP_CHUNK_HEAD || reader->fault) return false;
    if (++reader->chunks > CHUNKS_MAX) blame(reader, "it has more than 65536 chunks");
    chunk->name = reader->bytes + reader->at;
    chunk->length = read_le32(chunk->name + 4);
    chunk->data = chunk->name + WEBP_CHUNK_HEAD;
    const size_t room = left - WEBP_CHUNK_HEAD;
    chunk->there = chunk->length < room ? chunk->length : room;
    reader->header->cut |= chunk->there < chunk->length;
    const size_t padded = chunk->there + (chunk->length & 1);
    reader->at += WEBP_CHUNK_HEAD + (padded < room ? padded : room);
    return true;
}

/* ---- a picture */

static bool read_vp8(struct reader *reader, const struct chunk *chunk, struct webp_frame *frame) {
    const uint8_t *data = chunk->data;
    if (chunk->there < VP8_HEAD) return blame(reader, "its VP8 is cut off");
    const uint32_t tag = read_le24(data), version = tag >> 1 & 7;
    if (tag & 1 || version > 3 || !(tag >> 4 & 1) || memcmp(data + 3, "\x9d\x01\x2a", 3) != 0)
        return blame(reader, "its VP8 does not begin with a key frame");
    if (tag >> 5 >= chunk->length)
        return blame(reader, "the first part of its VP8 is longer than it");
    frame->width = read_le16(data + 6) & 0x3fff;
    frame->height = read_le16(data + 8) & 0x3fff;
    return frame->width && frame->height ? true : blame(reader, "a side of its VP8 is 0");
}

static bool read_vp8l(struct reader *reader, const struct chunk *chunk, struct webp_frame *frame) {
    const uint8_t *data = chunk->data;
    if (chunk->there < VP8L_HEAD) return blame(reader, "its VP8L is cut off");
    const uint32_t bits = read_le32(data + 1);
    if (data[0] != 0x2f || bits >> 29)
        return blame(reader, "its VP8L has another signature or version");
    if (frame->alpha)
        return blame(reader, "it has an ALPH before a VP8L, which has alpha of its own");
    frame->width = (bits & 0x3fff) + 1;
    frame->height = (bits >> 14 & 0x3fff) + 1;
    frame->alpha = bits >> 28 & 1;
    return frame->lossless = true;
}

/* Reads a chunk of FRAME; other chunks are skipped. */
static void read_of_frame(struct reader *reader, const struct chunk *chunk,
                          struct webp_frame *frame) {
    const size_t start = (size_t)(chunk->name - reader->bytes);
    const bool vp8 = is(chunk, "VP8 "), picture = vp8 || is(chunk, "VP8L");
    if (is(chunk, "ANMF")) blame(reader, "a frame reaches into the next one");
    if (picture && frame->end) blame(reader, "it has two pictures where there is to be one");
    if (frame->end || !(picture || is(chunk, "ALPH"))) return;
    if (!frame->at) frame->at = start;
    if (!picture) {
        frame->alpha = true;
        return;
    }
    if (!(vp8 ? read_vp8(reader, chunk, frame) : read_vp8l(reader, chunk, frame))) return;
    frame->data_bytes = chunk->there;
    frame->end = start + WEBP_CHUNK_HEAD + chunk->there;
}

/* ---- an animation */

/* CHUNK is the whole frame. */
static bool read_anmf(struct reader *reader, const struct chunk *chunk, struct webp_frame *frame) {
    const uint8_t *data = chunk->data;
    if (chunk->there < WEBP_ANMF_HEAD) return blame(reader, "a frame is cut off");
    const uint32_t width = read_le24(data + 6) + 1, height = read_le24(data + 9) + 1;
    struct reader inner = *reader;
    struct chunk part;
    inner.at = (size_t)(data + WEBP_ANMF_HEAD - reader->bytes);
    inner.end = (size_t)(data + chunk->there - reader->bytes);
    frame->left = 2 * read_le24(data);
    frame->top = 2 * read_le24(data + 3);
    frame->ms = read_le24(data + 12);
    frame->over = !(data[15] & WEBP_FRAME_REPLACES);
    frame->disposed = data[15] & WEBP_FRAME_DISPOSED;
    while (next_chunk(&inner, &part)) read_of_frame(&inner, &part, frame);
    reader->fault = inner.fault;
    reader->chunks = inner.chunks;
    if (!frame->end) return blame(reader, "a frame has no picture");
    if (width != frame->width || height != frame->height)
        blame(reader, "a frame and the picture in that differ in size");
    return !reader->fault;
}

static bool is_beyond(const struct webp_frame *frame, const struct webp_header *header) {
    return (uint64_t)frame->left + frame->width > header->width ||
           (uint64_t)frame->top + frame->height > header->height;
}

bool webp_next_frame(const uint8_t *bytes, size_t length, const struct webp_header *header,
                     size_t *at, struct webp_frame *frame, const char **fault) {
    struct webp_header found = *header;
    const uint64_t stated = (uint64_t)read_le32(bytes + 4) + WEBP_CHUNK_HEAD;
    struct reader reader = { .bytes = bytes, .at = *at ? *at : WEBP_FILE_HEAD, .header = &found };
    struct chunk chunk;
    reader.end = stated < length ? (size_t)stated : length;
    *frame = (struct webp_frame){ .end = 0 };
    while (!frame->end && next_chunk(&reader, &chunk))
        if (is(&chunk, "ANMF") && read_anmf(&reader, &chunk, frame) && is_beyond(frame, header))
            blame(&reader, "a frame reaches beyond the canvas");
    *at = reader.at;
    *fault = reader.fault;
    return frame->end && !reader.fault;
}

/* ---- a file */

static bool read_vp8x(struct reader *reader, const struct chunk *chunk) {
    if (chunk->there != WEBP_VP8X_BYTES - WEBP_CHUNK_HEAD || chunk->length != chunk->there)
        return blame(reader, "its VP8X is cut off or not ten bytes long");
    reader->extended = true;
    reader->flags = chunk->data[0];
    reader->header->width = read_le24(chunk->data + 4) + 1;
    reader->header->height = read_le24(chunk->data + 7) + 1;
    return true;
}

/* The chunk holds TIFF; some writers put the "Exif" of a JPEG before it. */
static void read_exif(struct reader *reader, const struct chunk *chunk) {
    const bool named = chunk->there >= 6 && memcmp(chunk->data, "Exif\0", 6) == 0;
    const size_t skip = named ? 6 : 0;
    reader->header->orientation = exif_orientation(chunk->data + skip, chunk->there - skip);
    reader->header->exif_at = (size_t)(chunk->data - reader->bytes);
    reader->header->exif_length = chunk->there;
}

static void read_chunk(struct reader *reader, const struct chunk *chunk) {
    struct webp_header *header = reader->header;
    const bool animated = reader->flags & WEBP_ANIMATED;
    if (is(chunk, "ICCP") && reader->flags & WEBP_HAS_PROFILE && !header->profile_at) {
        header->profile_at = (size_t)(chunk->data - reader->bytes);
        header->profile_length = chunk->there;
    }
    if (is(chunk, "XMP ") && reader->flags & WEBP_HAS_XMP) {
        header->xmp_at = (size_t)(chunk->data - reader->bytes);
        header->xmp_length = chunk->there;
    }
    if (is(chunk, "EXIF") && reader->flags & WEBP_HAS_EXIF) read_exif(reader, chunk);
    if (animated && is(chunk, "ANIM") && chunk->there >= WEBP_ANIM_BYTES)
        header->plays = read_le16(chunk->data + 4);
    if (animated && is(chunk, "ANMF") && !header->frames++)
        read_anmf(reader, chunk, &header->frame);
    if (!animated) read_of_frame(reader, chunk, &header->frame);
}

/* A VP8X says which chunks there are, and comes first. */
static bool read_chunks(struct reader *reader) {
    struct chunk chunk;
    if (!next_chunk(reader, &chunk)) return blame(reader, "it ends behind its first twelve bytes");
    if (is(&chunk, "VP8X"))
        read_vp8x(reader, &chunk);
    else
        read_chunk(reader, &chunk);
    if (!reader->extended && !reader->header->frame.end)
        return blame(reader, "it begins with none of VP8, VP8L and VP8X");
    while (next_chunk(reader, &chunk)) read_chunk(reader, &chunk);
    return !reader->fault;
}

static void settle_canvas(struct reader *reader) {
    struct webp_header *header = reader->header;
    const struct webp_frame *frame = &header->frame;
    const bool animated = reader->flags & WEBP_ANIMATED;
    if (!frame->end) blame(reader, animated ? "it has no frames" : "it has no picture");
    if (!reader->extended) {
        header->width = frame->width;
        header->height = frame->height;
    }
    const bool covered = frame->width == header->width && frame->height == header->height;
    if (!animated && !covered) blame(reader, "its VP8X and its picture differ in size");
    if (is_beyond(frame, header)) blame(reader, "its first frame reaches beyond the canvas");
    header->alpha = frame->alpha || reader->flags & WEBP_HAS_ALPHA || !covered;
}

enum status webp_header_read(const uint8_t *bytes, size_t length, struct webp_header *header,
                             struct failure *failure) {
    *header = (struct webp_header){ .orientation = 1 };
    const uint64_t stated = (uint64_t)read_le32(bytes + 4) + WEBP_CHUNK_HEAD;
    struct reader reader = { .bytes = bytes, .at = WEBP_FILE_HEAD, .header = header };
    reader.end = stated < length ? (size_t)stated : length;
    header->cut = stated > length;
    if (stated < WEBP_FILE_HEAD + WEBP_CHUNK_HEAD)
        blame(&reader, "its head states no length for it");
    if (!reader.fault && read_chunks(&reader)) settle_canvas(&reader);
    if (!reader.fault) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "the WebP is broken%s: %s; send an intact file",
                header->cut ? " or cut off" : "", reader.fault);
}

/* ---- the probe */

/* A VP8 spends at least three bits on the modes of a macroblock (RFC 6386, section 11: the cheapest
 * of fixed probabilities); two are demanded. The longest copy of a VP8L is 4096 samples of eight
 * pixels each, and its length alone takes ten bits (RFC 9649, section 5.2.2). Only blocks of one
 * colour take less, since their codes have no bits: 14 bytes could stand for any number of pixels,
 * and so could a canvas around a frame. Both must have the bytes that copies would take. */
static uint64_t least_bytes(const struct webp_header *header) {
    const struct webp_frame *frame = &header->frame;
    const uint64_t across = (frame->width + MACROBLOCK - 1) / MACROBLOCK;
    const uint64_t down = (frame->height + MACROBLOCK - 1) / MACROBLOCK;
    const uint64_t picture = frame->lossless ? VP8L_HEAD + 1 : VP8_HEAD + across * down / 4;
    const uint64_t pixels = (uint64_t)header->width * header->height;
    const uint64_t canvas = (pixels + COPY_PIXELS_MAX - 1) / COPY_PIXELS_MAX;
    return picture > canvas ? picture : canvas;
}

static enum status webp_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                              struct failure *failure) {
    struct webp_header header;
    const enum status status = webp_header_read(bytes, length, &header, failure);
    if (status) return status;
    const struct webp_frame *frame = &header.frame;
    probe->width = header.width;
    probe->height = header.height;
    probe->orientation = header.orientation;
    probe->bits = 8;
    probe->components = (uint8_t)(3 + header.alpha);
    probe->animated = header.frames > 1;
    probe->lossless = frame->lossless;
    probe->profile = header.profile_length > 0;
    strcpy(probe->space, frame->lossless ? "rgb" : "ycbcr");
    probe->shape.channels = (uint8_t)(3 + header.alpha);
    probe->shape.depth = 8;
    probe->data_bytes = frame->data_bytes;
    probe->data_bytes_least = least_bytes(&header);
    return STATUS_OK;
}

/* A later frame that is broken ends the count; the decoder refuses it. */
static enum status webp_probe_frames(const uint8_t *bytes, size_t length, uint32_t most,
                                     struct probe *probe, struct failure *failure) {
    struct webp_header header;
    struct webp_frame frame;
    const char *fault;
    size_t at = 0;
    const enum status status = webp_header_read(bytes, length, &header, failure);
    if (status) return status;
    bool opaque = !header.alpha;
    for (probe->frames = 0; probe->frames <= most; probe->frames++) {
        if (!webp_next_frame(bytes, length, &header, &at, &frame, &fault)) break;
        opaque &= !frame.alpha && !frame.disposed;
    }
    probe->plays = header.plays;
    probe->shape.channels = opaque ? 3 : 4;
    return STATUS_OK;
}

static void webp_find_metadata(const uint8_t *bytes, size_t length,
                               struct metadata_places *places) {
    struct webp_header header;
    if (webp_header_read(bytes, length, &header, NULL)) return;
    *places = (struct metadata_places){ .exif = bytes + header.exif_at,
                                        .exif_length = header.exif_length,
                                        .xmp = bytes + header.xmp_at,
                                        .xmp_length = header.xmp_length };
}

/* ---- the record */

/* Bytes a pixel, measured on noise of 4 MP with libwebp 1.2.4 and rounded up. */
enum {
    LOSSY = 24,          /* planes, macroblocks and tokens */
    ALPHA = 14,          /* beside that, for alpha, which is packed without loss */
    ALPHA_THOROUGH = 30, /* the same, packed in several ways */
    LOSSLESS = 36,       /* the pixels twice, chains of equal ones, references back */
    DECODED = 5,         /* the pixels of a lossless file, the alpha of another */
    FRAME = 4,           /* beside that, of an animation: a frame before it is composed */
    THOROUGH_EFFORT = 5, /* from this effort on */
    COLOURS = 3,         /* libwebp makes colour of gray */
    EFFORTS = 7,
};

static bool is_webp(const uint8_t *bytes, size_t length) {
    return codec_has_magic(bytes, length, 0, "RIFF", 4) &&
           codec_has_magic(bytes, length, 8, "WEBP", 4);
}

static uint64_t webp_decode_memory(const struct probe *probe) {
    return image_pixels(&probe->shape) * (DECODED + (probe->frames ? FRAME : 0)) +
           codec_turned_bytes(probe);
}

static uint64_t webp_encode_memory(const struct image *image,
                                   const struct encode_options *options) {
    const uint64_t pixels = image_pixels(image);
    if (options->lossless) return pixels * LOSSLESS;
    if (!image_has_alpha(image)) return pixels * LOSSY;
    return pixels * (LOSSY + (options->effort >= THOROUGH_EFFORT ? ALPHA_THOROUGH : ALPHA));
}

static int webp_encode_kind(const struct encode_options *options) {
    return options->lossless ? 2 : options->max_bytes != 0;
}

/* Times each effort takes beside that of 4, for which the costs are. */
static double webp_megabytes(const struct image *image, const struct encode_options *options) {
    static const double lossy[EFFORTS] = { 0.33, 0.45, 0.5, 1, 1, 1.1, 1.9 };
    static const double lossless[EFFORTS] = { 0.25, 0.65, 1, 1, 1, 1.2, 1.8 };
    return (double)image_pixels(image) * COLOURS / 1e6 *
           (options->lossless ? lossless : lossy)[options->effort];
}

const struct format_record format_webp = {
    .name = "webp",
    .title = "WebP",
    .media_types = { "image/webp" },
    .endings = { "webp" },
    .places = { [FORMATS_DESCRIBED] = 3, [FORMATS_OFFERED] = 3, [FORMATS_PREFERRED] = 3 },
    .abilities = FORMAT_QUALITY | FORMAT_LOSSLESS | FORMAT_EFFORT | FORMAT_METADATA,
    .recognizes = is_webp,
    .probe = webp_probe,
    .cut_advice = ", or one written with more effort",
    .decode = webp_decode,
    .probe_frames = webp_probe_frames,
    .decode_frames = webp_decode_frames,
    .find_metadata = webp_find_metadata,
    .decode_memory = webp_decode_memory,
    .decode_costs = { { .cpu = { 0.1f, 10, 3 } } },
    .side_max = 16383, /* 14 bits */
    .depth = 8,
    .slow = true,
    .encode = webp_encode,
    .begin_animation = webp_begin_animation,
    .add_frame = webp_add_frame,
    .end_animation = webp_end_animation,
    .bound = webp_bound,
    .encode_memory = webp_encode_memory,
    .still_ms = webp_still_ms,
    .encode_costs = { { .cpu = { 0.3f, 26 } },
                      { .cpu = { 1.2f, 104 } },  /* within max_bytes */
                      { .cpu = { 0.3f, 24 } } }, /* lossless */
    .encode_kind = webp_encode_kind,
    .encode_megabytes = webp_megabytes,
};
