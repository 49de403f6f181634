// SPDX-License-Identifier: Apache-2.0
/* How it works. Marker segments are read in order up to the first scan; nothing here calls libjpeg.
 * If the colour space has to be guessed, the guess is libjpeg's, so that the decoder agrees with
 * the probe. The pieces of a profile are joined by their numbers.
 *
 * The least data: of a sequential scan each block has a code for its DC and one for the end of its
 * AC, of a progressive picture the first scan that is sound has one for its DC, and no Huffman code
 * is shorter than a bit. Of several scans the first alone is counted, since libjpeg puts out what
 * there is of components that have none; of a scan of some components the smallest one's blocks. */
#include "pipeline/codecs/common/exif.h"
#include "pipeline/codecs/jpeg/codec.h"
#include "pipeline/codecs/jpeg/segment.h"

#include <stdlib.h>
#include <string.h>

enum {
    ICC_HEAD = 14,    /* "ICC_PROFILE\0", number from 1, count */
    SIDE_MAX = 65500, /* libjpeg's */
    BLOCK = 8,        /* pixels a side */
};

/* The header as far as it was read. */
struct header {
    struct probe *probe;
    bool frame, jfif, adobe;
    uint8_t transform; /* Adobe's: 0 none, 1 YCbCr, 2 YCCK */
    bool arithmetic;
    uint8_t ids[4];
    uint8_t sampling[4]; /* across << 4 | down */
};

static bool starts(const struct segment *segment, const char *magic, size_t length) {
    return segment->length >= length && memcmp(segment->data, magic, length) == 0;
}

static bool is_icc(const struct segment *segment) {
    return segment->marker == MARKER_APP2 && segment->length > ICC_HEAD &&
           starts(segment, "ICC_PROFILE", 12);
}

/* libjpeg-turbo 2 reads neither lossless files (3, 11) nor hierarchical ones (5..7, 13..15). */
static enum status check_kind(unsigned kind, unsigned bits, struct failure *failure) {
    const char *what = NULL;
    if (kind == 3 || kind == 11) what = "a lossless JPEG";
    if ((kind >= 5 && kind <= 7) || kind >= 13) what = "a hierarchical JPEG";
    if (!what && bits == 12) what = "a JPEG of 12 bits a sample";
    if (what)
        return fail(failure, STATUS_NOT_AN_IMAGE,
                    "this is %s, which is not supported; send an 8-bit baseline or progressive one",
                    what);
    if (bits != 8)
        return fail(failure, STATUS_CORRUPT,
                    "the JPEG claims %u bits a sample; 8 are read; send an intact file", bits);
    return STATUS_OK;
}

static enum status read_frame_header(struct header *header, const struct segment *segment,
                                     struct failure *failure) {
    struct probe *probe = header->probe;
    if (header->frame || segment->length < 6 || segment->length < 6 + 3u * segment->data[5])
        return fail(failure, STATUS_CORRUPT,
                    "the JPEG's frame header is broken; send an intact file");
    const unsigned kind = segment->marker - MARKER_SOF0;
    const enum status status = check_kind(kind, segment->data[0], failure);
    if (status != STATUS_OK) return status;
    header->frame = true;
    probe->bits = segment->data[0];
    probe->height = read_be16(segment->data + 1);
    probe->width = read_be16(segment->data + 3);
    probe->components = segment->data[5];
    probe->progressive = kind == 2 || kind == 10;
    header->arithmetic = kind > 8;
    if (probe->components != 1 && probe->components != 3 && probe->components != 4)
        return fail(failure, STATUS_NOT_AN_IMAGE,
                    "the JPEG has %u components; 1, 3 and 4 are read; send gray, colour or CMYK",
                    probe->components);
    for (unsigned i = 0; i < probe->components; i++) {
        header->ids[i] = segment->data[6 + 3 * i];
        header->sampling[i] = segment->data[7 + 3 * i];
    }
    if (!probe->width || !probe->height)
        return fail(failure, STATUS_CORRUPT,
                    "the JPEG's header gives a side of 0 pixels; send an intact file");
    if (probe->width > SIDE_MAX || probe->height > SIDE_MAX)
        return fail(
            failure, STATUS_TOO_LARGE,
            "the JPEG is %u x %u pixels and a JPEG's side may have at most %d; send a smaller "
            "one or PNG",
            probe->width, probe->height, SIDE_MAX);
    return STATUS_OK;
}

static void read_application(struct header *header, const struct segment *segment, bool *exif) {
    if (segment->marker == MARKER_APP0 && segment->length >= 14 && starts(segment, "JFIF", 5))
        header->jfif = true;
    if (segment->marker == MARKER_APP14 && segment->length >= 12 && starts(segment, "Adobe", 5)) {
        header->adobe = true;
        header->transform = segment->data[11];
    }
    if (is_icc(segment)) header->probe->profile = true;
    if (segment->marker == MARKER_APP1 && !*exif && starts(segment, "Exif\0", 6)) {
        *exif = true; /* only the first counts */
        header->probe->orientation = exif_orientation(segment->data + 6, segment->length - 6);
    }
}

static const char *three_colours(const struct header *header) {
    if (header->jfif) return "ycbcr";
    if (header->adobe) return header->transform == 0 ? "rgb" : "ycbcr";
    return memcmp(header->ids, "RGB", 3) == 0 ? "rgb" : "ycbcr";
}

static void read_colours(struct header *header) {
    struct probe *probe = header->probe;
    const char *space = "gray";
    if (probe->components == 3) space = three_colours(header);
    if (probe->components == 4) space = header->adobe && header->transform != 0 ? "ycck" : "cmyk";
    strcpy(probe->space, space);
    probe->shape.channels = probe->components == 1 ? 1 : 3;
    probe->shape.depth = 8;
}

/* Blocks along a side of LENGTH pixels, of a component with SHARE of MOST samples. */
static uint64_t blocks(uint32_t length, unsigned share, unsigned most) {
    return most ? ((uint64_t)length * share + most * BLOCK - 1) / (most * BLOCK) : 0;
}

/* The least number of blocks in SCAN. */
static uint64_t scan_blocks(const struct header *header, const struct segment *scan) {
    const struct probe *probe = header->probe;
    const bool all = scan->length && scan->data[0] == probe->components;
    unsigned across = 0, down = 0;
    uint64_t sum = 0, least = UINT64_MAX;
    for (unsigned i = 0; i < probe->components; i++) {
        if (header->sampling[i] >> 4 > across) across = header->sampling[i] >> 4;
        if ((header->sampling[i] & 15u) > down) down = header->sampling[i] & 15;
    }
    for (unsigned i = 0; i < probe->components; i++) {
        const uint64_t own = blocks(probe->width, header->sampling[i] >> 4, across) *
                             blocks(probe->height, header->sampling[i] & 15, down);
        sum += own;
        if (own < least) least = own;
    }
    return all ? sum : least;
}

/* AFTER: bytes from the header of the first SCAN to the end of the file. */
static void measure_data(struct header *header, const struct segment *scan, size_t after) {
    struct probe *probe = header->probe;
    const unsigned bits = header->arithmetic ? 0 : probe->progressive ? 1 : 2; /* a block */
    probe->data_bytes = after;
    probe->data_bytes_least = (scan_blocks(header, scan) * bits + 7) / 8;
}

static enum status jpeg_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                              struct failure *failure) {
    struct header header = { .probe = probe };
    struct segment segment;
    bool exif = false;
    size_t at = 2; /* past SOI */
    while (jpeg_segment(bytes, length, &at, &segment) && segment.marker != MARKER_EOI) {
        if (segment.marker == MARKER_SOS && header.frame) {
            read_colours(&header);
            measure_data(&header, &segment, length - at);
            return STATUS_OK;
        }
        if (segment.marker == MARKER_SOS) break;
        if (jpeg_is_frame(segment.marker)) {
            const enum status status = read_frame_header(&header, &segment, failure);
            if (status != STATUS_OK) return status;
        }
        read_application(&header, &segment, &exif);
    }
    return fail(failure, STATUS_CORRUPT,
                "the JPEG's header is broken or cut off at byte %zu of %zu; send the whole file",
                at, length);
}

/* Pieces of a profile by number; broken if one is missing, or comes again with other bytes. */
struct pieces {
    const uint8_t *data[256];
    size_t length[256];
    unsigned count;
    size_t total;
    bool broken;
};

static void collect(const struct decoding *decoding, struct pieces *pieces) {
    struct segment segment;
    size_t at = 2;
    while (jpeg_segment(decoding->bytes, decoding->length, &at, &segment) &&
           segment.marker != MARKER_SOS) {
        if (!is_icc(&segment)) continue;
        const unsigned number = segment.data[12], count = segment.data[13];
        if (!pieces->count) pieces->count = count;
        const uint8_t *data = segment.data + ICC_HEAD, *same = pieces->data[number];
        const size_t length = segment.length - ICC_HEAD;
        pieces->broken =
            !number || number > count || count != pieces->count ||
            (same && (pieces->length[number] != length || memcmp(data, same, length) != 0));
        if (pieces->broken) return;
        if (same) continue;
        pieces->data[number] = data;
        pieces->length[number] = length;
        pieces->total += length;
    }
    for (unsigned i = 1; i <= pieces->count; i++) pieces->broken |= !pieces->data[i];
}

enum status jpeg_profile(const struct decoding *decoding) {
    struct pieces pieces = { .count = 0 };
    collect(decoding, &pieces);
    if (!pieces.count && !pieces.broken) return STATUS_OK;
    if (pieces.broken || pieces.total > decoding->limits->profile_max ||
        (decoding->probe->components == 4 && !decoding->limits->cmyk_to_srgb)) {
        *decoding->notes |= NOTE_PROFILE_DROPPED;
        return STATUS_OK;
    }
    uint8_t *profile = malloc(pieces.total);
    if (!profile)
        return fail(decoding->failure, STATUS_NO_MEMORY, "no memory for a profile of %zu bytes",
                    pieces.total);
    decoding->metadata->profile = profile;
    decoding->metadata->profile_length = pieces.total;
    for (unsigned i = 1; i <= pieces.count; i++) {
        memcpy(profile, pieces.data[i], pieces.length[i]);
        profile += pieces.length[i];
    }
    return STATUS_OK;
}

/* The first of each. */
static void jpeg_find_metadata(const uint8_t *bytes, size_t length,
                               struct metadata_places *places) {
    struct segment segment;
    size_t at = 2;
    while (jpeg_segment(bytes, length, &at, &segment) && segment.marker != MARKER_SOS) {
        const bool exif = starts(&segment, JPEG_EXIF_NAME, sizeof JPEG_EXIF_NAME);
        const bool xmp = starts(&segment, JPEG_XMP_NAME, sizeof JPEG_XMP_NAME);
        const size_t head = exif ? sizeof JPEG_EXIF_NAME : sizeof JPEG_XMP_NAME;
        const uint8_t **to = exif ? &places->exif : &places->xmp;
        if (segment.marker != MARKER_APP1 || !(exif || xmp) || *to) continue;
        *to = segment.data + head;
        *(exif ? &places->exif_length : &places->xmp_length) = segment.length - head;
    }
}

/* ---- the record */

enum { COEFFICIENT = 2 }; /* bytes that libjpeg keeps of each sample in a progressive file */

static bool is_jpeg(const uint8_t *bytes, size_t length) {
    return codec_has_magic(bytes, length, 0, "\xff\xd8\xff", 3);
}

static uint64_t jpeg_decode_memory(const struct probe *probe) {
    return probe->progressive ? image_pixels(&probe->shape) * probe->components * COEFFICIENT : 0;
}

static uint64_t jpeg_encode_memory(const struct image *image,
                                   const struct encode_options *options) {
    return options->progressive ? image_pixels(image) * image->channels * COEFFICIENT : 0;
}

/* A GPU decodes baseline files of one or three components, and encodes no progressive ones. */
static int jpeg_decode_kind(const struct probe *probe) {
    return probe->progressive || probe->components == 4;
}

static int jpeg_encode_kind(const struct encode_options *options) {
    return 2 * options->progressive + (options->max_bytes != 0);
}

const struct format_record format_jpeg = {
    .name = "jpeg",
    .title = "JPEG",
    .media_types = { "image/jpeg" },
    .endings = { "jpg", "jpeg" },
    .places = { [FORMATS_DESCRIBED] = 1, [FORMATS_OFFERED] = 2, [FORMATS_PREFERRED] = 2 },
    .abilities = FORMAT_QUALITY | FORMAT_PROGRESSIVE | FORMAT_METADATA,
    .recognizes = is_jpeg,
    .probe = jpeg_probe,
    .decode = jpeg_decode,
    .read_metadata = jpeg_profile,
    .find_metadata = jpeg_find_metadata,
    .decode_memory = jpeg_decode_memory,
    .decode_costs = { { .cpu = { 0.05f, 5, 1 }, .gpu = { 0.15f, 0.02f, 0.01f } },
                      { .cpu = { 0.05f, 8, 2 } } },
    .decode_kind = jpeg_decode_kind,
    .side_max = SIDE_MAX,
    .depth = 8,
    .encode = jpeg_encode,
    .bound = jpeg_bound,
    .encode_memory = jpeg_encode_memory,
    .encode_costs = { { .cpu = { 0.03f, 1 }, .gpu = { 0.02f, 0.004f } },
                      { .cpu = { 0.12f, 4 }, .gpu = { 0.08f, 0.016f } }, /* within max_bytes */
                      { .cpu = { 0.1f, 4 } },                            /* progressive */
                      { .cpu = { 0.4f, 16 } } },                         /* both */
    .encode_kind = jpeg_encode_kind,
};
