// SPDX-License-Identifier: Apache-2.0
/* Files within max_bytes: the highest quality that fits, by encoding at every one.
 * covers: pipeline/codec.c */
#include "tests/pipeline/codecs/made_files.h"

static uint8_t room[1 << 20];

static size_t length_at(const struct image *image, const struct encode_options *options,
                        int quality) {
    struct encode_options at = *options;
    struct failure failure;
    uint32_t notes = 0;
    size_t length;
    at.quality = quality;
    assert_int_equal(
        codec_encode(image, NULL, &at, NULL, room, sizeof room, &length, &notes, &failure),
        STATUS_OK);
    return length;
}

static enum status fit(const struct image *image, const struct encode_options *options,
                       size_t capacity, struct bytes *bytes, struct fitting *fitting,
                       struct failure *failure) {
    uint32_t notes = 0;
    failure->message[0] = '\0';
    return codec_encode_fitting(image, NULL, options, NULL, bytes->data, capacity, &bytes->length,
                                fitting, &notes, failure);
}

/* Every limit from nothing to more than enough, for a JPEG's sizes never fall. */
static void check_limits(const struct image *image, bool progressive) {
    struct encode_options options = encode_options_default;
    struct bytes made = { malloc(sizeof room), 0 };
    size_t lengths[101];
    options.progressive = progressive;
    for (int q = 1; q <= 100; q++) lengths[q] = length_at(image, &options, q);
    for (size_t max = lengths[10] - 2; max < lengths[85] + 40; max += 1 + max / 24) {
        struct fitting fitting;
        struct failure failure;
        options.max_bytes = (int64_t)max;
        const enum status status = fit(image, &options, sizeof room, &made, &fitting, &failure);
        if (max < lengths[10]) {
            assert_int_equal(status, STATUS_TOO_LARGE);
            continue;
        }
        assert_int_equal(status, STATUS_OK);
        assert_true(made.length <= max);
        assert_in_range(fitting.tries, 1, 9);
        const int q = fitting.quality;
        assert_true(q == 85 || lengths[q + 1] > max);
        assert_int_equal(length_at(image, &options, q), made.length);
        assert_memory_equal(room, made.data, made.length);
    }
    free(made.data);
}

static void the_highest_quality_that_fits(void **state) {
    (void)state;
    struct image colour = new_waves(123, 66, 3), gray = new_noise(64, 40, 1, 8, 3);
    check_limits(&colour, false);
    check_limits(&gray, false);
    check_limits(&colour, true);
    free(colour.pixels);
    free(gray.pixels);
}

/* A buffer too small for the quality that is asked for is a limit like any other. */
static void a_small_buffer(void **state) {
    (void)state;
    struct image image = new_noise(64, 40, 3, 8, 3);
    struct encode_options options = encode_options_default;
    const size_t most = length_at(&image, &options, 30), least = length_at(&image, &options, 10);
    struct bytes made = { malloc(most), 0 };
    struct fitting fitting;
    struct failure failure;
    options.max_bytes = 1 << 20;
    assert_int_equal(fit(&image, &options, most, &made, &fitting, &failure), STATUS_OK);
    assert_in_range(fitting.quality, 30, 31);
    assert_int_equal(fit(&image, &options, least - 1, &made, &fitting, &failure), STATUS_TOO_LARGE);
    free(made.data);
    free(image.pixels);
}

static void what_cannot_fit_says_why(void **state) {
    (void)state;
    struct image image = new_noise(60, 50, 3, 8, 1);
    struct encode_options options = encode_options_default;
    struct bytes made = { malloc(sizeof room), 0 };
    struct fitting fitting;
    struct failure failure;
    char text[64];
    options.min_quality = 20;
    options.max_bytes = 100;
    assert_int_equal(fit(&image, &options, sizeof room, &made, &fitting, &failure),
                     STATUS_TOO_LARGE);
    snprintf(text, sizeof text, "%zu bytes at quality 20", length_at(&image, &options, 20));
    assert_non_null(strstr(failure.message, text));
    assert_non_null(strstr(failure.message, "max_bytes is 100"));
    options.format = FORMAT_PNG; /* has no quality to lower */
    assert_int_equal(fit(&image, &options, sizeof room, &made, &fitting, &failure),
                     STATUS_TOO_LARGE);
    snprintf(text, sizeof text, "png takes %zu bytes", length_at(&image, &options, 1));
    assert_non_null(strstr(failure.message, text));
    assert_non_null(strstr(failure.message, "max_bytes is 100"));
    options.max_bytes = 100000;
    assert_int_equal(fit(&image, &options, sizeof room, &made, &fitting, &failure), STATUS_OK);
    assert_int_equal(fitting.tries, 0);
    free(made.data);
    free(image.pixels);
}

static void sides_that_no_jpeg_has(void **state) {
    (void)state;
    const struct image wide = image_shape(65501, 1, 3, 8), most = image_shape(65500, 65500, 3, 8);
    struct failure failure = { 0 };
    assert_int_equal(codec_check_sides(&most, FORMAT_JPEG, &failure), STATUS_OK);
    assert_int_equal(codec_check_sides(&wide, FORMAT_PNG, &failure), STATUS_OK);
    assert_int_equal(codec_check_sides(&wide, FORMAT_JPEG, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "65500"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_quality_that_fits),
        cmocka_unit_test(a_small_buffer),
        cmocka_unit_test(what_cannot_fit_says_why),
        cmocka_unit_test(sides_that_no_jpeg_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
