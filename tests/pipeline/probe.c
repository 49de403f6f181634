// SPDX-License-Identifier: Apache-2.0
/* Headers of every kind are read; cut, contradictory ones and ones over limits are refused.
 * covers: pipeline/codecs/jpeg.c pipeline/codecs/png.c pipeline/codecs/common/exif.c */
#include "tests/pipeline/codecs/made_files.h"

static const struct probe_limits limits = { .pixels_max = 1000000, .side_max = 5000 };

static enum status probe_bytes(const struct bytes *bytes, struct probe *probe,
                               struct failure *failure) {
    return probe_image(bytes->data, bytes->length, &limits, probe, failure);
}

static void test_strangers_are_named(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *word;
    } cases[] = {
        { "", 0, "no bytes" },
        { "hello world, this is text", 25, "known format" },
        { "GIF88a......", 12, "known format" },
        { "RIFF....WAVEfmt ", 16, "known format" },
        { "<svg xmlns=''>", 13,
          "an SVG image, which Burin does not read: convert it with resvg or" },
        { "<?xml version='1.0'?><svg/>", 27, "perhaps an SVG image" },
        { "\xef\xbb\xbf<svg>", 8, "perhaps an SVG image" },
        { "<!DOCTYPE html>", 15, "an HTML or XML document" },
        { "%PDF-1.7....", 12,
          "a PDF document, which Burin does not read: convert it with pdftoppm" },
        { "....ftypheic", 12,
          "a HEIC image, which Burin does not read: convert it with heif-convert" },
        { "....ftypheix", 12, "a HEIC image" },
        { "....ftyphevc", 12, "a HEIC image" },
        { "....ftypmif1", 12, "a HEIC or AVIF image" },
        { "....ftypcrx ", 12, "a Canon raw image" },
        { "....ftypisom", 12,
          "an MP4 or MOV video, which Burin does not read: convert it with ffmpeg" },
        { "....ftypqt  ", 12, "an MP4 or MOV video" },
        { "....moov....", 12, "an MP4 or MOV video" },
        { "\xff\x0a..........", 12,
          "a JPEG XL image, which Burin does not read: convert it with djxl" },
        { "\0\0\0\x0cJXL ....", 12, "a JPEG XL image" },
        { "\0\0\0\x0cjP  ....", 12,
          "a JPEG 2000 image, which Burin does not read: convert it with opj_" },
        { "\xff\x4f\xff\x51........", 12, "a JPEG 2000 image" },
        { "\0\0\1\0........", 12,
          "an ICO image, which Burin does not read: convert it with icotool" },
        { "\0\0\2\0........", 12, "a CUR image" },
        { "8BPS\0\1......", 12,
          "a PSD image, which Burin does not read: convert it with ImageMagick" },
        { "P8 1 1 255 1", 12, "known format" },
        { "P5", 2, "known format" },
        { "P5x1 1 255 a", 12, "known format" },
        { "\x89PNG\r\n\x1a", 7, "known format" },
        { "\xff\xd8", 2, "known format" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct probe probe;
        struct failure failure;
        struct bytes bytes = { malloc(cases[i].length + !cases[i].length), cases[i].length };
        memcpy(bytes.data, cases[i].bytes, bytes.length);
        assert_int_equal(probe_bytes(&bytes, &probe, &failure), STATUS_NOT_AN_IMAGE);
        if (!strstr(failure.message, cases[i].word)) fail_msg("%s", failure.message);
        assert_non_null(
            strstr(failure.message, "send JPEG, PNG, WebP, GIF, BMP, PNM, AVIF or TIFF"));
        free(bytes.data);
    }
}

static void test_png_facts(void **state) {
    (void)state;
    struct bytes profile = new_profile(1000, "RGB ");
    struct png_recipe recipe = { .width = 30,
                                 .height = 20,
                                 .type = PNG_COLOR_TYPE_PALETTE,
                                 .depth = 4,
                                 .interlaced = true,
                                 .transparent = true,
                                 .orientation = 6,
                                 .profile = &profile };
    struct bytes bytes = make_png(&recipe);
    struct probe probe;
    assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_OK);
    assert_int_equal(probe.format, FORMAT_PNG);
    assert_int_equal(probe.width, 30);
    assert_int_equal(probe.height, 20);
    assert_int_equal(probe.shape.width, 20);
    assert_int_equal(probe.shape.height, 30);
    assert_int_equal(probe.shape.channels, 4);
    assert_int_equal(probe.shape.depth, 8);
    assert_int_equal(probe.shape.stride % IMAGE_ROW_ALIGN, 0);
    assert_int_equal(probe.orientation, 6);
    assert_int_equal(probe.components, 1);
    assert_int_equal(probe.bits, 4);
    assert_true(probe.palette && probe.interlaced && probe.profile && !probe.animated);
    assert_string_equal(probe.space, "rgb");
    free(bytes.data);
    free(profile.data);
}

static void test_jpeg_facts(void **state) {
    (void)state;
    struct bytes profile = new_profile(1000, "RGB ");
    struct image image = new_waves(30, 20, 3);
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){
        .image = &image, .progressive = true, .orientation = 8, .profile = &profile });
    struct probe probe;
    assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_OK);
    assert_int_equal(probe.format, FORMAT_JPEG);
    assert_int_equal(probe.width, 30);
    assert_int_equal(probe.shape.width, 20);
    assert_int_equal(probe.shape.channels, 3);
    assert_int_equal(probe.orientation, 8);
    assert_int_equal(probe.components, 3);
    assert_int_equal(probe.bits, 8);
    assert_true(probe.progressive && probe.profile && !probe.palette);
    free(bytes.data);
    free(profile.data);
    free(image.pixels);
}

/* A PNG that is a header and the start of an IDAT: enough to be judged. */
static struct bytes bare_png(uint32_t width, uint32_t height, uint8_t bits, uint8_t type) {
    struct bytes bytes = { calloc(1, 8 + 25 + 12), 8 + 25 + 12 };
    memcpy(bytes.data, "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", 16);
    for (int i = 0; i < 4; i++) {
        bytes.data[16 + i] = (uint8_t)(width >> (24 - 8 * i));
        bytes.data[20 + i] = (uint8_t)(height >> (24 - 8 * i));
    }
    bytes.data[24] = bits;
    bytes.data[25] = type;
    memcpy(bytes.data + 33, "\0\1\0\0IDAT", 8); /* 64 KiB long, and not there */
    return bytes;
}

static void test_limits_name_number_and_key(void **state) {
    (void)state;
    struct probe probe;
    struct failure failure;
    struct bytes bytes = bare_png(50000, 50000, 1, 0);
    const struct probe_limits wide = { .pixels_max = 64 << 20, .side_max = 65535 };
    assert_int_equal(probe_image(bytes.data, bytes.length, &wide, &probe, &failure),
                     STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "2500000000"));
    assert_non_null(strstr(failure.message, "67108864"));
    assert_non_null(strstr(failure.message, "pixels_max"));
    free(bytes.data);
    bytes = bare_png(6000, 1, 1, 0);
    assert_int_equal(probe_bytes(&bytes, &probe, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "6000"));
    assert_non_null(strstr(failure.message, "5000 (side_max)"));
    free(bytes.data);
    bytes = bare_png(70000, 1, 1, 0); /* no image has such a side, even with no limit */
    const struct probe_limits endless = { .pixels_max = UINT64_MAX, .side_max = UINT32_MAX };
    assert_int_equal(probe_image(bytes.data, bytes.length, &endless, &probe, &failure),
                     STATUS_TOO_LARGE);
    free(bytes.data);
    bytes = bare_png(1000, 1000, 1, 0);
    assert_int_equal(probe_bytes(&bytes, &probe, &failure), STATUS_OK);
    free(bytes.data);
}

static void test_broken_png_headers(void **state) {
    (void)state;
    static const struct {
        uint32_t width, height;
        uint8_t bits, type;
    } cases[] = {
        { 0, 1, 8, 0 },
        { 1, 0, 8, 0 },
        { 0x80000000, 1, 8, 0 },
        { 1, 1, 3, 0 },
        { 1, 1, 16, 3 },
        { 1, 1, 4, 2 },
        { 1, 1, 8, 1 },
        { 1, 1, 8, 7 },
        { 1, 1, 200, 0 },
        { 1, 1, 0, 0 },
        { 1, 1, 8, 3 /* no palette */ },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes =
            bare_png(cases[i].width, cases[i].height, cases[i].bits, cases[i].type);
        struct probe probe;
        assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_CORRUPT);
        free(bytes.data);
    }
}

/* Cut anywhere: no overread (sanitizers look), and no header counts as whole before it is. */
static void check_cuts(const struct bytes *bytes) {
    bool whole = false;
    for (size_t length = 0; length <= bytes->length; length++) {
        struct bytes cut = { malloc(length + !length), length };
        struct probe probe;
        memcpy(cut.data, bytes->data, length);
        const enum status status = probe_bytes(&cut, &probe, NULL);
        assert_true(status == STATUS_OK || status == STATUS_CORRUPT ||
                    (status == STATUS_NOT_AN_IMAGE && length < 8));
        assert_false(whole && status != STATUS_OK);
        whole = status == STATUS_OK;
        free(cut.data);
    }
    assert_true(whole);
}

static void test_cut_headers(void **state) {
    (void)state;
    struct bytes profile = new_profile(300, "RGB ");
    struct image image = new_waves(16, 16, 3);
    struct bytes jpeg =
        make_jpeg(&(struct jpeg_recipe){ .image = &image, .orientation = 3, .profile = &profile });
    struct bytes png = make_png(&(struct png_recipe){ .width = 5,
                                                      .height = 5,
                                                      .type = PNG_COLOR_TYPE_PALETTE,
                                                      .depth = 8,
                                                      .transparent = true,
                                                      .orientation = 2 });
    struct bytes pnm = { (uint8_t *)(char[]){ "P6 # c\n1 1 255 abc" }, 18 };
    check_cuts(&jpeg);
    check_cuts(&png);
    check_cuts(&pnm);
    free(jpeg.data);
    free(png.data);
    free(profile.data);
    free(image.pixels);
}

/* The orientation of a JPEG whose EXIF has been bent at AT to VALUE. */
static unsigned bent_orientation(const struct bytes *jpeg, size_t at, uint8_t value) {
    uint8_t *tiff = (uint8_t *)memmem(jpeg->data, jpeg->length, "Exif\0", 6) + 6;
    struct probe probe;
    const uint8_t old = tiff[at];
    tiff[at] = value;
    assert_int_equal(probe_bytes(jpeg, &probe, NULL), STATUS_OK);
    tiff[at] = old;
    return probe.orientation;
}

static void test_bent_exif_is_upright(void **state) {
    (void)state;
    struct image image = new_waves(16, 16, 1);
    struct bytes jpeg = make_jpeg(&(struct jpeg_recipe){ .image = &image, .orientation = 6 });
    assert_int_equal(bent_orientation(&jpeg, 19, 6), 6);
    assert_int_equal(bent_orientation(&jpeg, 19, 0), 1);
    assert_int_equal(bent_orientation(&jpeg, 19, 9), 1);
    assert_int_equal(bent_orientation(&jpeg, 18, 1), 1);   /* 256 + 6 */
    assert_int_equal(bent_orientation(&jpeg, 0, 'X'), 1);  /* no TIFF */
    assert_int_equal(bent_orientation(&jpeg, 4, 0xff), 1); /* IFD far away */
    assert_int_equal(bent_orientation(&jpeg, 7, 25), 1);   /* and at the very end */
    assert_int_equal(bent_orientation(&jpeg, 9, 0), 1);    /* no entries */
    assert_int_equal(bent_orientation(&jpeg, 9, 200), 6);  /* more than there are */
    assert_int_equal(bent_orientation(&jpeg, 13, 4), 1);   /* not a SHORT */
    assert_int_equal(bent_orientation(&jpeg, 17, 2), 1);   /* two of them */
    free(jpeg.data);
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strangers_are_named),
        cmocka_unit_test(test_png_facts),
        cmocka_unit_test(test_jpeg_facts),
        cmocka_unit_test(test_limits_name_number_and_key),
        cmocka_unit_test(test_broken_png_headers),
        cmocka_unit_test(test_cut_headers),
        cmocka_unit_test(test_bent_exif_is_upright),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
