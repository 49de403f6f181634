// SPDX-License-Identifier: Apache-2.0
/* How much data a header's pixels need at the least: never more than any file takes that decodes,
 * and no less than the smallest one.
 * covers: pipeline/probe.c pipeline/codecs/jpeg.c pipeline/codecs/png.c
 * covers: pipeline/codecs/pnm.c */
#include "tests/pipeline/codecs/made_files.h"

static struct probe must_probe(const struct bytes *bytes) {
    struct probe probe;
    assert_int_equal(
        probe_image(bytes->data, bytes->length, &codec_limits_default.probe, &probe, NULL),
        STATUS_OK);
    return probe;
}

static enum status check_cut(const struct bytes *bytes, size_t length, bool accept_damage) {
    const struct bytes cut = { bytes->data, length };
    const struct probe probe = must_probe(&cut);
    struct failure failure = { .message = "" };
    const enum status status = probe_check_data(&probe, accept_damage, &failure);
    if (status != STATUS_OK) assert_non_null(strstr(failure.message, "cut off"));
    return status;
}

/* It decodes, and so the check lets it through; what is returned is free of its picture. */
static struct probe check_sound(const struct bytes *bytes) {
    const struct probe probe = must_probe(bytes);
    struct failure failure;
    free(must_decode(bytes, NULL, NULL).pixels);
    assert_int_equal(probe_check_data(&probe, false, &failure), STATUS_OK);
    assert_int_equal(probe_check_data(&probe, true, &failure), STATUS_OK);
    return probe;
}

/* ---- PNM */

static struct bytes pnm_of(const char *header, size_t raster) {
    const size_t head = strlen(header);
    struct bytes bytes = { calloc(1, head + raster), head + raster };
    assert_non_null(bytes.data);
    memcpy(bytes.data, header, head);
    return bytes;
}

static void test_pnm_to_the_byte(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t raster;
    } cases[] = { { "P5\n31 17\n255\n", 31 * 17 },
                  { "P6\n31 17\n255\n", 31 * 17 * 3 },
                  { "P5\n31 17\n256\n", 31 * 17 * 2 },
                  { "P6\n31 17\n65535\n", 31 * 17 * 6 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = pnm_of(cases[i].header, cases[i].raster);
        assert_int_equal(check_sound(&bytes).data_bytes_least, cases[i].raster);
        assert_int_equal(check_cut(&bytes, bytes.length - 1, false), STATUS_CORRUPT);
        /* Half of it is worth having, where the caller wants that; a header alone is not. */
        assert_int_equal(check_cut(&bytes, bytes.length - cases[i].raster / 2, true), STATUS_OK);
        assert_int_equal(check_cut(&bytes, bytes.length - cases[i].raster, true), STATUS_CORRUPT);
        free(bytes.data);
    }
}

static void test_a_large_header_alone(void **state) {
    (void)state;
    struct failure failure;
    struct bytes bytes = pnm_of("P6\n8192 8192\n255\n", 5);
    const struct probe probe = must_probe(&bytes);
    assert_int_equal(probe_check_data(&probe, false, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "8192 x 8192"));
    assert_non_null(strstr(failure.message, "201326592 bytes"));
    assert_non_null(strstr(failure.message, "5 are there"));
    assert_int_equal(probe_check_data(&probe, true, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "12582912 bytes"));
    free(bytes.data);
}

/* ---- PNG */

/* What lies in the stored blocks of a PNG that is not packed, whose IDATs are put together. */
static uint64_t stored_bytes(const struct bytes *png) {
    uint8_t *data = malloc(png->length);
    size_t length = 0, at = 2; /* past zlib's header */
    uint64_t sum = 0;
    for (size_t i = 8; memcmp(png->data + i + 4, "IEND", 4) != 0;) {
        const uint8_t *chunk = png->data + i;
        const size_t size = (size_t)chunk[0] << 24 | chunk[1] << 16 | chunk[2] << 8 | chunk[3];
        if (memcmp(chunk + 4, "IDAT", 4) == 0) memcpy(data + length, chunk + 8, size);
        if (memcmp(chunk + 4, "IDAT", 4) == 0) length += size;
        i += 12 + size;
    }
    for (bool last = false; !last;) {
        const size_t block = data[at + 1] | (size_t)data[at + 2] << 8;
        last = data[at] & 1;
        sum += block;
        at += 5 + block;
    }
    assert_int_equal(at + 4, length); /* zlib's checksum */
    free(data);
    return sum;
}

static void check_png(struct png_recipe recipe) {
    recipe.stored = true;
    struct bytes bytes = make_png(&recipe);
    const uint64_t inflated = stored_bytes(&bytes);
    assert_int_equal(check_sound(&bytes).data_bytes_least, (inflated + 1031) / 1032);
    free(bytes.data);
    recipe.stored = false;
    recipe.blank = true;
    bytes = make_png(&recipe);
    check_sound(&bytes);
    free(bytes.data);
}

static void test_png_rows(void **state) {
    (void)state;
    static const struct {
        int type, depth;
    } kinds[] = { { PNG_COLOR_TYPE_GRAY, 1 },        { PNG_COLOR_TYPE_GRAY, 2 },
                  { PNG_COLOR_TYPE_GRAY, 4 },        { PNG_COLOR_TYPE_GRAY, 8 },
                  { PNG_COLOR_TYPE_GRAY, 16 },       { PNG_COLOR_TYPE_RGB, 8 },
                  { PNG_COLOR_TYPE_RGB, 16 },        { PNG_COLOR_TYPE_PALETTE, 1 },
                  { PNG_COLOR_TYPE_PALETTE, 8 },     { PNG_COLOR_TYPE_GRAY_ALPHA, 8 },
                  { PNG_COLOR_TYPE_GRAY_ALPHA, 16 }, { PNG_COLOR_TYPE_RGB_ALPHA, 8 },
                  { PNG_COLOR_TYPE_RGB_ALPHA, 16 } };
    static const uint32_t sizes[][2] = { { 1, 1 },  { 3, 5 },  { 8, 8 },   { 33, 21 },
                                         { 1, 40 }, { 40, 1 }, { 130, 67 } };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t s = 0; s < 2 * sizeof sizes / sizeof *sizes; s++)
            check_png((struct png_recipe){ .width = sizes[s / 2][0],
                                           .height = sizes[s / 2][1],
                                           .type = kinds[k].type,
                                           .depth = kinds[k].depth,
                                           .interlaced = s % 2 });
}

/* Deflate comes as close to the bound as its few bytes of frame allow. */
static void test_png_at_the_greatest_ratio(void **state) {
    (void)state;
    struct bytes bytes = make_png(&(struct png_recipe){
        .width = 4000, .height = 3000, .type = PNG_COLOR_TYPE_GRAY, .depth = 8, .blank = true });
    const struct probe probe = check_sound(&bytes);
    const size_t idats = 12 * (1 + probe.data_bytes / 8192);
    assert_in_range(probe.data_bytes, probe.data_bytes_least,
                    probe.data_bytes_least + probe.data_bytes_least / 50);
    assert_int_equal(check_cut(&bytes, bytes.length - 12 - idats - probe.data_bytes / 20, false),
                     STATUS_CORRUPT);
    assert_int_equal(check_cut(&bytes, bytes.length / 2, true), STATUS_OK);
    assert_int_equal(check_cut(&bytes, bytes.length / 20, true), STATUS_CORRUPT);
    free(bytes.data);
}

/* Behind the last IDAT anything may come: it holds no pixels. */
static void test_png_padded(void **state) {
    (void)state;
    struct bytes bytes = make_png(&(struct png_recipe){
        .width = 8, .height = 8, .type = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 8, .blank = true });
    const size_t whole = bytes.length;
    bytes.data[16 + 2] = bytes.data[20 + 2] = 16; /* 4104 x 4104 */
    bytes.data = realloc(bytes.data, whole + 100000);
    memset(bytes.data + whole, 0, 100000);
    assert_int_equal(check_cut(&bytes, whole, false), STATUS_CORRUPT);
    assert_int_equal(check_cut(&bytes, whole + 100000, false), STATUS_CORRUPT);
    assert_int_equal(check_cut(&bytes, whole + 100000, true), STATUS_CORRUPT);
    free(bytes.data);
}

/* ---- JPEG */

/* Of the middle of the range: nothing but zeros is coded. */
static struct image middle_gray(uint32_t width, uint32_t height, unsigned channels) {
    struct image image = new_image(width, height, channels, 8);
    memset(image.pixels, 128, image_bytes(&image));
    return image;
}

static void check_jpegs(uint32_t width, uint32_t height, unsigned channels) {
    static const uint8_t samplings[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 2, 2 }, { 4, 1 } };
    struct image image = middle_gray(width, height, channels);
    for (size_t i = 0; i < 8 * sizeof samplings / sizeof *samplings; i++) {
        const struct jpeg_recipe recipe = { .image = &image,
                                            .h = samplings[i / 8][0],
                                            .v = samplings[i / 8][1],
                                            .optimal = !(i & 2),
                                            .progressive = i & 1,
                                            .arithmetic = i & 2,
                                            .interval = i & 4 ? 3 : 0 };
        struct bytes bytes = make_jpeg(&recipe);
        const struct probe probe = check_sound(&bytes);
        assert_int_equal(probe.data_bytes_least == 0, recipe.arithmetic);
        free(bytes.data);
    }
    free(image.pixels);
}

static void test_jpegs_of_nothing(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 }, { 8, 8 }, { 17, 9 }, { 100, 75 }, { 640, 3 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1)
            check_jpegs(sizes[s][0], sizes[s][1], channels);
}

/* The smallest there is has hardly a byte over it. */
static void test_jpeg_to_the_bit(void **state) {
    (void)state;
    struct image image = middle_gray(1600, 1200, 1);
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image, .optimal = true });
    const struct probe probe = check_sound(&bytes);
    assert_int_equal(probe.data_bytes_least, 200 * 150 * 2 / 8);
    assert_int_equal(probe.data_bytes, probe.data_bytes_least + 2); /* EOI */
    assert_int_equal(check_cut(&bytes, bytes.length - 3, false), STATUS_CORRUPT);
    assert_int_equal(check_cut(&bytes, bytes.length - probe.data_bytes / 2, true), STATUS_OK);
    assert_int_equal(check_cut(&bytes, bytes.length - probe.data_bytes, true), STATUS_CORRUPT);
    free(bytes.data);
    static const jpeg_scan_info scans[] = { { 1, { 0 }, 0, 0, 0, 0 }, { 1, { 0 }, 1, 63, 0, 0 } };
    bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image, .scans = scans, .scan_count = 2 });
    assert_int_equal(check_sound(&bytes).data_bytes_least, 200 * 150 / 8);
    free(bytes.data);
    free(image.pixels);
}

/* libjpeg takes a picture whose other components never come; the smallest may take little. */
static void test_jpeg_of_one_component(void **state) {
    (void)state;
    static const jpeg_scan_info scans[] = { { 1, { 1 }, 0, 63, 0, 0 },
                                            { 1, { 2 }, 0, 63, 0, 0 },
                                            { 1, { 0 }, 0, 63, 0, 0 } };
    struct image image = middle_gray(320, 240, 3);
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){
        .image = &image, .h = 2, .v = 2, .optimal = true, .scans = scans, .scan_count = 3 });
    const uint8_t *first = memmem(bytes.data, bytes.length, "\xff\xda", 2);
    const size_t head = (size_t)(first - bytes.data) + 2;
    const uint8_t *second = memmem(bytes.data + head, bytes.length - head, "\xff\xc4", 2);
    bytes.length = (size_t)(second - bytes.data) + 2;
    bytes.data[bytes.length - 1] = 0xd9; /* the first scan alone */
    const struct probe probe = check_sound(&bytes);
    assert_int_equal(probe.data_bytes_least, 20 * 15 * 2 / 8);
    assert_in_range(probe.data_bytes, probe.data_bytes_least, probe.data_bytes_least + 3);
    free(bytes.data);
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pnm_to_the_byte), cmocka_unit_test(test_a_large_header_alone),
        cmocka_unit_test(test_png_rows),        cmocka_unit_test(test_png_at_the_greatest_ratio),
        cmocka_unit_test(test_png_padded),      cmocka_unit_test(test_jpegs_of_nothing),
        cmocka_unit_test(test_jpeg_to_the_bit), cmocka_unit_test(test_jpeg_of_one_component),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
