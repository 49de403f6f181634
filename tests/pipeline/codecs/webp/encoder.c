// SPDX-License-Identifier: Apache-2.0
/* WebP out, read again by libwebp itself: the samples of every shape, the chunks around a profile,
 * what lossless and effort do, and searches for a quality. tests/http/test_webp.py compares bytes
 * with Pillow's. */
#include "tests/pipeline/codecs/made_files.h"

#include <webp/decode.h>

static struct bytes encode(const struct image *image, const struct metadata *metadata,
                           const struct encode_options *options, uint32_t *notes) {
    struct failure failure = { .message = "" };
    const size_t bound = codec_encode_bound(image, metadata, FORMAT_WEBP);
    struct bytes bytes = { malloc(bound), 0 };
    uint32_t ignored = 0;
    if (codec_encode(image, metadata, options, NULL, bytes.data, bound, &bytes.length,
                     notes ? notes : &ignored, &failure))
        fail_msg("%s", failure.message);
    assert_in_range(bytes.length, 20, bound);
    return bytes;
}

static struct encode_options webp(bool lossless, int quality) {
    struct encode_options options = encode_options_default;
    options.format = FORMAT_WEBP;
    options.lossless = lossless;
    options.quality = quality;
    return options;
}

/* Sample C of R, G, B, A at X, Y as a WebP should have it: 8 bits by v / 257, rounded. */
static int expected(const struct image *image, uint32_t x, uint32_t y, unsigned c) {
    const unsigned colours = image_colours(image), channels = image->channels;
    if (c == 3 && !image_has_alpha(image)) return 255;
    const unsigned at = c == 3 ? channels - 1 : colours == 1 ? 0 : c;
    const size_t i = (size_t)x * channels + at;
    if (image->depth == 8) return image_row(image, y)[i];
    return (int)(((const uint16_t *)(const void *)image_row(image, y))[i] / 257.0 + 0.5);
}

static void lossless_keeps_every_sample(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 9 }, { 16, 1 }, { 123, 66 } };
    for (unsigned i = 0; i < 4 * 4 * 2; i++) {
        const unsigned channels = 1 + i % 4, depth = i / 4 % 2 ? 16 : 8;
        struct image image = new_noise(sizes[i / 8][0], sizes[i / 8][1], channels, depth, i);
        const struct encode_options options = webp(true, 1);
        uint32_t notes = 0;
        int width, height;
        struct bytes bytes = encode(&image, NULL, &options, &notes);
        uint8_t *rgba = WebPDecodeRGBA(bytes.data, bytes.length, &width, &height);
        assert_non_null(rgba);
        assert_int_equal(width, image.width);
        assert_int_equal(height, image.height);
        assert_int_equal(notes, depth == 16 ? NOTE_DEPTH_CUT : 0);
        for (uint32_t y = 0; y < image.height; y++)
            for (uint32_t x = 0; x < image.width; x++)
                for (unsigned c = 0; c < 4; c++)
                    assert_int_equal(rgba[4 * ((size_t)y * image.width + x) + c],
                                     expected(&image, x, y, c));
        WebPFree(rgba);
        free(bytes.data);
        free(image.pixels);
    }
}

/* Alpha loses nothing, colours little. */
static void lossy_is_close(void **state) {
    (void)state;
    for (unsigned channels = 1; channels <= 4; channels++) {
        struct image image = new_waves(160, 90, channels);
        const struct encode_options options = webp(false, 95);
        int width, height;
        long sum = 0;
        struct bytes bytes = encode(&image, NULL, &options, NULL);
        uint8_t *rgba = WebPDecodeRGBA(bytes.data, bytes.length, &width, &height);
        assert_non_null(rgba);
        for (uint32_t y = 0; y < image.height; y++)
            for (uint32_t x = 0; x < image.width; x++) {
                const uint8_t *pixel = rgba + 4 * ((size_t)y * image.width + x);
                for (unsigned c = 0; c < 3; c++)
                    sum += pixel[3] ? labs(pixel[c] - expected(&image, x, y, c)) : 0;
                assert_int_equal(pixel[3], expected(&image, x, y, 3));
            }
        assert_true(sum < 3L * 160 * 90 * 6);
        WebPFree(rgba);
        free(bytes.data);
        free(image.pixels);
    }
}

/* ---- chunks */

static uint32_t le32(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Names of the chunks in order, four letters each; the file ends with the last one. */
static void read_names(const struct bytes *bytes, char names[64]) {
    size_t at = 12, count = 0;
    assert_memory_equal(bytes->data, "RIFF", 4);
    assert_memory_equal(bytes->data + 8, "WEBP", 4);
    assert_int_equal(le32(bytes->data + 4), bytes->length - 8);
    assert_int_equal(bytes->length % 2, 0);
    while (at < bytes->length) {
        assert_true(at + 8 <= bytes->length && count < 12);
        memcpy(names + 4 * count++, bytes->data + at, 4);
        at += 8 + le32(bytes->data + at + 4);
        at += at & 1;
    }
    names[4 * count] = '\0';
    assert_int_equal(at, bytes->length);
}

static void check_profile(unsigned channels, bool lossless, size_t length, const char *names) {
    struct bytes profile = new_profile(length, "RGB ");
    const struct metadata metadata = { .profile = profile.data, .profile_length = profile.length };
    struct image image = new_waves(41, 30, channels);
    const struct encode_options options = webp(lossless, 80);
    uint32_t notes = 0;
    char found[64];
    struct bytes bytes = encode(&image, &metadata, &options, &notes);
    struct bytes plain = encode(&image, NULL, &options, &notes);
    int width, height;
    read_names(&bytes, found);
    assert_string_equal(found, names);
    assert_int_equal(notes, 0);
    assert_int_equal(bytes.data[20], 0x20 | (channels == 4 ? 0x10 : 0));
    assert_memory_equal(bytes.data + 21, "\0\0\0\x28\0\0\x1d\0\0", 9); /* 41 x 30, less one */
    assert_int_equal(le32(bytes.data + 34), length);
    assert_memory_equal(bytes.data + 38, profile.data, length);
    uint8_t *a = WebPDecodeRGBA(bytes.data, bytes.length, &width, &height);
    assert_true(a && width == 41 && height == 30);
    uint8_t *b = WebPDecodeRGBA(plain.data, plain.length, &width, &height);
    assert_memory_equal(a, b, (size_t)41 * 30 * 4);
    WebPFree(a);
    WebPFree(b);
    free(bytes.data);
    free(plain.data);
    free(image.pixels);
    free(profile.data);
}

static void profiles_stand_in_front(void **state) {
    (void)state;
    for (size_t length = 200; length < 204; length++) {
        check_profile(3, false, length, "VP8XICCPVP8 ");
        check_profile(3, true, length, "VP8XICCPVP8L");
        check_profile(4, false, length, "VP8XICCPALPHVP8 ");
        check_profile(4, true, length, "VP8XICCPVP8L");
    }
    check_profile(3, false, 140001, "VP8XICCPVP8 ");
}

/* The colours of a WebP are three. */
static void a_profile_of_gray_is_dropped(void **state) {
    (void)state;
    struct bytes profile = new_profile(200, "GRAY");
    const struct metadata metadata = { .profile = profile.data, .profile_length = profile.length };
    struct image image = new_waves(41, 30, 1);
    const struct encode_options options = webp(false, 80);
    uint32_t notes = 0;
    char found[64];
    struct bytes bytes = encode(&image, &metadata, &options, &notes);
    read_names(&bytes, found);
    assert_string_equal(found, "VP8 ");
    assert_int_equal(notes, NOTE_PROFILE_DROPPED);
    free(bytes.data);
    free(image.pixels);
    free(profile.data);
}

/* ---- options */

static void effort_and_quality_change_the_size(void **state) {
    (void)state;
    struct image image = new_waves(300, 200, 3);
    size_t before = 0;
    for (int quality = 10; quality <= 100; quality += 30) {
        const struct encode_options options = webp(false, quality);
        struct bytes bytes = encode(&image, NULL, &options, NULL);
        assert_true(bytes.length > before);
        before = bytes.length;
        free(bytes.data);
    }
    size_t sizes[7];
    for (int effort = 0; effort <= 6; effort++) {
        struct encode_options options = webp(true, 85);
        options.effort = effort;
        struct bytes bytes = encode(&image, NULL, &options, NULL);
        sizes[effort] = bytes.length;
        free(bytes.data);
    }
    assert_true(sizes[6] <= sizes[4] && sizes[4] < sizes[0]);
    free(image.pixels);
}

static void a_quality_is_searched_for(void **state) {
    (void)state;
    struct image image = new_noise(100, 80, 3, 8, 2);
    struct encode_options options = webp(false, 85);
    struct bytes whole = encode(&image, NULL, &options, NULL);
    struct fitting fitting;
    struct failure failure;
    uint32_t notes = 0;
    size_t length;
    options.max_bytes = (int64_t)whole.length * 2 / 3;
    assert_int_equal(codec_encode_fitting(&image, NULL, &options, NULL, whole.data, whole.length,
                                          &length, &fitting, &notes, &failure),
                     STATUS_OK);
    assert_true(length <= (size_t)options.max_bytes && length > whole.length / 2);
    assert_in_range(fitting.quality, 20, 80);
    assert_in_range(fitting.tries, 3, 9);
    options.lossless = true;
    assert_int_equal(codec_encode_fitting(&image, NULL, &options, NULL, whole.data, whole.length,
                                          &length, &fitting, &notes, &failure),
                     STATUS_TOO_LARGE);
    free(whole.data);
    free(image.pixels);
}

/* Between two calls of its hook libwebp does nearly all of this picture's work, which is alpha. */
static void a_deadline_ends_it_in_the_midst(void **state) {
    (void)state;
    struct image image = new_noise(160, 160, 4, 8, 3);
    struct encode_options options = encode_options_default;
    struct progress progress = { .deadline_ns = 0 };
    struct failure failure;
    uint32_t notes = 0;
    size_t length;
    options.format = FORMAT_WEBP;
    options.effort = 6;
    options.quality = 100;
    const size_t bound = codec_encode_bound(&image, NULL, FORMAT_WEBP);
    uint8_t *bytes = malloc(bound);
    double before = thread_cpu_ms();
    assert_int_equal(
        codec_encode(&image, NULL, &options, NULL, bytes, bound, &length, &notes, &failure),
        STATUS_OK);
    const double whole = thread_cpu_ms() - before;
    do { /* a thread without a core for so long does not begin */
        before = thread_cpu_ms();
        progress.deadline_ns = clock_ns() + (int64_t)(whole * 0.25e6);
        assert_int_equal(codec_encode(&image, NULL, &options, &progress, bytes, bound, &length,
                                      &notes, &failure),
                         STATUS_DEADLINE);
    } while (strstr(failure.message, "not begun"));
    assert_true(thread_cpu_ms() - before < whole / 2);
    free(bytes);
    free(image.pixels);
}

/* Its rate says that it may take 27 s. No pixel is read. */
static void what_may_be_late_is_not_begun(void **state) {
    (void)state;
    struct image image = new_noise(8, 8, 3, 8, 3);
    const struct encode_options options = webp(false, 80);
    struct progress progress = { .deadline_ns = clock_ns() + INT64_C(3600000000000) };
    struct failure failure = { .message = "" };
    uint8_t bytes[4096];
    size_t length;
    uint32_t notes = 0;
    assert_int_equal(codec_encode(&image, NULL, &options, &progress, bytes, sizeof bytes, &length,
                                  &notes, &failure),
                     STATUS_OK);
    image.width = image.height = 16383;
    progress.deadline_ns = clock_ns() + INT64_C(1000000000);
    assert_int_equal(codec_encode(&image, NULL, &options, &progress, bytes, sizeof bytes, &length,
                                  &notes, &failure),
                     STATUS_DEADLINE);
    assert_non_null(strstr(failure.message, "not begun"));
    free(image.pixels);
}

static void sides_that_no_webp_has(void **state) {
    (void)state;
    struct image image = new_image(16384, 1, 1, 8);
    const struct encode_options options = webp(false, 80);
    uint8_t bytes[4096];
    size_t length;
    uint32_t notes = 0;
    struct failure failure = { 0 };
    assert_int_equal(
        codec_encode(&image, NULL, &options, NULL, bytes, sizeof bytes, &length, &notes, &failure),
        STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "16383"));
    image.width = 16383;
    assert_int_equal(
        codec_encode(&image, NULL, &options, NULL, bytes, sizeof bytes, &length, &notes, &failure),
        STATUS_OK);
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lossless_keeps_every_sample),
        cmocka_unit_test(lossy_is_close),
        cmocka_unit_test(profiles_stand_in_front),
        cmocka_unit_test(a_profile_of_gray_is_dropped),
        cmocka_unit_test(effort_and_quality_change_the_size),
        cmocka_unit_test(a_quality_is_searched_for),
        cmocka_unit_test(sides_that_no_webp_has),
        cmocka_unit_test(a_deadline_ends_it_in_the_midst),
        cmocka_unit_test(what_may_be_late_is_not_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
