// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/codecs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct codec_limits codec_limits_default = {
    .probe = { .pixels_max = 64u << 20, .side_max = IMAGE_SIDE_MAX },
    .scans_max = 100,
    .scan_pixels_max = 1500000000,
    .memory_max = (size_t)512 << 20,
    .profile_max = 1 << 20,
};

const struct encode_options encode_options_default = {
    .format = FORMAT_JPEG,
    .quality = 85,
    .compression = 1,
    .background = { 255, 255, 255 },
};

const char *note_text(int index) {
    static const char *const texts[NOTE_COUNT] = {
        "only the first frame of the animation was taken",
        "16-bit samples were rounded to 8 bits, because JPEG holds no more",
        "transparency was laid on the background colour, because the output type has none",
        "the colour profile was dropped: it is too large, broken, or made for other colours",
        "CMYK was converted to RGB without a colour profile",
        "extra bytes between the JPEG's segments or after its end were skipped",
        "the image is damaged: what could be read of it was used",
    };
    return index >= 0 && index < NOTE_COUNT ? texts[index] : "";
}

void metadata_release(struct metadata *metadata) {
    free(metadata->profile);
    *metadata = (struct metadata){ 0 };
}

enum status codec_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                         const struct codec_limits *limits, struct progress *progress,
                         const struct image *into, struct metadata *metadata, uint32_t *notes,
                         struct failure *failure) {
    assert(image_same_shape(into, &probe->shape) && into->stride >= image_row_bytes(into));
    static enum status (*const decoders[FORMAT_COUNT])(const struct decoding *) = {
        [FORMAT_JPEG] = jpeg_decode,
        [FORMAT_PNG] = png_decode,
        [FORMAT_PNM] = pnm_decode,
    };
    struct metadata read = { 0 };
    const struct decoding decoding = { bytes, length, probe, limits, progress,
                                       into,  &read,  notes, failure };
    assert(decoders[probe->format]);
    /* Rows that never come are black, not what the memory held before. */
    for (uint32_t y = 0; limits->accept_damage && y < into->height; y++)
        memset(image_row(into, y), 0, image_row_bytes(into));
    const enum status status = decoders[probe->format](&decoding);
    if (status == STATUS_OK && probe->animated) *notes |= NOTE_FIRST_FRAME;
    if (status == STATUS_OK && metadata)
        *metadata = read;
    else
        metadata_release(&read);
    return status;
}

enum status codec_read_metadata(const uint8_t *bytes, size_t length, const struct probe *probe,
                                const struct codec_limits *limits, struct metadata *metadata,
                                uint32_t *notes, struct failure *failure) {
    const struct decoding decoding = { bytes, length,   probe, limits, NULL,
                                       NULL,  metadata, notes, failure };
    assert(probe->format == FORMAT_JPEG);
    *metadata = (struct metadata){ 0 };
    return probe->profile ? jpeg_profile(&decoding) : STATUS_OK;
}

enum status codec_encode(const struct image *image, const struct metadata *metadata,
                         const struct encode_options *options, struct progress *progress,
                         uint8_t *bytes, size_t capacity, size_t *length, uint32_t *notes,
                         struct failure *failure) {
    static enum status (*const encoders[FORMAT_COUNT])(const struct encoding *) = {
        [FORMAT_JPEG] = jpeg_encode,
        [FORMAT_PNG] = png_encode,
        [FORMAT_PNM] = pnm_encode,
    };
    const struct encoding encoding = { image,    metadata, options, progress, bytes,
                                       capacity, length,   notes,   failure };
    assert(encoders[options->format]);
    *length = 0;
    return encoders[options->format](&encoding);
}

size_t codec_encode_bound(const struct image *image, const struct metadata *metadata,
                          enum format format) {
    const size_t profile_length = metadata ? metadata->profile_length : 0;
    if (format == FORMAT_JPEG) return jpeg_bound(image, profile_length);
    if (format == FORMAT_PNG) return png_bound(image, profile_length);
    return pnm_bound(image);
}
