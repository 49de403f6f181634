// SPDX-License-Identifier: Apache-2.0
/* Masks of every kind become 8-bit gray, pictures RGBA. */
#include "pipeline/aux_image.h"

#include "tests/pipeline/codecs/made_files.h"

static struct bytes write_pnm(const char *text, const void *samples, size_t length) {
    struct bytes bytes = { malloc(strlen(text) + length), strlen(text) + length };
    memcpy(bytes.data, text, strlen(text));
    memcpy(bytes.data + strlen(text), samples, length);
    return bytes;
}

static enum status read_mask(const struct bytes *bytes, const struct codec_limits *limits,
                             uint8_t *gray, struct failure *failure) {
    struct probe probe;
    assert_int_equal(probe_image(bytes->data, bytes->length, &limits->probe, &probe, failure),
                     STATUS_OK);
    struct image mask = aux_image_shape(AUX_MASK, &probe);
    assert_int_equal(mask.channels * mask.depth, 8);
    mask.pixels = calloc(1, image_bytes(&mask));
    const enum status status =
        aux_image_decode(bytes->data, bytes->length, &probe, limits, NULL, &mask, failure);
    memcpy(gray, mask.pixels, mask.width);
    free(mask.pixels);
    return status;
}

static void check(const char *head, const void *samples, size_t length, const void *expected) {
    struct bytes bytes = write_pnm(head, samples, length);
    struct failure failure;
    uint8_t gray[2];
    assert_int_equal(read_mask(&bytes, &codec_limits_default, gray, &failure), STATUS_OK);
    assert_memory_equal(gray, expected, 2);
    free(bytes.data);
}

/* Luma (77 R + 150 G + 29 B + 128) >> 8; of 16 bit the upper byte. */
static void every_kind_becomes_gray(void **state) {
    (void)state;
    check("P5 2 1 255 ", "\x80\x7f", 2, "\x80\x7f");
    check("P5 2 1 65535 ", "\x80\x01\x7f\xff", 4, "\x80\x7f");
    check("P6 2 1 255 ", "\xff\0\0\0\0\xff", 6, "\x4d\x1d");
}

static void check_rgba(const char *head, const void *samples, size_t length, size_t out_length,
                       const void *expected) {
    struct bytes bytes = write_pnm(head, samples, length);
    struct failure failure;
    struct probe probe;
    assert_int_equal(
        probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, &failure),
        STATUS_OK);
    struct image rgba = aux_image_shape(AUX_PICTURE, &probe);
    assert_int_equal(image_row_bytes(&rgba), out_length);
    rgba.pixels = calloc(1, image_bytes(&rgba));
    assert_int_equal(aux_image_decode(bytes.data, bytes.length, &probe, &codec_limits_default, NULL,
                                      &rgba, &failure),
                     STATUS_OK);
    assert_memory_equal(rgba.pixels, expected, out_length);
    free(rgba.pixels);
    free(bytes.data);
}

/* The file's 16 bits are big-endian, the picture's in the machine's order. */
static void pictures_become_rgba(void **state) {
    (void)state;
    check_rgba("P5 2 1 255 ", "\x80\x7f", 2, 8, "\x80\x80\x80\xff\x7f\x7f\x7f\xff");
    check_rgba("P6 1 1 65535 ", "\1\2\3\4\5\6", 6, 8, "\2\1\4\3\6\5\xff\xff");
    static const char gray_alpha[] =
        "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n";
    check_rgba(gray_alpha, "\x80\x7f", 2, 4, "\x80\x80\x80\x7f");
}

static void limits_hold(void **state) {
    (void)state;
    struct bytes bytes = write_pnm("P6 2 1 255 ", "abcdef", 6);
    struct codec_limits limits = codec_limits_default;
    struct failure failure;
    uint8_t gray[2];
    limits.memory_max = 10;
    assert_int_equal(read_mask(&bytes, &limits, gray, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "codec_memory_bytes"));
    free(bytes.data);
}

static void damage_is_never_accepted(void **state) {
    (void)state;
    struct codec_limits limits = codec_limits_default;
    struct failure failure;
    uint8_t gray[2];
    limits.accept_damage = true;
    struct bytes colour = write_pnm("P6 2 2 255 ", "abcdefghi", 9);
    assert_int_equal(read_mask(&colour, &limits, gray, &failure), STATUS_CORRUPT);
    struct bytes plain = write_pnm("P5 2 2 255 ", "abc", 3);
    assert_int_equal(read_mask(&plain, &limits, gray, &failure), STATUS_CORRUPT);
    free(colour.data);
    free(plain.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_becomes_gray),
        cmocka_unit_test(pictures_become_rgba),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(damage_is_never_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
