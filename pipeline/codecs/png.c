// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/png/codec.h"
#include "pipeline/codecs/png/parts.h"

/* Deflate's best: 258 bytes from a length and a distance of one bit each. */
enum { DEFLATE_RATIO = 1032 };

/* Kinds of files by cost: the compressions 0..3, and with a palette. */
enum { KIND_PALETTE = 4 };

static enum status png_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                             struct failure *failure) {
    struct png_parts parts;
    const enum status status = png_read_parts(bytes, length, &parts, failure);
    if (status != STATUS_OK) return status;
    const bool gray = parts.type == PNG_GRAY || parts.type == PNG_GRAY_ALPHA;
    probe->width = parts.width;
    probe->height = parts.height;
    probe->orientation = parts.orientation;
    probe->components = parts.components;
    probe->bits = parts.bits;
    probe->interlaced = parts.interlaced;
    probe->palette = parts.type == PNG_PALETTE;
    probe->animated = parts.animated;
    probe->profile = parts.profile.name;
    strcpy(probe->space, gray ? "gray" : "rgb");
    probe->shape.channels = (uint8_t)((gray ? 1 : 3) + png_has_alpha(&parts));
    probe->shape.depth = parts.bits == 16 ? 16 : 8;
    probe->data_bytes = parts.data_bytes;
    probe->data_bytes_least = (png_filtered_bytes(&parts) + DEFLATE_RATIO - 1) / DEFLATE_RATIO;
    return STATUS_OK;
}

/* An iTXt has a keyword, two bytes for its packing, a language, the keyword in that, and text. */
static void find_xmp(const struct png_chunk *chunk, struct metadata_places *places) {
    const uint8_t *at = chunk->data + sizeof PNG_XMP, *end = chunk->data + chunk->length;
    if (end - at < 2 || at[0] > 1 || at[1]) return;
    places->packed = at[0];
    at += 2;
    for (int word = 0; word < 2; word++) {
        const uint8_t *nul = memchr(at, 0, (size_t)(end - at));
        if (!nul) return;
        at = nul + 1;
    }
    places->xmp = at;
    places->xmp_length = (size_t)(end - at);
}

static void png_find_metadata(const uint8_t *bytes, size_t length, struct metadata_places *places) {
    struct png_parts parts;
    if (png_read_parts(bytes, length, &parts, NULL)) return;
    places->exif = parts.exif.data;
    places->exif_length = parts.exif.length;
    if (parts.xmp.name) find_xmp(&parts.xmp, places);
}

/* ---- the record */

static bool is_png(const uint8_t *bytes, size_t length) {
    return codec_has_magic(bytes, length, 0, "\x89PNG\r\n\x1a\n", 8);
}

static int png_encode_kind(const struct encode_options *options) {
    return encode_colors(options) ? KIND_PALETTE : options->compression;
}

const struct format_record format_png = {
    .name = "png",
    .title = "PNG",
    .media_types = { "image/png" },
    .endings = { "png" },
    /* First of what Accept likes equally: it loses nothing, and is small. */
    .places = { [FORMATS_DESCRIBED] = 2, [FORMATS_OFFERED] = 1, [FORMATS_PREFERRED] = 1 },
    .abilities = FORMAT_COMPRESSION | FORMAT_PALETTE | FORMAT_METADATA,
    .recognizes = is_png,
    .probe = png_probe,
    .decode = png_decode,
    .find_metadata = png_find_metadata,
    .decode_costs = { { .cpu = { 0.05f, 3, 1.2f } } },
    .depth = 16,
    .encode = png_encode,
    .bound = png_bound,
    .encode_memory = png_encode_memory,
    .encode_costs = { { .cpu = { 0.05f, 0.5f } }, /* by compression */
                      { .cpu = { 0.05f, 2.2f } },
                      { .cpu = { 0.05f, 5 } },
                      { .cpu = { 0.05f, 12 } },
                      { .cpu = { 3, 40 } } }, /* with a palette */
    .encode_kind = png_encode_kind,
};
