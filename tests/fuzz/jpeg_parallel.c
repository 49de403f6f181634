// SPDX-License-Identifier: Apache-2.0
/* The GPU's JPEG decoder, on the CPU: for any bytes it ends, stays within its arena, and gives the
 * CPU codec's samples or a flag. The last byte divides the subsequences.
 * covers: tests/twins/jpeg_parallel.c pipeline/codecs/jpeg/picture.c
 */
#include "tests/twins/jpeg_parallel.h"
#include "tests/fuzz/codec_fuzz.h"

enum { BLOCKS_MAX = 4096 }; /* larger ones are slow and show nothing else */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const struct jpeg_division divisions[] = {
    { 128, 8, 16, 64, 0, 0, 0 }, { 128, 1, 16, 64, 0, 0, 0 }, { 8, 2, 3, 2, 0, 0, 0 },
    { 16, 4, 32, 1, 0, 0, 0 },   { 8, 1, 3, 2, 7, 2, 8 },     { 8, 2, 3, 2, 8, 1, 2 }
};

static bool read_picture(const uint8_t *bytes, size_t length, struct probe *probe,
                         struct jpeg_picture *picture) {
    struct failure failure;
    struct jpeg_baseline jpeg;
    return probe_image(bytes, length, &fuzz_limits.probe, probe, &failure) == STATUS_OK &&
           jpeg_baseline_read_header(bytes, length, probe, &fuzz_limits, &jpeg) &&
           jpeg_picture_init(picture, &jpeg);
}

/* With what a picture before left behind, at its exact size. */
static uint8_t *new_arena(const struct jpeg_picture *picture) {
    const size_t size = jpeg_picture_bytes(picture);
    uint8_t *arena = aligned_alloc(JPEG_ARENA_ALIGN, size);
    memset(arena, 0xa5, size);
    return arena;
}

/* The CPU codec decodes an unflagged file without a note, to the same samples. */
static void compare(const uint8_t *bytes, size_t length, const struct probe *probe,
                    const struct image *ours) {
    struct image image;
    struct metadata metadata = { 0 };
    if (!fuzz_decode(bytes, length, probe, &image, &metadata)) abort();
    if (memcmp(image.pixels, ours->pixels, image_bytes(&image)) != 0) abort();
    metadata_release(&metadata);
    free(image.pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct probe probe;
    struct jpeg_picture picture;
    if (length < 2) return 0;
    const struct jpeg_division *division = &divisions[bytes[--length] % 6];
    if (!read_picture(bytes, length, &probe, &picture) || picture.blocks > BLOCKS_MAX) return 0;
    uint8_t *arena = new_arena(&picture);
    jpeg_picture_place(&picture, arena);
    picture.into = probe.shape;
    picture.into.stride = image_row_bytes(&picture.into);
    picture.into.pixels = malloc(image_bytes(&picture.into));
    if (jpeg_parallel_decode(&picture, division) == 0)
        compare(bytes, length, &probe, &picture.into);
    free(picture.into.pixels);
    free(arena);
    return 0;
}
