// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/picture.h"

#include "pipeline/codec.h"
#include "server/files.h"

#include <stdlib.h>
#include <string.h>

void picture_noise(const struct image *image, const void *context) {
    (void)context;
    uint64_t state = 88172645463325252u;
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t *row = image_row(image, y);
        for (size_t i = 0; i < image_row_bytes(image); i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* xorshift64 */
            row[i] = (uint8_t)(state >> 32);
        }
    }
}

void picture_waves(const struct image *image, const void *context) {
    (void)context;
    uint32_t state = 2463534242u;
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t *row = image_row(image, y);
        for (uint32_t x = 0; x < image->width; x++) {
            state ^= state << 13, state ^= state >> 17, state ^= state << 5; /* xorshift32 */
            const int wide = (int)((x + y / 2) % 1024) - 512, narrow = (int)((x * 3 + y) % 96) - 48;
            const int busy = (x / 300 + y / 200) % 3 == 0 ? (int)(state >> 27) : (int)(state >> 30);
            const int level = (wide < 0 ? -wide : wide) / 4 + (narrow < 0 ? -narrow : narrow) / 2;
            for (unsigned c = 0; c < image->channels; c++)
                row[(size_t)x * image->channels + c] = (uint8_t)(level + busy + 20 * (int)c);
        }
    }
}

void picture_two_levels(const struct image *image, const void *context) {
    (void)context;
    for (uint32_t y = 0; y < image->height; y++)
        memset(image_row(image, y), y < image->height / 2 ? 200 : 90, image_row_bytes(image));
}

void picture_copy(const struct image *image, const void *context) {
    const struct image *pixels = context;
    for (uint32_t y = 0; y < image->height; y++)
        memcpy(image_row(image, y), image_row(pixels, y), image_row_bytes(image));
}

enum status picture_load(struct image *image, const char *path, struct failure *failure) {
    struct probe probe;
    struct metadata metadata = { 0 };
    uint8_t *bytes = NULL;
    size_t length = 0;
    uint32_t notes = 0;
    *image = (struct image){ 0 };
    enum status status = files_read(path, &bytes, &length, failure);
    if (!status) status = probe_image(bytes, length, &codec_limits_default.probe, &probe, failure);
    if (!status) {
        *image = probe.shape;
        image->pixels = malloc(image_bytes(image));
        status = image->pixels ? codec_decode(bytes, length, &probe, &codec_limits_default, NULL,
                                              image, &metadata, &notes, failure)
                               : fail(failure, STATUS_NO_MEMORY, "no memory for its pixels");
    }
    metadata_release(&metadata);
    free(bytes);
    return status;
}
