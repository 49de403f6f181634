// SPDX-License-Identifier: Apache-2.0
/* PNG with a palette, read again by libpng: colours that are kept, those that are chosen, bits of
 * an index, transparency, patterns, room and time. tests/http/test_png_palette.py compares with
 * Pillow.
 * covers: pipeline/codecs/common/palette.c pipeline/codecs/common/clusters.c */
#include "tests/pipeline/codecs/made_files.h"

#include <time.h>

enum { BITS_AT = 24, TYPE_AT = 25 }; /* in IHDR */

static struct encode_options few(int colors, bool dither) {
    struct encode_options options = encode_options_default;
    options.format = FORMAT_PNG;
    options.colors = colors;
    options.dither = dither;
    return options;
}

static struct bytes encode(const struct image *image, const struct encode_options *options,
                           uint32_t *notes) {
    struct failure failure = { .message = "" };
    const size_t bound = codec_encode_bound(image, NULL, FORMAT_PNG);
    struct bytes bytes = { malloc(bound), 0 };
    *notes = 0;
    if (codec_encode(image, NULL, options, NULL, bytes.data, bound, &bytes.length, notes, &failure))
        fail_msg("%s", failure.message);
    assert_int_equal(bytes.data[TYPE_AT], 3);
    return bytes;
}

/* Four bytes a pixel, by libpng. */
static uint8_t *read_back(const struct bytes *bytes) {
    png_image image = { .version = PNG_IMAGE_VERSION };
    if (!png_image_begin_read_from_memory(&image, bytes->data, bytes->length))
        fail_msg("%s", image.message);
    image.format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(image));
    if (!png_image_finish_read(&image, NULL, pixels, 0, NULL)) fail_msg("%s", image.message);
    return pixels;
}

/* COUNT colours of four bytes that differ, in order and then at random; the first has alpha 0. */
static struct image new_few(uint32_t width, uint32_t height, unsigned count) {
    struct image image = new_image(width, height, 4, 8);
    uint32_t seed = count;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const uint32_t i = (y ? next_random(&seed) : x) % count;
            const uint8_t pixel[] = { (uint8_t)(i * 7), (uint8_t)(i * i), (uint8_t)i,
                                      (uint8_t)(i % 3 ? 255 : i) };
            if (i) memcpy(image_row(&image, y) + 4 * x, pixel, 4);
        }
    return image;
}

static void few_colours_are_kept(void **state) {
    (void)state;
    static const struct {
        unsigned count, bits;
    } cases[] = { { 1, 1 },  { 2, 1 },  { 3, 2 },   { 4, 2 },  { 5, 4 },
                  { 16, 4 }, { 17, 8 }, { 255, 8 }, { 256, 8 } };
    static const uint32_t sizes[][2] = { { 1, 300 }, { 300, 1 }, { 257, 9 } };
    for (unsigned i = 0; i < 9 * 3; i++)
        for (int compression = 0; compression <= 3; compression++) {
            struct image image = new_few(sizes[i % 3][0], sizes[i % 3][1], cases[i / 3].count);
            struct encode_options options = few(256, compression & 1);
            uint32_t notes;
            options.compression = compression;
            struct bytes bytes = encode(&image, &options, &notes);
            assert_int_equal(notes, 0);
            if (i % 3) assert_int_equal(bytes.data[BITS_AT], cases[i / 3].bits);
            uint8_t *back = read_back(&bytes);
            for (uint32_t y = 0; y < image.height; y++)
                assert_memory_equal(back + (size_t)y * 4 * image.width, image_row(&image, y),
                                    4 * image.width);
            free(back);
            free(bytes.data);
            free(image.pixels);
        }
}

static unsigned count_colours(const uint8_t *pixels, size_t count) {
    uint32_t seen[PNG_MAX_PALETTE_LENGTH];
    unsigned colours = 0, at;
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, pixels + 4 * i, 4);
        for (at = 0; at < colours && seen[at] != word; at++) continue;
        assert_in_range(at, 0, PNG_MAX_PALETTE_LENGTH - 1);
        if (at == colours) seen[colours++] = word;
    }
    return colours;
}

/* Noise of every shape: no more colours than were asked for, and one of them for alpha 0. */
static void no_more_colours_than_asked_for(void **state) {
    (void)state;
    static const int most[] = { 2, 3, 16, 255, 256 };
    for (unsigned i = 0; i < 5 * 4 * 2 * 2; i++) {
        const unsigned channels = 1 + i / 5 % 4, depth = i / 20 % 2 ? 16 : 8;
        struct image image = new_noise(61, 47, channels, depth, i);
        const bool clear = image_has_alpha(&image);
        if (clear) memset(image.pixels + (channels - 1) * depth / 8, 0, depth / 8u);
        struct encode_options options = few(most[i % 5], i >= 40);
        uint32_t notes;
        struct bytes bytes = encode(&image, &options, &notes);
        const uint32_t cut = channels > 1 || most[i % 5] < 256 ? NOTE_COLOURS_CUT : 0;
        assert_int_equal(notes, cut | (depth == 16 ? NOTE_DEPTH_CUT : 0));
        uint8_t *back = read_back(&bytes);
        assert_in_range(count_colours(back, 61 * 47), 2, most[i % 5]);
        assert_true(!clear || back[3] == 0);
        free(back);
        free(bytes.data);
        free(image.pixels);
    }
}

/* More colours than cells, most of the pixels white: white stays, and the others are near. */
static void a_frequent_colour_stays(void **state) {
    (void)state;
    struct image image = new_noise(700, 1200, 3, 8, 5);
    for (uint32_t y = 500; y < 1200; y++) memset(image_row(&image, y), 255, 3 * 700);
    const struct encode_options options = few(256, false);
    uint32_t notes;
    struct bytes bytes = encode(&image, &options, &notes);
    uint8_t *back = read_back(&bytes);
    uint64_t sum = 0;
    for (uint32_t y = 0; y < 1200; y++)
        for (size_t x = 0; x < 3 * 700; x++) {
            const int level = back[((size_t)y * 700 + x / 3) * 4 + x % 3];
            sum += (uint64_t)abs(level - image_row(&image, y)[x]);
            if (y >= 500) assert_int_equal(level, 255);
        }
    assert_true(sum < (uint64_t)11 * 3 * 700 * 500); /* cubes of 40 levels a side are 10 off */
    free(back);
    free(bytes.data);
    free(image.pixels);
}

/* Black, white and few pixels of a gray between: black up to a quarter of the way, white from three
 * quarters on, and between these the part of white grows from none to all in each 8 x 8. */
static void a_pattern_is_the_colour_between(void **state) {
    (void)state;
    for (int gray = 24; gray < 256; gray += 16) {
        struct image image = new_image(512, 512, 1, 8);
        for (uint32_t y = 256; y < 512; y++) memset(image_row(&image, y), 255, 512);
        for (uint32_t y = 0; y < 16; y++) memset(image_row(&image, y), gray, 16);
        const struct encode_options options = few(2, true);
        uint32_t notes;
        struct bytes bytes = encode(&image, &options, &notes);
        uint8_t *back = read_back(&bytes);
        for (uint32_t block = 0; block < 4; block++) {
            int sum = 0;
            for (uint32_t i = 0; i < 64; i++)
                sum += back[4 * ((block / 2 * 8 + i / 8) * 512 + block % 2 * 8 + i % 8)];
            const int wanted = 64 * (2 * gray - 127);
            const int most = 64 * 255, clamped = wanted < 0 ? 0 : wanted > most ? most : wanted;
            assert_in_range(sum, clamped > 320 ? clamped - 320 : 0, clamped + 320);
        }
        assert_int_equal(back[4 * 100], back[4 * 300 * 400]);
        free(back);
        free(bytes.data);
        free(image.pixels);
    }
}

/* Opaque black beside what is transparent, and one entry beside that: it stays opaque. */
static void opaque_pixels_stay_opaque(void **state) {
    (void)state;
    struct image image = new_noise(50 * 40, 1, 4, 8, 1);
    for (uint32_t i = 0; i < 50 * 40; i++) image.pixels[4 * i + 3] = i ? 255 : 0;
    memset(image.pixels + 4, 0, 3);
    const struct encode_options options = few(2, false);
    uint32_t notes;
    struct bytes bytes = encode(&image, &options, &notes);
    uint8_t *back = read_back(&bytes);
    for (uint32_t i = 0; i < 50 * 40; i++) assert_int_equal(back[4 * i + 3], i ? 255 : 0);
    free(back);
    free(bytes.data);
    free(image.pixels);
}

static void a_profile_is_of_colours(void **state) {
    (void)state;
    static const char *const spaces[] = { "RGB ", "GRAY" };
    for (unsigned i = 0; i < 2; i++) {
        struct image image = new_noise(30, 20, 1, 8, 1);
        struct bytes profile = new_profile(400, spaces[i]);
        const struct metadata metadata = { .profile = profile.data,
                                           .profile_length = profile.length };
        const struct encode_options options = few(256, false);
        uint8_t room[8000];
        uint32_t notes = 0;
        size_t length;
        assert_int_equal(codec_encode(&image, &metadata, &options, NULL, room, sizeof room, &length,
                                      &notes, NULL),
                         STATUS_OK);
        assert_int_equal(notes, i ? NOTE_PROFILE_DROPPED : 0);
        assert_memory_equal(room + 37, i ? "PLTE" : "iCCP", 4); /* behind signature and IHDR */
        free(profile.data);
        free(image.pixels);
    }
}

/* The exact bytes suffice, one less is too few. */
static void room_is_kept(void **state) {
    (void)state;
    struct image image = new_few(61, 47, 200);
    const struct encode_options options = few(256, false);
    uint32_t notes;
    size_t length;
    struct bytes bytes = encode(&image, &options, &notes);
    for (size_t room = 0; room <= bytes.length; room += room < 40                  ? 1
                                                        : bytes.length - room > 90 ? 90
                                                                                   : 1) {
        struct failure failure = { .message = "" };
        uint8_t *exact = malloc(room);
        assert_int_equal(
            codec_encode(&image, NULL, &options, NULL, exact, room, &length, &notes, &failure),
            room < bytes.length ? STATUS_TOO_LARGE : STATUS_OK);
        if (room == bytes.length) assert_memory_equal(exact, bytes.data, room);
        free(exact);
    }
    free(bytes.data);
    free(image.pixels);
}

static void it_stops(void **state) {
    (void)state;
    struct image image = new_noise(300, 200, 3, 8, 1);
    struct progress cancelled = { .cancelled = true }, late = { .deadline_ns = 1 };
    const struct encode_options options = few(256, true);
    const size_t bound = codec_encode_bound(&image, NULL, FORMAT_PNG);
    uint8_t *room = malloc(bound);
    uint32_t notes = 0;
    size_t length;
    assert_int_equal(
        codec_encode(&image, NULL, &options, &cancelled, room, bound, &length, &notes, NULL),
        STATUS_CANCELLED);
    assert_int_equal(
        codec_encode(&image, NULL, &options, &late, room, bound, &length, &notes, NULL),
        STATUS_DEADLINE);
    free(room);
    free(image.pixels);
}

/* Colours that a hash with a known multiplier would put into a 64th of its slots. */
static void colours_cannot_be_chosen_to_be_slow(void **state) {
    (void)state;
    struct image image = new_image(512, 256, 3, 8);
    const struct encode_options options = few(256, false);
    struct timespec from, to;
    uint32_t notes, colour = 0;
    for (uint32_t i = 0; i < 512 * 256; i++) {
        while ((0xff000000 | colour) * 0x9e3779b1u >> 26) colour++;
        uint8_t *pixel = image_row(&image, i / 512) + 3 * (i % 512);
        for (int c = 0; c < 3; c++) pixel[c] = (uint8_t)(colour >> (16 - 8 * c));
        colour++;
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    free(encode(&image, &options, &notes).data);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    assert_true(to.tv_sec - from.tv_sec < 3); /* 0.1 s, or 12 s */
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_colours_are_kept),
        cmocka_unit_test(no_more_colours_than_asked_for),
        cmocka_unit_test(a_frequent_colour_stays),
        cmocka_unit_test(a_pattern_is_the_colour_between),
        cmocka_unit_test(opaque_pixels_stay_opaque),
        cmocka_unit_test(a_profile_is_of_colours),
        cmocka_unit_test(room_is_kept),
        cmocka_unit_test(it_stops),
        cmocka_unit_test(colours_cannot_be_chosen_to_be_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
