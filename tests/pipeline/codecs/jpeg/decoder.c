// SPDX-License-Identifier: Apache-2.0
/* Every kind of JPEG as libjpeg itself reads it; limits of time and memory.
 * covers: pipeline/codecs/common/oriented_rows.c */
#include "tests/pipeline/codecs/made_files.h"

static void check_against_plain(const struct jpeg_recipe *recipe, const char *space) {
    struct bytes bytes = make_jpeg(recipe);
    struct probe probe;
    assert_int_equal(
        probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
        STATUS_OK);
    assert_string_equal(probe.space, space);
    assert_int_equal(probe.progressive, recipe->progressive);
    assert_int_equal(probe.components, recipe->image->channels);
    uint32_t notes = 0;
    struct image ours = must_decode(&bytes, NULL, &notes), plain = plain_jpeg(&bytes);
    assert_same(&ours, &plain);
    assert_int_equal(notes, 0);
    free(ours.pixels);
    free(plain.pixels);
    free(bytes.data);
}

static void test_every_sampling_equals_libjpeg(void **state) {
    (void)state;
    static const int sampling[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 2, 2 }, { 4, 1 }, { 4, 2 } };
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 7 }, { 7, 1 }, { 13, 42 }, { 123, 66 } };
    for (size_t s = 0; s < 5; s++) {
        struct image image = new_waves(sizes[s][0], sizes[s][1], 3);
        for (size_t i = 0; i < 6; i++) {
            for (int kind = 0; kind < 4; kind++) {
                const struct jpeg_recipe recipe = { .image = &image,
                                                    .h = sampling[i][0],
                                                    .v = sampling[i][1],
                                                    .progressive = kind & 1,
                                                    .arithmetic = kind >> 1 };
                check_against_plain(&recipe, "ycbcr");
            }
        }
        free(image.pixels);
    }
}

static void test_gray_and_rgb_equal_libjpeg(void **state) {
    (void)state;
    struct image gray = new_waves(123, 66, 1), rgb = new_waves(123, 66, 3);
    for (int progressive = 0; progressive < 2; progressive++) {
        check_against_plain(&(struct jpeg_recipe){ .image = &gray, .progressive = progressive },
                            "gray");
        check_against_plain(
            &(struct jpeg_recipe){ .image = &rgb, .space = JCS_RGB, .progressive = progressive },
            "rgb");
        check_against_plain(&(struct jpeg_recipe){ .image = &rgb,
                                                   .space = JCS_RGB,
                                                   .no_adobe = true, /* the ids R, G, B show it */
                                                   .progressive = progressive },
                            "rgb");
    }
    free(gray.pixels);
    free(rgb.pixels);
}

/* CMYK by hand, as Adobe stores it: the light that is left instead of the ink. */
static void check_inks(const struct jpeg_recipe *recipe, const char *space) {
    struct bytes bytes = make_jpeg(recipe);
    uint32_t notes = 0;
    struct image rgb = must_decode(&bytes, NULL, &notes), inks = plain_jpeg(&bytes);
    struct probe probe;
    probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL);
    assert_string_equal(probe.space, space);
    assert_int_equal(notes, NOTE_CMYK_CONVERTED);
    assert_int_equal(rgb.channels, 3);
    for (uint32_t y = 0; y < rgb.height; y++) {
        for (uint32_t x = 0; x < rgb.width; x++) {
            const uint8_t *ink = image_row(&inks, y) + 4 * x;
            for (int c = 0; c < 3; c++)
                assert_int_equal(image_row(&rgb, y)[3 * x + c], (ink[c] * ink[3] + 127) / 255);
        }
    }
    free(rgb.pixels);
    free(inks.pixels);
    free(bytes.data);
}

static void test_cmyk_and_ycck(void **state) {
    (void)state;
    struct image image = new_waves(61, 35, 4);
    for (int progressive = 0; progressive < 2; progressive++) {
        struct jpeg_recipe recipe = { .image = &image, .progressive = progressive };
        recipe.space = JCS_YCCK;
        check_inks(&recipe, "ycck");
        recipe.space = JCS_CMYK;
        check_inks(&recipe, "cmyk");
        recipe.no_adobe = true;
        check_inks(&recipe, "cmyk");
        recipe.orientation = 6;
        struct bytes bytes = make_jpeg(&recipe);
        struct image turned = must_decode(&bytes, NULL, NULL);
        assert_int_equal(turned.width, 35);
        free(turned.pixels);
        free(bytes.data);
    }
    free(image.pixels);
}

static void test_eight_orientations(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 7 }, { 7, 1 }, { 40, 33 }, { 123, 66 } };
    for (size_t s = 0; s < 5; s++) {
        for (unsigned orientation = 1; orientation <= 8; orientation++) {
            struct image image = new_waves(sizes[s][0], sizes[s][1], orientation & 1 ? 3 : 1);
            const struct jpeg_recipe recipe = { .image = &image,
                                                .orientation = orientation,
                                                .little_endian = orientation & 2 };
            struct bytes bytes = make_jpeg(&recipe);
            struct image upright = must_decode(&bytes, NULL, NULL), stored = plain_jpeg(&bytes);
            assert_int_equal(upright.width, orientation >= 5 ? stored.height : stored.width);
            assert_turned(&upright, &stored, orientation);
            free(upright.pixels);
            free(stored.pixels);
            free(image.pixels);
            free(bytes.data);
        }
    }
}

static void test_profile_is_carried(void **state) {
    (void)state;
    struct image image = new_waves(40, 33, 3), inks = new_waves(40, 33, 4);
    struct bytes profile = new_profile(150000, "RGB "); /* three APP2 segments */
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image, .profile = &profile });
    struct metadata metadata = { 0 };
    uint32_t notes = 0;
    struct image read = must_decode(&bytes, &metadata, &notes);
    assert_int_equal(notes, 0);
    assert_int_equal(metadata.profile_length, profile.length);
    assert_memory_equal(metadata.profile, profile.data, profile.length);
    metadata_release(&metadata);
    free(read.pixels);
    struct codec_limits limits = codec_limits_default;
    limits.profile_max = profile.length - 1;
    assert_int_equal(try_decode(&bytes, &limits, &read, &metadata, &notes, NULL), STATUS_OK);
    assert_int_equal(notes, NOTE_PROFILE_DROPPED);
    assert_null(metadata.profile);
    free(read.pixels);
    free(bytes.data);
    notes = 0; /* a profile for inks does not fit the RGB made of them */
    bytes = make_jpeg(&(struct jpeg_recipe){ .image = &inks, .profile = &profile });
    read = must_decode(&bytes, &metadata, &notes);
    assert_int_equal(notes, NOTE_PROFILE_DROPPED | NOTE_CMYK_CONVERTED);
    free(read.pixels);
    free(bytes.data);
    free(profile.data);
    free(image.pixels);
    free(inks.pixels);
}

static void test_broken_profiles_are_dropped(void **state) {
    (void)state;
    struct image image = new_waves(40, 33, 3);
    struct bytes profile = new_profile(70000, "RGB ");
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image, .profile = &profile });
    uint8_t *first = memmem(bytes.data, bytes.length, "ICC_PROFILE", 12);
    assert_non_null(first);
    static const uint8_t wrong[][2] = {
        { 0, 2 }, { 2, 2 }, { 3, 2 }, { 1, 3 }, { 1, 0 }, { 1, 1 }
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) { /* number and count */
        struct metadata metadata = { 0 };
        uint32_t notes = 0;
        memcpy(first + 12, wrong[i], 2);
        struct image read = must_decode(&bytes, &metadata, &notes);
        assert_int_equal(notes, NOTE_PROFILE_DROPPED);
        assert_null(metadata.profile);
        free(read.pixels);
    }
    free(bytes.data);
    free(profile.data);
    free(image.pixels);
}

static void test_cuts_are_corrupt(void **state) {
    (void)state;
    struct image image = new_waves(123, 66, 3);
    for (int kind = 0; kind < 4; kind++) {
        struct bytes bytes = make_jpeg(&(struct jpeg_recipe){
            .image = &image, .progressive = kind & 1, .arithmetic = kind >> 1 });
        assert_every_cut_corrupt(&bytes);
        free(bytes.data);
    }
    free(image.pixels);
}

/* Many refinement scans of one gray picture: what costs seconds and says little. */
static struct bytes make_scan_bomb(const struct image *image, int scans) {
    jpeg_scan_info *script = calloc((size_t)scans, sizeof *script);
    for (int i = 0; i < scans; i++) { /* one coefficient a scan after the first */
        script[i] = (jpeg_scan_info){ .comps_in_scan = 1, .Ss = i, .Se = i, .Ah = 0, .Al = 0 };
    }
    struct bytes bytes =
        make_jpeg(&(struct jpeg_recipe){ .image = image, .scans = script, .scan_count = scans });
    free(script);
    return bytes;
}

static void test_scan_bombs_are_limited(void **state) {
    (void)state;
    struct image image = new_waves(640, 480, 1), read;
    struct bytes bytes = make_scan_bomb(&image, 60);
    struct codec_limits limits = codec_limits_default;
    struct failure failure;
    uint32_t notes = 0;
    assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, &failure), STATUS_OK);
    free(read.pixels);
    limits.scans_max = 20;
    assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "scans_max"));
    limits = codec_limits_default;
    limits.scan_pixels_max = 640 * 480 * 10;
    assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "scan_pixels_max"));
    limits = codec_limits_default;
    limits.memory_max = 100000; /* coefficients take 2 bytes each */
    assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "codec_memory_bytes"));
    free(bytes.data);
    free(image.pixels);
}

static void test_kinds_not_read(void **state) {
    (void)state;
    struct image image = new_waves(40, 33, 3);
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image });
    struct probe probe;
    struct failure failure;
    uint8_t *frame = memmem(bytes.data, bytes.length, "\xff\xc0", 2);
    assert_non_null(frame);
    static const struct {
        uint8_t marker, bits;
        const char *word;
    } kinds[] = { { 0xc3, 8, "lossless" }, { 0xc5, 8, "hierarchical" }, { 0xc1, 12, "12 bits" } };
    for (size_t i = 0; i < 3; i++) {
        frame[1] = kinds[i].marker;
        frame[4] = kinds[i].bits;
        assert_int_equal(
            probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, &failure),
            STATUS_NOT_AN_IMAGE);
        assert_non_null(strstr(failure.message, kinds[i].word));
    }
    free(bytes.data);
    free(image.pixels);
}

/* Accepting damage does not lift the limits. */
static void test_accepted_damage_keeps_to_the_limits(void **state) {
    (void)state;
    struct image image = new_waves(640, 480, 1), read;
    struct bytes bytes = make_scan_bomb(&image, 60);
    struct codec_limits limits = codec_limits_default;
    uint32_t notes = 0;
    limits.accept_damage = true;
    limits.scans_max = 20;
    assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, NULL), STATUS_TOO_LARGE);
    limits = codec_limits_default;
    limits.accept_damage = true;
    limits.memory_max = 100000;
    assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, NULL), STATUS_TOO_LARGE);
    bytes.length = 100; /* within the header */
    assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, NULL), STATUS_CORRUPT);
    free(bytes.data);
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sampling_equals_libjpeg),
        cmocka_unit_test(test_gray_and_rgb_equal_libjpeg),
        cmocka_unit_test(test_cmyk_and_ycck),
        cmocka_unit_test(test_eight_orientations),
        cmocka_unit_test(test_profile_is_carried),
        cmocka_unit_test(test_broken_profiles_are_dropped),
        cmocka_unit_test(test_cuts_are_corrupt),
        cmocka_unit_test(test_scan_bombs_are_limited),
        cmocka_unit_test(test_kinds_not_read),
        cmocka_unit_test(test_accepted_damage_keeps_to_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
