// SPDX-License-Identifier: Apache-2.0
#include "pipeline/aux_image.h"

#include "pipeline/sample.h"

#include <stdlib.h>

struct image aux_image_shape(const struct probe *probe) {
    return image_shape(probe->shape.width, probe->shape.height, 1, 8);
}

static inline void gray_row(const uint8_t *in, uint8_t *out, uint32_t width, unsigned channels,
                            unsigned depth) {
    for (size_t x = 0; x < width; x++)
        out[x] = (uint8_t)(sample_luma(in, x * channels, channels, depth) >> (depth - 8));
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
                    "the mask takes %zu bytes to decode, over %zu (codec_memory_bytes); send it as "
                    "8-bit gray",
                    image_bytes(&whole), limits->memory_max);
    whole.pixels = malloc(image_bytes(&whole));
    if (!whole.pixels) return fail(failure, STATUS_NO_MEMORY, "no memory for a mask");
    const enum status status =
        codec_decode(bytes, length, probe, &strict, progress, &whole, NULL, &notes, failure);
    for (uint32_t y = 0; status == STATUS_OK && y < whole.height; y++)
        SPECIALISE(whole.channels, whole.depth, gray_row, image_row(&whole, y), image_row(into, y),
                   whole.width);
    free(whole.pixels);
    return status;
}
