// SPDX-License-Identifier: Apache-2.0
/* How it works. Bytes for each pixel, measured on noise of 4 MP with libwebp 1.2.4 and libavif 0.11
 * and rounded up; what libjpeg and libpng keep follows from their formats. */
#include "pipeline/codec_memory.h"

enum {
    WEBP_LOSSY = 24,          /* planes, macroblocks and tokens */
    WEBP_ALPHA = 14,          /* beside that: alpha is packed without loss, */
    WEBP_ALPHA_THOROUGH = 30, /* thoroughly in several ways */
    WEBP_LOSSLESS = 36,       /* the pixels twice, chains of equal ones, what refers back */
    AVIF_USUAL = 30,          /* as avif_pixels_max says, */
    AVIF_THOROUGH = 60,       /* with effort 6 or lossless */
    COEFFICIENT = 2,  /* of a JPEG, that its encoder and decoder keep if it is progressive */
    WEBP_DECODED = 5, /* the pixels of a lossless one, the alpha of another */
    THOROUGH_EFFORT = 5
};

/* Bytes of a picture that must be decoded whole before its rows can be reordered. */
static uint64_t turned(const struct probe *probe) {
    return image_pixels(&probe->shape) * image_pixel_bytes(&probe->shape);
}

static uint64_t decode_bytes(const struct probe *probe) {
    const uint64_t pixels = image_pixels(&probe->shape);
    switch (probe->format) {
    case FORMAT_JPEG: return probe->progressive ? pixels * probe->components * COEFFICIENT : 0;
    case FORMAT_PNG: return probe->interlaced && probe->orientation > 1 ? turned(probe) : 0;
    case FORMAT_WEBP: return pixels * WEBP_DECODED + (probe->orientation > 1 ? turned(probe) : 0);
    default: return 0;
    }
}

size_t codec_memory_decode(const struct probe *probe, size_t most) {
    const uint64_t bytes = decode_bytes(probe);
    return bytes < most ? (size_t)bytes : most;
}

size_t codec_memory_encode(const struct image *image, const struct encode_options *options) {
    const uint64_t pixels = image_pixels(image);
    const bool thorough = options->lossless || options->effort >= THOROUGH_EFFORT;
    switch (options->format) {
    case FORMAT_JPEG:
        return (size_t)(options->progressive ? pixels * image->channels * COEFFICIENT : 0);
    case FORMAT_WEBP:
        if (options->lossless) return (size_t)(pixels * WEBP_LOSSLESS);
        if (!image_has_alpha(image)) return (size_t)(pixels * WEBP_LOSSY);
        return (size_t)(pixels * (WEBP_LOSSY + (thorough ? WEBP_ALPHA_THOROUGH : WEBP_ALPHA)));
    case FORMAT_AVIF: return (size_t)(pixels * (thorough ? AVIF_THOROUGH : AVIF_USUAL));
    default: return 0;
    }
}
