// SPDX-License-Identifier: Apache-2.0
/* Encoding and decoding again, in every format: exact, close, within bounds; notes and profiles.
 * covers: pipeline/codecs/common/flatten.c pipeline/codecs/jpeg/encoder.c
 * covers: pipeline/codecs/png/encoder.c */
#include "tests/pipeline/codecs/made_files.h"

static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 7 }, { 7, 1 }, { 13, 42 }, { 123, 66 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct bytes must_encode(const struct image *image, const struct metadata *metadata,
                                const struct encode_options *options, uint32_t *notes) {
    struct failure failure = { .message = "" };
    const size_t bound = codec_encode_bound(image, metadata, options->format);
    struct bytes bytes = { malloc(bound), 0 };
    assert_non_null(bytes.data);
    uint32_t ignored = 0;
    const enum status status = codec_encode(image, metadata, options, NULL, bytes.data, bound,
                                            &bytes.length, notes ? notes : &ignored, &failure);
    if (status != STATUS_OK) print_error("%s\n", failure.message);
    assert_int_equal(status, STATUS_OK);
    assert_in_range(bytes.length, 1, bound);
    return bytes;
}

/* The next format with ABILITIES that can be written on this machine; FORMAT_NONE: no further. */
static enum format next_format(enum format format, unsigned abilities) {
    int next = (int)format + 1;
    while (next < FORMAT_COUNT &&
           (!format_can((enum format)next, abilities) || codec_missing((enum format)next)))
        next++;
    return next < FORMAT_COUNT ? (enum format)next : FORMAT_NONE;
}

static void check_round_trip(const struct image *image, const struct encode_options *options) {
    uint32_t notes = 0;
    struct bytes bytes = must_encode(image, NULL, options, &notes);
    struct bytes again = must_encode(image, NULL, options, NULL);
    assert_int_equal(notes, 0);
    assert_int_equal(bytes.length, again.length);
    assert_memory_equal(bytes.data, again.data, bytes.length);
    struct image back = must_decode(&bytes, NULL, NULL);
    assert_same(image, &back);
    if (options->format == FORMAT_PNG) {
        struct image plain = plain_png(&bytes);
        assert_same(image, &plain);
        free(plain.pixels);
    }
    free(back.pixels);
    free(again.data);
    free(bytes.data);
}

static void test_png_and_pnm_are_exact(void **state) {
    (void)state;
    for (int i = 0; i < SIZES * 8; i++) {
        const unsigned channels = 1 + (unsigned)i % 4, depth = i / 4 % 2 ? 16 : 8;
        struct image image = new_noise(sizes[i / 8][0], sizes[i / 8][1], channels, depth, 5);
        struct encode_options options = encode_options_default;
        options.format = FORMAT_PNG;
        for (options.compression = 0; options.compression <= 3; options.compression++)
            check_round_trip(&image, &options);
        options.format = FORMAT_PNM;
        if (!image_has_alpha(&image)) check_round_trip(&image, &options);
        free(image.pixels);
    }
}

/* Waves, flat areas and noise in bands, wide and high enough for many IDATs and rows beyond a band.
 */
static void test_large_png_is_exact(void **state) {
    (void)state;
    static const uint32_t large[][2] = { { 1024, 400 }, { 65535, 7 }, { 3, 30000 } };
    for (int i = 0; i < 3; i++) {
        struct image image = new_waves(large[i][0], large[i][1], 4);
        for (uint32_t y = 0; y < image.height; y++) {
            if (y / 100 % 3 == 1) fill_noise(image_row(&image, y), image_row_bytes(&image), y);
            if (y / 100 % 3 == 2) memset(image_row(&image, y), 77, image_row_bytes(&image));
        }
        struct encode_options options = encode_options_default;
        options.format = FORMAT_PNG;
        for (options.compression = 0; options.compression <= 3; options.compression++)
            check_round_trip(&image, &options);
        free(image.pixels);
    }
}

/* Every filter gets its turn: gradients across, down, both, and blocks that repeat. */
static void test_every_filter_is_exact(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 6; kind++) {
        for (unsigned channels = 1; channels <= 4; channels++) {
            struct image image = new_image(300, 60, channels, kind & 1 ? 16 : 8);
            uint32_t seed = kind;
            for (uint32_t y = 0; y < image.height; y++)
                for (uint32_t x = 0; x < image_row_bytes(&image); x++)
                    image_row(&image, y)[x] =
                        (uint8_t)(kind < 2   ? x * 3
                                  : kind < 4 ? (x & 7) * 31 + y * 5 + next_random(&seed) % 3
                                             : x * y / 16 + next_random(&seed) % 5);
            struct encode_options options = encode_options_default;
            options.format = FORMAT_PNG;
            check_round_trip(&image, &options);
            free(image.pixels);
        }
    }
}

static void test_jpeg_is_close(void **state) {
    (void)state;
    static const int qualities[] = { 1, 50, 85, 94, 95, 100 };
    for (int i = 0; i < SIZES * 6 * 2; i++) {
        struct image image = new_waves(sizes[i / 12][0], sizes[i / 12][1], i & 1 ? 3 : 1);
        struct encode_options options = encode_options_default;
        options.quality = qualities[i / 2 % 6];
        struct bytes bytes = must_encode(&image, NULL, &options, NULL);
        struct bytes again = must_encode(&image, NULL, &options, NULL);
        assert_int_equal(bytes.length, again.length);
        assert_memory_equal(bytes.data, again.data, bytes.length);
        struct image back = must_decode(&bytes, NULL, NULL), plain = plain_jpeg(&bytes);
        assert_same(&back, &plain);
        assert_true(image_same_shape(&back, &image));
        const uint8_t *frame = memmem(bytes.data, bytes.length, "\xff\xc0", 2);
        assert_non_null(frame);
        if (i & 1) assert_int_equal(frame[11], options.quality >= 95 ? 0x11 : 0x22);
        for (uint32_t y = 0; options.quality == 100 && !(i & 1) && y < image.height; y++)
            for (uint32_t x = 0; x < image.width; x++)
                assert_in_range(image_row(&back, y)[x] + 3 - image_row(&image, y)[x], 0, 6);
        free(back.pixels);
        free(plain.pixels);
        free(bytes.data);
        free(again.data);
        free(image.pixels);
    }
}

/* The coefficients are the same, in another order: so are the pixels. */
static void test_progressive_jpeg_is_the_same_picture(void **state) {
    (void)state;
    static const int qualities[] = { 1, 50, 85, 95, 100 };
    for (int i = 0; i < SIZES * 5 * 2; i++) {
        struct image image = new_noise(sizes[i / 10][0], sizes[i / 10][1], i & 1 ? 3 : 1, 8, 4);
        struct encode_options options = encode_options_default;
        options.quality = qualities[i / 2 % 5];
        struct bytes plain = must_encode(&image, NULL, &options, NULL);
        options.progressive = true;
        struct bytes made = must_encode(&image, NULL, &options, NULL);
        struct probe probe;
        assert_int_equal(
            probe_image(made.data, made.length, &codec_limits_default.probe, &probe, NULL),
            STATUS_OK);
        assert_true(probe.progressive);
        struct image a = must_decode(&plain, NULL, NULL), b = must_decode(&made, NULL, NULL);
        assert_same(&a, &b);
        free(a.pixels);
        free(b.pixels);
        free(plain.data);
        free(made.data);
        free(image.pixels);
    }
}

/* Behind the last row most of the time is still to come. */
static void test_progressive_jpeg_stops_in_time(void **state) {
    (void)state;
    struct image image = new_noise(2000, 1000, 3, 8, 1);
    struct encode_options options = encode_options_default;
    struct progress progress = { .deadline_ns = clock_ns() + 40000000 };
    struct failure failure;
    options.progressive = true;
    options.quality = 100;
    const size_t bound = codec_encode_bound(&image, NULL, FORMAT_JPEG);
    uint8_t *bytes = malloc(bound);
    size_t length;
    uint32_t notes = 0;
    const int64_t start = clock_ns();
    assert_int_equal(
        codec_encode(&image, NULL, &options, &progress, bytes, bound, &length, &notes, &failure),
        STATUS_DEADLINE);
    assert_true(clock_ns() - start < INT64_C(400000000));
    free(bytes);
    free(image.pixels);
}

/* Saturated noise at quality 100 is the most that JPEG can be asked for. */
static void test_bounds_hold(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2 * 4 * SIZES; i++) {
        struct image image = new_noise(sizes[i / 8][0], sizes[i / 8][1], 1 + i % 4, 8, i);
        for (uint32_t y = 0; i / 4 % 2 && y < image.height; y++)
            for (size_t x = 0; x < image_row_bytes(&image); x++)
                image_row(&image, y)[x] = image_row(&image, y)[x] & 1 ? 255 : 0;
        struct encode_options options = encode_options_default;
        options.quality = 100;
        options.background[1] = options.background[2] = 0;
        options.format = FORMAT_NONE;
        while ((options.format = next_format(options.format, FORMAT_WRITTEN)))
            for (int progressive = 0; progressive < 2; progressive++) {
                options.progressive = progressive;
                struct bytes bytes = must_encode(&image, NULL, &options, NULL); /* asserts it */
                free(bytes.data);
            }
        free(image.pixels);
    }
}

static void test_small_capacity_is_too_large(void **state) {
    (void)state;
    struct image image = new_noise(60, 50, 3, 8, 1);
    for (enum format format = FORMAT_NONE; (format = next_format(format, FORMAT_WRITTEN));) {
        struct encode_options options = encode_options_default;
        options.format = format;
        struct bytes whole = must_encode(&image, NULL, &options, NULL);
        for (size_t capacity = 0; capacity < whole.length; capacity += 1 + capacity / 8) {
            struct failure failure;
            uint32_t notes = 0;
            size_t length;
            uint8_t *bytes = malloc(capacity + 1); /* its own block: sanitizers see overruns */
            bytes[capacity] = 0x5a;
            assert_int_equal(codec_encode(&image, NULL, &options, NULL, bytes, capacity, &length,
                                          &notes, &failure),
                             STATUS_TOO_LARGE);
            assert_int_equal(length, 0);
            assert_int_equal(bytes[capacity], 0x5a);
            free(bytes);
        }
        free(whole.data);
    }
    free(image.pixels);
}

static void test_capacity_does_not_change_the_bytes(void **state) {
    (void)state;
    struct image image = new_noise(300, 200, 3, 8, 1);
    for (enum format format = FORMAT_NONE; (format = next_format(format, FORMAT_WRITTEN));) {
        struct encode_options options = encode_options_default;
        options.format = format;
        struct bytes whole = must_encode(&image, NULL, &options, NULL);
        uint8_t *exact = malloc(whole.length);
        size_t length;
        uint32_t notes = 0;
        assert_int_equal(
            codec_encode(&image, NULL, &options, NULL, exact, whole.length, &length, &notes, NULL),
            STATUS_OK);
        assert_int_equal(length, whole.length);
        assert_memory_equal(exact, whole.data, length);
        free(exact);
        free(whole.data);
    }
    free(image.pixels);
}

/* Padding of rows is neither written by decoders nor seen by encoders. */
static void test_strides_and_padding(void **state) {
    (void)state;
    struct image image = new_waves(61, 35, 3);
    struct image wide = image;
    wide.stride = image.stride + 96;
    wide.pixels = malloc(image_bytes(&wide));
    memset(wide.pixels, 0xa5, image_bytes(&wide));
    for (uint32_t y = 0; y < image.height; y++)
        memcpy(image_row(&wide, y), image_row(&image, y), image_row_bytes(&image));
    for (enum format format = FORMAT_NONE;
         (format = next_format(format, FORMAT_READ | FORMAT_WRITTEN));) {
        struct encode_options options = encode_options_default;
        options.format = format;
        struct bytes a = must_encode(&image, NULL, &options, NULL);
        struct bytes b = must_encode(&wide, NULL, &options, NULL);
        assert_int_equal(a.length, b.length);
        assert_memory_equal(a.data, b.data, a.length);
        struct probe probe;
        uint32_t notes = 0;
        probe_image(a.data, a.length, &codec_limits_default.probe, &probe, NULL);
        assert_int_equal(codec_decode(a.data, a.length, &probe, &codec_limits_default, NULL, &wide,
                                      NULL, &notes, NULL),
                         STATUS_OK);
        for (uint32_t y = 0; y < wide.height; y++)
            for (size_t x = image_row_bytes(&wide); x < wide.stride; x++)
                assert_int_equal(image_row(&wide, y)[x], 0xa5);
        struct image back = must_decode(&a, NULL, NULL);
        assert_same(&back, &wide);
        free(back.pixels);
        free(a.data);
        free(b.data);
        for (uint32_t y = 0; y < image.height; y++)
            memcpy(image_row(&wide, y), image_row(&image, y), image_row_bytes(&image));
    }
    free(wide.pixels);
    free(image.pixels);
}

static unsigned sample(const struct image *image, uint32_t x, unsigned c) {
    const size_t i = (size_t)x * image->channels + c;
    return image->depth == 16 ? ((const uint16_t *)(const void *)image->pixels)[i]
                              : image->pixels[i];
}

/* One row of noise, laid on a background, against the same in floating point. */
static void check_flattened(unsigned channels, unsigned depth, const uint8_t background[3]) {
    struct image image = new_noise(4096, 1, channels, depth, channels + depth);
    struct encode_options options = encode_options_default;
    options.format = FORMAT_PNM;
    memcpy(options.background, background, 3);
    uint32_t notes = 0;
    struct bytes bytes = must_encode(&image, NULL, &options, &notes);
    struct image flat = must_decode(&bytes, NULL, NULL);
    assert_int_equal(notes, NOTE_ALPHA_FLATTENED);
    const bool gray = channels == 2 && background[0] == background[1];
    assert_int_equal(flat.channels, gray ? 1 : 3);
    const unsigned max = image_max(&image), alpha_at = channels - 1;
    for (uint32_t x = 0; x < image.width; x++) {
        const double alpha = sample(&image, x, alpha_at) / (double)max;
        for (unsigned c = 0; c < flat.channels; c++) {
            const double colour = sample(&image, x, channels == 2 ? 0 : c);
            const double under = background[c] * (double)(max / 255);
            const double exact = colour * alpha + under * (1 - alpha);
            assert_true(sample(&flat, x, c) <= exact + 0.5 + 1e-6);
            assert_true(sample(&flat, x, c) >= exact - 0.5 - 1e-6);
        }
    }
    free(flat.pixels);
    free(bytes.data);
    free(image.pixels);
}

static void test_alpha_is_laid_on_the_background(void **state) {
    (void)state;
    for (unsigned depth = 8; depth <= 16; depth += 8) {
        check_flattened(2, depth, (const uint8_t[3]){ 255, 255, 255 });
        check_flattened(2, depth, (const uint8_t[3]){ 10, 100, 200 });
        check_flattened(4, depth, (const uint8_t[3]){ 255, 255, 255 });
        check_flattened(4, depth, (const uint8_t[3]){ 10, 100, 200 });
    }
}

/* JPEG of a 16-bit picture is the JPEG of its samples rounded by v / 257. */
static void test_depth_is_cut_for_jpeg(void **state) {
    (void)state;
    struct image wide = new_noise(256, 256, 1, 16, 3), narrow = new_image(256, 256, 1, 8);
    for (uint32_t y = 0; y < 256; y++)
        for (uint32_t x = 0; x < 256; x++) {
            uint16_t *v = (uint16_t *)(void *)image_row(&wide, y) + x;
            *v = (uint16_t)(y * 256 + x); /* every value once */
            image_row(&narrow, y)[x] = (uint8_t)(*v / 257.0 + 0.5);
        }
    struct encode_options options = encode_options_default;
    options.quality = 100;
    uint32_t notes = 0, none = 0;
    struct bytes a = must_encode(&wide, NULL, &options, &notes);
    struct bytes b = must_encode(&narrow, NULL, &options, &none);
    assert_int_equal(notes, NOTE_DEPTH_CUT);
    assert_int_equal(none, 0);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.data, b.data, a.length);
    free(a.data);
    free(b.data);
    free(wide.pixels);
    free(narrow.pixels);
}

static void check_profile(unsigned channels, const char *space, enum format format, bool carried) {
    struct bytes profile = new_profile(140000, space);
    const struct metadata metadata = { .profile = profile.data, .profile_length = profile.length };
    struct image image = new_waves(40, 30, channels);
    struct encode_options options = encode_options_default;
    options.format = format;
    uint32_t notes = 0;
    struct bytes bytes = must_encode(&image, &metadata, &options, &notes);
    struct metadata back = { 0 };
    struct image read = must_decode(&bytes, &back, NULL);
    assert_int_equal(notes & NOTE_PROFILE_DROPPED, carried ? 0 : NOTE_PROFILE_DROPPED);
    assert_int_equal(back.profile_length, carried ? profile.length : 0);
    if (carried) assert_memory_equal(back.profile, profile.data, profile.length);
    metadata_release(&back);
    free(read.pixels);
    free(bytes.data);
    free(image.pixels);
    free(profile.data);
}

static void test_profiles_travel_where_they_fit(void **state) {
    (void)state;
    static const enum format carriers[] = { FORMAT_JPEG, FORMAT_PNG };
    for (int i = 0; i < 2; i++) {
        check_profile(3, "RGB ", carriers[i], true);
        check_profile(1, "GRAY", carriers[i], true);
        check_profile(4, "RGB ", carriers[i], true);
        check_profile(1, "RGB ", carriers[i], false);
        check_profile(3, "GRAY", carriers[i], false);
        check_profile(3, "CMYK", carriers[i], false);
    }
    check_profile(3, "RGB ", FORMAT_PNM, false);
}

static void test_progress_stops_both_ways(void **state) {
    (void)state;
    struct image image = new_waves(200, 200, 3);
    struct progress cancelled = { .cancelled = 1 }, late = { .deadline_ns = 1 };
    for (enum format format = FORMAT_NONE;
         (format = next_format(format, FORMAT_READ | FORMAT_WRITTEN));) {
        struct encode_options options = encode_options_default;
        options.format = format;
        struct bytes bytes = must_encode(&image, NULL, &options, NULL);
        struct probe probe;
        struct failure failure;
        uint32_t notes = 0;
        size_t length;
        probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL);
        assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default,
                                      &cancelled, &image, NULL, &notes, &failure),
                         STATUS_CANCELLED);
        assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default,
                                      &late, &image, NULL, &notes, &failure),
                         STATUS_DEADLINE);
        assert_int_equal(codec_encode(&image, NULL, &options, &cancelled, bytes.data, bytes.length,
                                      &length, &notes, &failure),
                         STATUS_CANCELLED);
        assert_int_equal(codec_encode(&image, NULL, &options, &late, bytes.data, bytes.length,
                                      &length, &notes, &failure),
                         STATUS_DEADLINE);
        free(bytes.data);
    }
    free(image.pixels);
}

static void test_notes_have_texts(void **state) {
    (void)state;
    for (int i = 0; i < NOTE_COUNT; i++) assert_true(strlen(note_text(i)) > 20);
    assert_string_equal(note_text(NOTE_COUNT), "");
    assert_string_equal(note_text(-1), "");
    struct metadata none = { 0 };
    metadata_release(&none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_and_pnm_are_exact),
        cmocka_unit_test(test_large_png_is_exact),
        cmocka_unit_test(test_every_filter_is_exact),
        cmocka_unit_test(test_jpeg_is_close),
        cmocka_unit_test(test_progressive_jpeg_is_the_same_picture),
        cmocka_unit_test(test_progressive_jpeg_stops_in_time),
        cmocka_unit_test(test_bounds_hold),
        cmocka_unit_test(test_small_capacity_is_too_large),
        cmocka_unit_test(test_capacity_does_not_change_the_bytes),
        cmocka_unit_test(test_strides_and_padding),
        cmocka_unit_test(test_alpha_is_laid_on_the_background),
        cmocka_unit_test(test_depth_is_cut_for_jpeg),
        cmocka_unit_test(test_profiles_travel_where_they_fit),
        cmocka_unit_test(test_progress_stops_both_ways),
        cmocka_unit_test(test_notes_have_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
