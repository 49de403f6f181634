// SPDX-License-Identifier: Apache-2.0
/* Headers, maxima, cuts and damage of PNM. */
#include "tests/pipeline/codecs/made_files.h"

static enum status decode_text(const char *text, size_t length, struct image *image) {
    struct bytes bytes = { malloc(length), length };
    struct failure failure;
    uint32_t notes = 0;
    memcpy(bytes.data, text, length);
    const enum status status =
        try_decode(&bytes, &codec_limits_default, image, NULL, &notes, &failure);
    free(bytes.data);
    return status;
}

#define DECODE(text, image) decode_text(text, sizeof(text) - 1, image)

static void test_headers(void **state) {
    (void)state;
    static const char *const good[] = {
        "P5 2 1 255 ab",        "P5\n2 1\n255\nab",
        "P5#c\n2#x\n1 255\nab", "P5\n# a comment\n 2 # and\n1\n#more\n255\nab",
        "P5\t2\v1\f255\rab",    "P5 0002 01 000255 abtrailing bytes",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct image image;
        assert_int_equal(decode_text(good[i], strlen(good[i]), &image), STATUS_OK);
        assert_int_equal(image.width, 2);
        assert_int_equal(image.height, 1);
        assert_int_equal(image.channels, 1);
        assert_memory_equal(image.pixels, "ab", 2);
        free(image.pixels);
    }
    static const char *const bad[] = {
        "P5 2 1 0 ab",  "P5 2 1 65536 abcd", "P5 0 1 255 ab", "P5 2 0 255 ab",      "P5 2 1 255",
        "P5 2 1",       "P5 2 1 255ab",      "P5 -2 1 255 a", "P5 2 1 255 # no\na", "P5 2 1 255 a",
        "P5 x 1 255 a", "P5 # never ends",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct image image;
        if (i == 8) continue; /* after the maximum there is no comment: "# no\na" are samples */
        assert_int_equal(decode_text(bad[i], strlen(bad[i]), &image), STATUS_CORRUPT);
    }
}

static void test_huge_numbers(void **state) {
    (void)state;
    struct image image;
    assert_int_equal(DECODE("P5 100000 1 255 a", &image), STATUS_TOO_LARGE);
    assert_int_equal(DECODE("P5 999999999 999999999 255 a", &image), STATUS_TOO_LARGE);
    assert_int_equal(DECODE("P5 4294967297 1 255 a", &image), STATUS_CORRUPT);
    assert_int_equal(DECODE("P6 60000 60000 65535 a", &image), STATUS_TOO_LARGE);
}

/* Every sample of every maximum to its exact place, rounded half up. */
static void test_maxima_are_scaled(void **state) {
    (void)state;
    static const unsigned maxima[] = {
        1, 2, 3, 7, 100, 254, 255, 256, 257, 1000, 4095, 65534, 65535
    };
    for (size_t m = 0; m < sizeof maxima / sizeof *maxima; m++) {
        const unsigned maximum = maxima[m], full = maximum > 255 ? 65535 : 255;
        const unsigned size = maximum > 255 ? 2 : 1,
                       count = maximum + 1 < 60000 ? maximum + 1 : 60000;
        char *file = malloc(64 + count * size);
        int head = sprintf(file, "P5 %u 1 %u\n", count, maximum);
        for (unsigned i = 0; i < count; i++) {
            const unsigned v = maximum - i;
            file[head + (int)(i * size)] = (char)(size == 2 ? v >> 8 : v);
            if (size == 2) file[head + (int)(2 * i + 1)] = (char)v;
        }
        struct image image;
        assert_int_equal(decode_text(file, (size_t)head + count * size, &image), STATUS_OK);
        assert_int_equal(image.depth, size * 8);
        for (unsigned i = 0; i < count; i++) {
            const unsigned got =
                size == 2 ? ((uint16_t *)(void *)image.pixels)[i] : image.pixels[i];
            assert_int_equal(got, (unsigned)((double)(maximum - i) * full / maximum + 0.5));
        }
        free(image.pixels);
        free(file);
    }
}

static void test_samples_above_the_maximum(void **state) {
    (void)state;
    struct image image;
    assert_int_equal(DECODE("P5 3 1 100 \x64\x00\x65", &image), STATUS_CORRUPT);
    assert_int_equal(DECODE("P5 2 1 256 \x01\x00\x01\x01", &image), STATUS_CORRUPT);
    assert_int_equal(DECODE("P5 2 1 256 \x01\x00\x00\x01", &image), STATUS_OK);
    free(image.pixels);
}

static void test_cuts_are_corrupt(void **state) {
    (void)state;
    struct image image = new_noise(13, 42, 3, 16, 1);
    struct encode_options options = encode_options_default;
    options.format = FORMAT_PNM;
    struct bytes bytes = { malloc(codec_encode_bound(&image, NULL, FORMAT_PNM)), 0 };
    uint32_t notes = 0;
    assert_int_equal(codec_encode(&image, NULL, &options, NULL, bytes.data,
                                  codec_encode_bound(&image, NULL, FORMAT_PNM), &bytes.length,
                                  &notes, NULL),
                     STATUS_OK);
    assert_every_cut_corrupt(&bytes);
    free(bytes.data);
    free(image.pixels);
}

static void test_accepted_damage(void **state) {
    (void)state;
    static const char cut[] = "P6 2 3 255 abcdefghijklmnop", above[] = "P5 3 1 100 \x64\x00\x65";
    struct bytes bytes = { (uint8_t *)(uintptr_t)cut, sizeof cut - 1 };
    struct image image;
    uint32_t notes;
    char warning[WARNING_MAX];
    assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_OK);
    assert_int_equal(notes, NOTE_DAMAGED);
    assert_non_null(strstr(warning, "16 of 18 bytes"));
    assert_memory_equal(image_row(&image, 0), "abcdef", 6);
    assert_memory_equal(image_row(&image, 1), "ghijkl", 6);
    assert_memory_equal(image_row(&image, 2), "\0\0\0\0\0", 6); /* four bytes are no row */
    free(image.pixels);
    bytes.length = sizeof cut - 1 - 11; /* not one row */
    assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_CORRUPT);
    bytes = (struct bytes){ (uint8_t *)(uintptr_t)above, sizeof above - 1 };
    assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_OK);
    assert_int_equal(notes, NOTE_DAMAGED);
    assert_non_null(strstr(warning, "maximum"));
    assert_memory_equal(image.pixels, "\xff\0\xff", 3);
    free(image.pixels);
}

static void test_more_than_one_image(void **state) {
    (void)state;
    struct bytes two = { (uint8_t *)(char[]){ "P5 2 1 255 abP5 2 1 255 cd" }, 26 };
    uint32_t notes = 0;
    struct image image = must_decode(&two, NULL, &notes);
    assert_int_equal(notes, NOTE_FIRST_FRAME);
    assert_memory_equal(image.pixels, "ab", 2);
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),           cmocka_unit_test(test_huge_numbers),
        cmocka_unit_test(test_maxima_are_scaled), cmocka_unit_test(test_samples_above_the_maximum),
        cmocka_unit_test(test_cuts_are_corrupt),  cmocka_unit_test(test_more_than_one_image),
        cmocka_unit_test(test_accepted_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
