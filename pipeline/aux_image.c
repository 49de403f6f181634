// SPDX-License-Identifier: Apache-2.0
#include "pipeline/aux_image.h"

#include "pipeline/sample.h"

#include <stdlib.h>

struct image aux_image_shape(enum aux_kind kind, const struct probe *probe) {
    const struct image *shape = &probe->shape;
    return kind == AUX_PICTURE ? image_shape(shape->width, shape->height, 4, shape->depth)
                               : image_shape(shape->width, shape->height, 1, 8);
}

enum status aux_image_probe(enum aux_kind kind, const uint8_t *bytes, size_t length,
                            const struct image *main, const struct probe_limits *limits,
                            struct probe *probe, struct failure *failure) {
    enum status status = probe_image(bytes, length, limits, probe, failure);
    if (status == STATUS_OK) status = probe_check_data(probe, false, failure);
    if (status != STATUS_OK || kind == AUX_MASK) return status;
    const uint64_t pixels = image_pixels(&probe->shape) + image_pixels(main);
    if (pixels <= limits->pixels_max) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the image and this one have %llu pixels together and at most %llu are allowed "
                "(pixels_max); send a smaller one",
                (unsigned long long)pixels, (unsigned long long)limits->pixels_max);
}

static inline void gray_row(const uint8_t *in, uint8_t *out, uint32_t width, unsigned channels,
                            unsigned depth) {
    for (size_t x = 0; x < width; x++)
        out[x] = (uint8_t)(sample_luma(in, x * channels, channels, depth) >> (depth - 8));
}

static inline void rgba_row(const uint8_t *in, uint8_t *out, uint32_t width, unsigned channels,
                            unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (size_t x = 0; x < width; x++, in += channels * depth / 8) {
        for (unsigned c = 0; c < 3; c++)
            sample_put(out, 4 * x + c, depth, sample_get(in, colours == 1 ? 0 : c, depth));
        sample_put(out, 4 * x + 3, depth,
                   channels == colours ? (depth == 16 ? 65535 : 255)
                                       : sample_get(in, colours, depth));
    }
}

/* Turns WHOLE, a decoded file, into the form of INTO. */
static void convert(const struct image *whole, const struct image *into) {
    for (uint32_t y = 0; y < whole->height; y++)
        if (into->channels == 4)
            SPECIALISE(whole->channels, whole->depth, rgba_row, image_row(whole, y),
                       image_row(into, y), whole->width);
        else
            SPECIALISE(whole->channels, whole->depth, gray_row, image_row(whole, y),
                       image_row(into, y), whole->width);
}

enum status aux_image_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                             const struct codec_limits *limits, struct progress *progress,
                             const struct image *into, struct failure *failure) {
    uint32_t notes = 0;
    struct image whole = probe->shape;
    struct codec_limits strict = *limits;
    strict.accept_damage = false;
    if (image_same_shape(&whole, into))
        return codec_decode(bytes, length, probe, &strict, progress, into, NULL, &notes, failure);
    if (image_bytes(&whole) > limits->memory_max)
        return fail(failure, STATUS_TOO_LARGE,
                    "the further image takes %zu bytes to decode, over %zu (codec_memory_bytes); "
                    "send it as %s",
                    image_bytes(&whole), limits->memory_max,
                    into->channels == 4 ? "RGBA" : "8-bit gray");
    whole.pixels = malloc(image_bytes(&whole));
    if (!whole.pixels) return fail(failure, STATUS_NO_MEMORY, "no memory for a further image");
    const enum status status =
        codec_decode(bytes, length, probe, &strict, progress, &whole, NULL, &notes, failure);
    if (status == STATUS_OK) convert(&whole, into);
    free(whole.pixels);
    return status;
}
