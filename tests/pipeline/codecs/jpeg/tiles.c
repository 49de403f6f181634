// SPDX-License-Identifier: Apache-2.0
/* The encoder in tiles beside the codec: the same file, over sizes, samplings, qualities, kinds of
 * pictures, strides and profiles; and nothing written where the room is too small.
 *
 * covers: pipeline/codecs/jpeg/prologue.c
 */
#include "pipeline/codecs/jpeg/codec.h"
#include "pipeline/codecs/jpeg/prologue.h"
#include "tests/twins/jpeg_tiles.h"

#include "tests/pipeline/codecs/made_files.h"

enum { GUARD = 0xa5, QUALITIES = 5, KINDS = 8 };

static const int qualities[QUALITIES] = { 1, 50, 85, 95, 100 };

/* ---- pictures */

static uint8_t sample_of(int kind, uint32_t x, uint32_t y, uint32_t noise) {
    switch (kind) {
    case 0: return (uint8_t)noise;
    case 1: return noise & 0x80 ? 255 : 0;
    case 2: return 200;
    case 3: return (uint8_t)(3 * x + 2 * y);
    case 4: return (uint8_t)(128 + (x * 3 + y * 2) % 97 + noise % 8);
    case 5: return y % 16 < 9 && x % 7 < 5 && (noise & 96) ? 20 : 255; /* as text */
    case 6: return x / 3 % 2 ? 230 : 30;
    default: return 255;
    }
}

/* Rows of STRIDE bytes, what is beyond the pixels included. */
static struct image new_picture(uint32_t width, uint32_t height, unsigned channels, int kind,
                                size_t more) {
    struct image image = image_shape(width, height, channels, 8);
    image.stride = image_row_bytes(&image) + more;
    image.pixels = malloc(image.stride * height);
    assert_non_null(image.pixels);
    memset(image.pixels, GUARD, image.stride * height);
    uint32_t state = width * 977 + height;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width * channels; x++)
            image_row(&image, y)[x] =
                sample_of(kind, x / channels + 5 * (x % channels), y, next_random(&state) >> 8);
    return image;
}

/* ---- both encoders */

struct result {
    enum status status;
    uint8_t *bytes;
    size_t length;
    uint32_t notes;
};

static struct result run(enum status (*encode)(const struct encoding *), const struct image *image,
                         int quality, const struct metadata *metadata, size_t capacity) {
    struct encode_options options = encode_options_default;
    struct failure failure = { .message = "" };
    struct result result = { .bytes = malloc(capacity + 1) };
    options.quality = quality;
    memset(result.bytes, GUARD, capacity + 1);
    const struct encoding encoding = { .image = image,
                                       .metadata = metadata,
                                       .options = &options,
                                       .bytes = result.bytes,
                                       .capacity = capacity,
                                       .length = &result.length,
                                       .notes = &result.notes,
                                       .failure = &failure };
    result.status = encode(&encoding);
    assert_int_equal(result.bytes[capacity], GUARD);
    return result;
}

static void check(const struct image *image, int quality, const struct metadata *metadata) {
    const size_t bound = jpeg_bound(image, metadata ? metadata->profile_length : 0);
    struct result wanted = run(jpeg_encode, image, quality, metadata, bound);
    struct result found = run(jpeg_tiles_encode, image, quality, metadata, bound);
    assert_int_equal(wanted.status, STATUS_OK);
    if (found.status != STATUS_OK || found.length != wanted.length ||
        memcmp(found.bytes, wanted.bytes, wanted.length) != 0)
        fail_msg("%u x %u, %u channels, quality %d: status %d, %zu bytes, not %zu", image->width,
                 image->height, image->channels, quality, found.status, found.length,
                 wanted.length);
    assert_int_equal(found.notes, wanted.notes);
    free(wanted.bytes);
    free(found.bytes);
}

static void check_picture(uint32_t width, uint32_t height, int kind, size_t more) {
    for (unsigned channels = 1; channels <= 3; channels += 2) {
        struct image image = new_picture(width, height, channels, kind, more);
        for (int q = 0; q < QUALITIES; q++) check(&image, qualities[q], NULL);
        free(image.pixels);
    }
}

/* ---- tests */

/* Every width and every height, and all pairs of what is left of both after whole MCUs. */
static void test_small_sizes(void **state) {
    (void)state;
    int round = 0;
    for (uint32_t height = 1; height <= 70; height += 1 + height / 20)
        for (uint32_t width = 1 + height % 5; width <= 70; width += 5)
            check_picture(width, height, round++ % KINDS, 0);
}

static void test_lines_and_larger_sizes(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 },    { 1, 513 },   { 513, 1 },  { 4097, 3 },
                                         { 3, 1025 }, { 273, 131 }, { 512, 16 }, { 528, 33 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < KINDS; kind++)
            check_picture(sizes[s][0], sizes[s][1], kind, kind % 2 * 7);
}

static void test_every_quality(void **state) {
    (void)state;
    for (unsigned channels = 1; channels <= 3; channels += 2) {
        struct image image = new_picture(61, 43, channels, 0, 1);
        for (int quality = 1; quality <= 100; quality++) check(&image, quality, NULL);
        free(image.pixels);
    }
}

/* One piece, two, and one of no colours that the picture has. */
static void test_profiles(void **state) {
    (void)state;
    static const size_t lengths[] = { 128, 3144, 65519, 65520, 200000 };
    for (unsigned channels = 1; channels <= 3; channels += 2) {
        struct image image = new_picture(33, 17, channels, 4, 0);
        for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
            struct metadata metadata = { .profile_length = lengths[i / 2] };
            metadata.profile = malloc(metadata.profile_length);
            fill_noise(metadata.profile, metadata.profile_length, 5);
            memcpy(metadata.profile + 16, i % 2 ? "RGB " : "GRAY", 4);
            check(&image, 85, &metadata);
            free(metadata.profile);
        }
        free(image.pixels);
    }
}

/* From no room at all to just enough: refused as by the codec, and nothing is written beyond. */
static void test_room_that_is_too_small(void **state) {
    (void)state;
    struct image image = new_picture(37, 29, 3, 0, 0);
    struct result whole = run(jpeg_encode, &image, 90, NULL, jpeg_bound(&image, 0));
    for (size_t room = 0; room <= whole.length; room += room < whole.length - 8 ? 7 : 1) {
        struct result wanted = run(jpeg_encode, &image, 90, NULL, room);
        struct result found = run(jpeg_tiles_encode, &image, 90, NULL, room);
        assert_int_equal(found.status, wanted.status);
        assert_int_equal(found.status == STATUS_OK, room >= whole.length);
        free(wanted.bytes);
        free(found.bytes);
    }
    free(whole.bytes);
    free(image.pixels);
}

static void test_another_size_of_the_same_prologue(void **state) {
    (void)state;
    for (int sampling = JPEG_GRAY; sampling <= JPEG_420; sampling++)
        for (size_t profile = 0; profile < 70000; profile += 69999) {
            const struct jpeg_frame frames[] = { jpeg_frame_of(3, 5, (uint32_t)sampling),
                                                 jpeg_frame_of(65500, 301, (uint32_t)sampling) };
            uint8_t *icc = calloc(1, profile + 1);
            const struct carried carried = {
                .profile = icc, .profile_length = profile, .exif = icc, .exif_length = profile / 2
            };
            const size_t length = jpeg_prologue_bytes((enum jpeg_sampling)sampling, &carried);
            uint8_t *bytes[] = { malloc(length), malloc(length) };
            for (int i = 0; i < 2; i++) jpeg_prologue_write(&frames[i], 77, &carried, bytes[i]);
            assert_memory_not_equal(bytes[0], bytes[1], length);
            jpeg_prologue_resize(&frames[1], bytes[0], length);
            assert_memory_equal(bytes[0], bytes[1], length);
            for (int i = 0; i < 2; i++) free(bytes[i]);
            free(icc);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_sizes),
        cmocka_unit_test(test_lines_and_larger_sizes),
        cmocka_unit_test(test_every_quality),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_room_that_is_too_small),
        cmocka_unit_test(test_another_size_of_the_same_prologue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
