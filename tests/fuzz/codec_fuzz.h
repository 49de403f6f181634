// SPDX-License-Identifier: Apache-2.0
/* codec_fuzz.h - what the fuzzers of codecs share: decode within small limits, look at every byte,
 * encode it again and demand the same picture; and take what there is of damaged ones.
 */
#ifndef BURIN_CODEC_FUZZ_H
#define BURIN_CODEC_FUZZ_H

#include "pipeline/codec.h"

#include <stdlib.h>
#include <string.h>

static const struct codec_limits fuzz_limits = {
    .probe = { .pixels_max = 256 << 10, .side_max = 4096 },
    .scans_max = 20,
    .scan_pixels_max = 2 << 20,
    .memory_max = 16 << 20,
    .profile_max = 64 << 10,
    .metadata_max = 4 << 10,
};

/* Samples lie as they were made, and an exact allocation lets sanitizers see one byte too many. */
static inline uint8_t *fuzz_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                                   struct image *image, struct metadata *metadata) {
    struct failure failure;
    uint32_t notes = 0;
    *image = probe->shape;
    image->stride = image_row_bytes(image);
    image->pixels = malloc(image_bytes(image));
    if (codec_decode(bytes, length, probe, &fuzz_limits, NULL, image, metadata, &notes, &failure) ==
        STATUS_OK) {
        for (int kept = METADATA_NONE; kept < METADATA_CHOICES && metadata; kept++)
            codec_keep_metadata(bytes, length, probe, &fuzz_limits, kept, metadata, &notes);
        return image->pixels;
    }
    if (!failure.message[0]) abort(); /* no failure without its sentence */
    free(image->pixels);
    return image->pixels = NULL;
}

/* The part kept of a damaged image depends on its bytes alone; a sound image is kept whole.
 * EXPECTED: the sound image, or NULL where the bytes are not sound. */
static inline void fuzz_damaged(const uint8_t *bytes, size_t length, const struct probe *probe,
                                const struct image *expected) {
    struct codec_limits limits = fuzz_limits;
    uint64_t digests[2] = { 0, 0 };
    limits.accept_damage = true;
    for (int i = 0; i < 2; i++) {
        struct image image = probe->shape;
        struct failure failure = { .status = STATUS_OK };
        struct metadata metadata = { 0 };
        uint32_t notes = 0;
        image.stride = image_row_bytes(&image);
        image.pixels = malloc(image_bytes(&image));
        memset(image.pixels, i ? 0x5a : 0xff, image_bytes(&image)); /* of someone before */
        const enum status status =
            codec_decode(bytes, length, probe, &limits, NULL, &image, &metadata, &notes, &failure);
        if (status != failure.status) abort();
        if (status == STATUS_OK) {
            digests[i] = image_digest(&image);
            if (!(notes & NOTE_DAMAGED) != !metadata.warning[0]) abort();
            if (expected && (notes & NOTE_DAMAGED || digests[i] != image_digest(expected))) abort();
        } else if (expected) {
            abort();
        }
        metadata_release(&metadata);
        free(image.pixels);
    }
    if (digests[0] != digests[1]) abort();
}

/* A decoded image can be encoded within the bound; PNG returns it byte for byte. */
static inline void fuzz_encode(const struct image *image, const struct metadata *metadata,
                               enum format format) {
    struct encode_options options = encode_options_default;
    options.format = format;
    options.compression = (int)(image->width & 3);
    options.metadata = (int)(image->width % METADATA_CHOICES);
    options.quality = 1 + (int)(image->height % 100);
    const size_t bound = codec_encode_bound(image, metadata, format);
    uint8_t *bytes = malloc(bound);
    size_t length;
    uint32_t notes = 0;
    if (codec_encode(image, metadata, &options, NULL, bytes, bound, &length, &notes, NULL)) abort();
    struct probe probe;
    struct image back;
    struct metadata read = { 0 };
    if (probe_image(bytes, length, &fuzz_limits.probe, &probe, NULL)) abort();
    if (!fuzz_decode(bytes, length, &probe, &back, &read)) abort();
    if (format == FORMAT_PNG && image_digest(image) != image_digest(&back)) abort();
    metadata_release(&read);
    free(back.pixels);
    free(bytes);
}

/* One input of FORMAT; others are left alone, so that each fuzzer stays with its own. */
static inline void fuzz_codec(const uint8_t *bytes, size_t length, enum format format) {
    struct probe probe;
    struct failure failure;
    struct image image;
    struct metadata metadata = { 0 };
    if (probe_format(bytes, length) != format ||
        probe_image(bytes, length, &fuzz_limits.probe, &probe, &failure) != STATUS_OK)
        return;
    const bool sound = fuzz_decode(bytes, length, &probe, &image, &metadata) != NULL;
    if (sound && probe_check_data(&probe, false, &failure)) abort();
    fuzz_damaged(bytes, length, &probe, sound ? &image : NULL);
    if (!sound) return;
    volatile uint64_t digest = image_digest(&image); /* touches every sample */
    (void)digest;
    fuzz_encode(&image, &metadata, FORMAT_PNG);
    fuzz_encode(&image, &metadata, FORMAT_JPEG);
    fuzz_encode(&image, &metadata, FORMAT_PNM);
    fuzz_encode(&image, &metadata, FORMAT_GIF);
    metadata_release(&metadata);
    free(image.pixels);
}

#endif
