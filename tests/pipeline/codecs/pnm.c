// SPDX-License-Identifier: Apache-2.0
/* Headers, samples, maxima, cuts and damage of PNM. The pixels expected are worked out by hand from
 * netpbm's descriptions of its formats. */
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
        "P5 2#c\r1 255#c\nab",
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

/* Rows one after the other, "|" between them: gray "0 255|7 8", with commas within a pixel. */
static const struct {
    const char *file;
    unsigned length, channels, depth, space_is_rgb;
    const char *pixels;
} kinds[] = {
#define FILE(text) text, sizeof(text) - 1
    { FILE("P1 3 2 101010"), 1, 8, 0, "0 255 0|255 0 255" },
    { FILE("P1\n# c\n3 2 #c\n1 0#c\n1\n\t01#\r0x"), 1, 8, 0, "0 255 0|255 0 255" },
    { FILE("P1#\n2 1#\n10#"), 1, 8, 0, "0 255" },
    { FILE("P4 9 2\n\xa5\x80\x5a\x7f"), 1, 8, 0,
      "0 255 0 255 255 0 255 0 0|255 0 255 0 0 255 0 255 255" },
    { FILE("P4 8 1#c\n\x0f"), 1, 8, 0, "255 255 255 255 0 0 0 0" },
    { FILE("P2 3 2 255 0 1 254 255 7\n8"), 1, 8, 0, "0 1 254|255 7 8" },
    { FILE("P2 2 2 3#c\n0#c\n1 #c\r#d\n002\f3 rest"), 1, 8, 0, "0 85|170 255" },
    { FILE("P2 2 1 65535 65535 258"), 1, 16, 0, "65535 258" },
    { FILE("P2 2 1 256 256 128 "), 1, 16, 0, "65535 32768" },
    { FILE("P3 2 1 15 0 15 1 15 14 0"), 3, 8, 1, "0,255,17 255,238,0" },
    { FILE("P3 1 1 1000 1 10 1000"), 3, 16, 1, "66,655,65535" },
#define PAM(width, depth, maximum, type)                                                           \
    "P7\nWIDTH " width "\nHEIGHT 1\nDEPTH " depth "\nMAXVAL " maximum "\n" type "ENDHDR\n"
    { FILE(PAM("3", "1", "1", "TUPLTYPE BLACKANDWHITE\n") "\1\0\1"), 1, 8, 0, "255 0 255" },
    { FILE(PAM("2", "2", "1", "TUPLTYPE BLACKANDWHITE_ALPHA\n") "\1\0\0\1"), 2, 8, 0,
      "255,0 0,255" },
    { FILE(PAM("1", "1", "255", "TUPLTYPE GRAYSCALE\n") "a"), 1, 8, 0, "97" },
    { FILE(PAM("2", "2", "255", "TUPLTYPE GRAYSCALE_ALPHA\n") "abcd"), 2, 8, 0, "97,98 99,100" },
    { FILE(PAM("1", "3", "255", "TUPLTYPE RGB\n") "abc"), 3, 8, 1, "97,98,99" },
    { FILE(PAM("1", "4", "255", "TUPLTYPE RGB_ALPHA\n") "abcd"), 4, 8, 1, "97,98,99,100" },
    { FILE(PAM("1", "4", "65535", "TUPLTYPE RGB_ALPHA\n") "abcdefgh"), 4, 16, 1,
      "24930,25444,25958,26472" },
    { FILE(PAM("1", "2", "1000", "") "\0\1\3\xe8"), 2, 16, 0, "66,65535" },
    { FILE(PAM("1", "4", "85", "TUPLTYPE\n") "\1\2\0\125"), 4, 8, 1, "3,6,0,255" },
    { FILE("P7\r\n# a long comment: the quick brown fox jumps over the lazy dog and then back over "
           "it, until the line has more than a hundred characters\n\n  DEPTH\t3 \r\nMAXVAL 255\n"
           "TUPLTYPE  RGB \nHEIGHT 01\n#\nWIDTH 1\nENDHDR\r\nabcd"),
      3, 8, 1, "97,98,99" },
};

static void test_every_kind(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct bytes bytes = { (uint8_t *)(uintptr_t)kinds[k].file, kinds[k].length };
        uint32_t notes = 0;
        struct probe probe;
        assert_int_equal(
            probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
            STATUS_OK);
        assert_int_equal(probe.format, FORMAT_PNM);
        assert_int_equal(probe.shape.channels, kinds[k].channels);
        assert_string_equal(probe.space, kinds[k].space_is_rgb ? "rgb" : "gray");
        assert_int_equal(probe_check_data(&probe, false, NULL), STATUS_OK);
        struct image image = must_decode(&bytes, NULL, &notes);
        assert_int_equal(image.depth, kinds[k].depth);
        char text[256] = "";
        for (uint32_t y = 0, used = 0; y < image.height; y++)
            for (uint32_t x = 0; x < image.width * image.channels; x++) {
                const uint8_t *row = image_row(&image, y);
                const char *before = x ? x % image.channels ? "," : " " : y ? "|" : "";
                used += (uint32_t)snprintf(
                    text + used, sizeof text - used, "%s%u", before,
                    image.depth == 16 ? ((const uint16_t *)(const void *)row)[x] : row[x]);
            }
        assert_string_equal(text, kinds[k].pixels);
        assert_int_equal(notes, 0);
        free(image.pixels);
    }
}

static void test_broken_kinds(void **state) {
    (void)state;
    static const struct {
        const char *file;
        unsigned length;
    } bad[] = {
        { FILE("P1 3 2 10101") },
        { FILE("P1 3 1 1a1") },
        { FILE("P1 3 1 121") },
        { FILE("P1 3 1101") },
        { FILE("P1 2 1 1#0") },
        { FILE("P4 9 2\n\1\2\3") },
        { FILE("P4 9 0\n\1\2\3") },
        { FILE("P2 2 1 255 1") },
        { FILE("P2 2 1 255 1,2") },
        { FILE("P2 2 1 255 1 256") },
        { FILE("P2 2 1 65535 1 65536") },
        { FILE("P2 2 1 15 1 16") },
        { FILE("P2 2 1 255 1 -1") },
        { FILE("P2 2 1 255 1 0000000002") },
        { FILE("P2 2 1 255 1 4294967298") },
        { FILE("P2 2 1 65536 1 2") },
        { FILE("P2 2 1 0 0 0") },
        { FILE("P3 1 1 255 1 2") },
        { FILE(PAM("1", "0", "255", "")) },
        { FILE(PAM("1", "5", "255", "") "abcde") },
        { FILE(PAM("1", "1", "0", "") "a") },
        { FILE(PAM("1", "1", "65536", "") "ab") },
        { FILE(PAM("1", "1", "255", "")) },
        { FILE(PAM("1x", "1", "255", "") "a") },
        { FILE(PAM("1 1", "1", "255", "") "a") },
        { FILE(PAM("", "1", "255", "") "a") },
        { FILE(PAM("1", "1", "255", "WIDTH 1\n") "a") },
        { FILE(PAM("1", "1", "255", "TUPLTYPE\nTUPLTYPE\n") "a") },
        { FILE("P7\nWIDTH 1\nHEIGHT 1\nMAXVAL 255\nENDHDR\na") },
        { FILE(PAM("1", "1", "255", "COLOUR 1\n") "a") },
        { FILE(PAM("1", "1", "255", "ENDHDR 1\n") "a") },
        { FILE(PAM("1", "4", "255", "TUPLTYPE CMYK\n") "abcd") },
        { FILE(PAM("1", "4", "255", "TUPLTYPE RGB\n") "abcd") },
        { FILE(PAM("1", "1", "255", "TUPLTYPE RGB\n") "abcd") },
        { FILE(PAM("1", "3", "255", "TUPLTYPE RGB\nTUPLTYPE RGB\n") "abcd") },
        { FILE("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nENDHDR\na") },
        { FILE("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\na") },
        { FILE("P7\n\0\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\na") },
        { FILE("P7 332\n#XV\n1 1 255\na") },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct image image;
        if (decode_text(bad[i].file, bad[i].length, &image) != STATUS_CORRUPT)
            fail_msg("%s", bad[i].file);
    }
}

/* Files of whitespace, comments or digits alone: each byte is read once, or this does not end. A
 * header of many pixels takes nothing where the file is too short for them. */
static void test_plain_is_read_once(void **state) {
    (void)state;
    enum { LENGTH = 16 << 20 };
    static const char *const fillers[] = { " ", "#", "#\n", "0", "0 ", "1" };
    struct bytes bytes = { malloc(LENGTH), LENGTH };
    for (int kind = 1; kind <= 3; kind++)
        for (size_t f = 0; f < sizeof fillers / sizeof *fillers; f++) {
            const size_t head =
                (size_t)sprintf((char *)bytes.data, "P%d 4000 2000 %s", kind, kind > 1 ? "9 " : "");
            for (size_t i = head; i < LENGTH; i++)
                bytes.data[i] = (uint8_t)fillers[f][(i - head) % strlen(fillers[f])];
            struct image image;
            uint32_t notes = 0;
            const enum status status =
                try_decode(&bytes, &codec_limits_default, &image, NULL, &notes, NULL);
            const bool whole = kind == 1 ? f >= 3 : kind == 2 && f == 4;
            assert_int_equal(status, whole ? STATUS_OK : STATUS_CORRUPT);
            free(image.pixels);
        }
    memset(bytes.data, '\n', LENGTH); /* lines of a header that does not end */
    memcpy(bytes.data, "P7", 2);
    struct probe endless;
    assert_int_equal(
        probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &endless, NULL),
        STATUS_CORRUPT);
    free(bytes.data);
    static const char *const shorts[] = {
        "P1 8000 8000 1", "P2 8000 8000 9 1", "P4 8000 8000 1",
        "P7\nWIDTH 8000\nHEIGHT 8000\nDEPTH 1\nMAXVAL 1\nENDHDR\n"
    };
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++) {
        struct probe probe;
        assert_int_equal(probe_image((const uint8_t *)shorts[i], strlen(shorts[i]),
                                     &codec_limits_default.probe, &probe, NULL),
                         STATUS_OK);
        assert_int_equal(probe_check_data(&probe, true, NULL), STATUS_CORRUPT);
    }
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
    static const char cut[] = "P6 2 3 255 abcdefghijklmnop", above[] = "P5 3 1 100 \x64\x00\x65",
                      plain[] = "P2 2 3 255 1 2 3 x 5 6";
    struct bytes bytes = { (uint8_t *)(uintptr_t)cut, sizeof cut - 1 };
    struct image image;
    uint32_t notes;
    char warning[WARNING_MAX];
    assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_OK);
    assert_int_equal(notes, NOTE_DAMAGED);
    assert_non_null(strstr(warning, "row 2 of the PNM is cut off"));
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
    bytes = (struct bytes){ (uint8_t *)(uintptr_t)plain, sizeof plain - 1 };
    assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_OK);
    assert_int_equal(notes, NOTE_DAMAGED);
    assert_non_null(strstr(warning, "row 1 of the PNM is cut off, or has something other"));
    assert_memory_equal(image_row(&image, 0), "\1\2", 2);
    assert_memory_equal(image_row(&image, 1), "\0\0", 2);
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
        cmocka_unit_test(test_accepted_damage),   cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_broken_kinds),      cmocka_unit_test(test_plain_is_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
