// SPDX-License-Identifier: Apache-2.0
/* codecs.h - what probe.c and codec.c ask of each format.
 *
 * Used by:  probe.c, codec.c and the codecs; nobody else includes it.
 * Owns:     nothing; a decoding or encoding borrows all that it points to.
 * Limits:   probing checks no sizes (probe.c does), decoding and encoding keep to theirs.
 */
#ifndef BURIN_CODECS_H
#define BURIN_CODECS_H

#include "pipeline/codec.h"

struct decoding {
    const uint8_t *bytes;
    size_t length;
    const struct probe *probe;
    const struct codec_limits *limits;
    struct progress *progress; /* may be NULL */
    const struct image *into;
    struct metadata *metadata;
    uint32_t *notes;
    struct failure *failure; /* may be NULL */
};

struct encoding {
    const struct image *image;
    const struct metadata *metadata; /* may be NULL */
    const struct encode_options *options;
    struct progress *progress; /* may be NULL */
    uint8_t *bytes;
    size_t capacity;
    size_t *length;
    uint32_t *notes;
    struct failure *failure; /* may be NULL */
};

enum status jpeg_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                       struct failure *failure);
enum status png_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                      struct failure *failure);
enum status pnm_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                      struct failure *failure);
enum status webp_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                       struct failure *failure);

enum status jpeg_decode(const struct decoding *decoding);
enum status png_decode(const struct decoding *decoding);
enum status pnm_decode(const struct decoding *decoding);
enum status webp_decode(const struct decoding *decoding);

enum status jpeg_encode(const struct encoding *encoding);
enum status png_encode(const struct encoding *encoding);
enum status pnm_encode(const struct encoding *encoding);
enum status webp_encode(const struct encoding *encoding);
enum status avif_encode(const struct encoding *encoding);

/* codec_still_ms() of the formats that have such times. */
double webp_still_ms(const struct image *image, const struct encode_options *options);
double avif_still_ms(const struct image *image, const struct encode_options *options);

size_t jpeg_bound(const struct image *image, size_t profile_length);
size_t png_bound(const struct image *image, size_t profile_length);
size_t pnm_bound(const struct image *image);
size_t webp_bound(const struct image *image, size_t profile_length);
size_t avif_bound(const struct image *image, size_t profile_length);

/* The ICC profile that a JPEG carries in APP2 segments, put together; a broken or too large one is
 * left out and noted. */
enum status jpeg_profile(const struct decoding *decoding);

/* Why a codec stopped, as a sentence: for STATUS_DEADLINE and STATUS_CANCELLED. */
enum status codec_stopped(enum status status, struct failure *failure);
/* Notes damage that the caller accepts; of several the first one's TEXT stays. */
void codec_damage(const struct decoding *decoding, const char *text);

/* The answer to a caller whose CAPACITY does not hold the result. */
enum status codec_overflow(const struct encoding *encoding);

static inline uint32_t read_be16(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static inline uint32_t read_be32(const uint8_t *bytes) {
    return read_be16(bytes) << 16 | read_be16(bytes + 2);
}

#endif
