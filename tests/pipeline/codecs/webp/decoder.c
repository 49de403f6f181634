// SPDX-License-Identifier: Apache-2.0
/* Every kind of WebP as libwebp's plain decoder reads it; first frames of animations; damaged ones,
 * and the bounds on memory and time. tests/http/test_webp.py compares with Pillow.
 * covers: pipeline/codecs/webp/memory.c */
#include "tests/pipeline/codecs/webp_files.h"

static const uint32_t sizes[][2] = { { 1, 1 },    { 1, 7 },    { 7, 1 },      { 13, 42 },
                                     { 123, 66 }, { 4097, 3 }, { 1100, 1000 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct image new_picture(uint32_t width, uint32_t height, unsigned channels, unsigned kind) {
    if (kind == 0) return new_noise(width, height, channels, 8, width);
    return kind == 1 ? new_waves(width, height, channels) : new_image(width, height, channels, 8);
}

/* FLAGS, canvas and EXIF around the picture's chunks. */
static struct bytes oriented(const struct image *image, bool lossless, unsigned orientation) {
    struct bytes picture = picture_chunks(image, lossless);
    const unsigned alpha = image->channels == 4 ? VP8X_ALPHA : 0;
    struct bytes bytes = begin_extended(VP8X_EXIF | alpha, image->width, image->height);
    uint8_t tiff[26];
    write_tiff(tiff, orientation, orientation & 1);
    append(&bytes, picture.data, picture.length);
    append_chunk(&bytes, "EXIF", tiff, sizeof tiff);
    free(picture.data);
    return end_riff(bytes);
}

/* The last size is more than one piece of the decoder; it takes long to encode, so two of its kinds
 * are enough: waves, lossy in RGB and lossless in RGBA. */
static void every_kind_equals_libwebp(void **state) {
    (void)state;
    for (unsigned i = 0; i < SIZES * 12; i++) {
        if (i / 12 == SIZES - 1 && i % 12 != 4 && i % 12 != 7) continue;
        struct image image = new_picture(sizes[i / 12][0], sizes[i / 12][1], 3 + i % 2, i / 4 % 3);
        struct bytes bytes = make_webp(&image, i / 2 % 2);
        uint32_t notes = 0;
        struct image read = must_decode(&bytes, NULL, &notes), plain = plain_webp(&bytes);
        assert_same(&read, &plain);
        assert_int_equal(notes, 0);
        free(read.pixels);
        free(plain.pixels);
        free(bytes.data);
        free(image.pixels);
    }
}

static void eight_orientations(void **state) {
    (void)state;
    for (unsigned i = 0; i < 8 * 4; i++) {
        const unsigned orientation = 1 + i / 4;
        struct image image = new_waves(37, 21, 3 + i % 2);
        struct bytes bytes = oriented(&image, i / 2 % 2, orientation);
        struct image read = must_decode(&bytes, NULL, NULL), plain = plain_webp(&bytes);
        assert_turned(&read, &plain, orientation);
        free(read.pixels);
        free(plain.pixels);
        free(bytes.data);
        free(image.pixels);
    }
}

/* Rows further apart than they are long: what lies between stays as it was. */
static void padding_is_left_alone(void **state) {
    (void)state;
    for (unsigned orientation = 1; orientation <= 8; orientation++) {
        struct image image = new_waves(37, 21, 3);
        struct bytes bytes = oriented(&image, false, orientation);
        struct image expected = must_decode(&bytes, NULL, NULL);
        struct probe probe;
        uint32_t notes = 0;
        assert_int_equal(
            probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
            STATUS_OK);
        struct image wide = probe.shape;
        wide.stride = image_row_bytes(&wide) + 13;
        wide.pixels = malloc(image_bytes(&wide));
        memset(wide.pixels, 0xa5, image_bytes(&wide));
        assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default, NULL,
                                      &wide, NULL, &notes, NULL),
                         STATUS_OK);
        assert_same(&wide, &expected);
        for (uint32_t y = 0; y < wide.height; y++)
            for (int i = 0; i < 13; i++)
                assert_int_equal(image_row(&wide, y)[image_row_bytes(&wide) + (size_t)i], 0xa5);
        free(wide.pixels);
        free(expected.pixels);
        free(bytes.data);
        free(image.pixels);
    }
}

/* Where memory held something else before. */
static struct image decode_over(const struct bytes *bytes, uint32_t *notes) {
    struct probe probe;
    assert_int_equal(
        probe_image(bytes->data, bytes->length, &codec_limits_default.probe, &probe, NULL),
        STATUS_OK);
    struct image image = new_image(probe.shape.width, probe.shape.height, probe.shape.channels, 8);
    memset(image.pixels, 0xa5, image_bytes(&image));
    assert_int_equal(codec_decode(bytes->data, bytes->length, &probe, &codec_limits_default, NULL,
                                  &image, NULL, notes, NULL),
                     STATUS_OK);
    return image;
}

/* ---- animations */

/* 20 x 12 at (6, 4) on 40 x 30, and another picture after it; turned by ORIENTATION. */
static void check_first_frame(bool lossless, unsigned channels, unsigned orientation) {
    struct image image = new_noise(20, 12, channels, 8, 3), canvas = new_image(40, 30, 4, 8);
    struct bytes picture = picture_chunks(&image, lossless), alone = make_webp(&image, lossless);
    struct bytes bytes = begin_extended(VP8X_ANIMATED | VP8X_ALPHA | VP8X_EXIF, 40, 30);
    uint8_t tiff[26];
    uint32_t notes = 0;
    write_tiff(tiff, orientation, true);
    append_chunk(&bytes, "ANIM", "\xff\xff\xff\xff\0", 6);
    append_frame(&bytes, 3, 2, 20, 12, &picture);
    append_frame(&bytes, 0, 0, 20, 12, &picture);
    append_chunk(&bytes, "EXIF", tiff, sizeof tiff);
    bytes = end_riff(bytes);
    struct image read = decode_over(&bytes, &notes), plain = plain_webp(&alone);
    for (uint32_t y = 0; y < 12; y++)
        for (uint32_t x = 0; x < 20; x++) {
            uint8_t *pixel = image_row(&canvas, y + 4) + 4 * (size_t)(x + 6);
            pixel[3] = 255;
            memcpy(pixel, image_row(&plain, y) + (size_t)x * plain.channels, plain.channels);
        }
    assert_int_equal(notes, NOTE_FIRST_FRAME);
    assert_turned(&read, &canvas, orientation);
    free(read.pixels);
    free(plain.pixels);
    free(alone.data);
    free(bytes.data);
    free(picture.data);
    free(image.pixels);
    free(canvas.pixels);
}

static void first_frames_lie_on_nothing(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned orientation = 1; orientation <= 8; orientation++)
            check_first_frame(i & 1, 3 + i / 2, orientation);
}

/* Of one frame nothing was left out. */
static void a_single_frame_is_not_noted(void **state) {
    (void)state;
    struct image image = new_waves(20, 12, 3);
    struct bytes picture = picture_chunks(&image, false), alone = make_webp(&image, false);
    struct bytes bytes = begin_extended(VP8X_ANIMATED, 20, 12);
    uint32_t notes = 0;
    append_frame(&bytes, 0, 0, 20, 12, &picture);
    bytes = end_riff(bytes);
    struct image read = must_decode(&bytes, NULL, &notes), plain = plain_webp(&alone);
    assert_same(&read, &plain);
    assert_int_equal(notes, 0);
    free(read.pixels);
    free(plain.pixels);
    free(alone.data);
    free(bytes.data);
    free(picture.data);
    free(image.pixels);
}

/* ---- profiles */

static void profiles_are_carried(void **state) {
    (void)state;
    struct image image = new_waves(20, 12, 3);
    struct bytes picture = picture_chunks(&image, false), profile = new_profile(3001, "RGB ");
    struct bytes bytes = begin_extended(VP8X_ICC, 20, 12);
    struct metadata metadata = { 0 };
    struct codec_limits limits = codec_limits_default;
    struct image read;
    uint32_t notes = 0;
    append_chunk(&bytes, "ICCP", profile.data, profile.length);
    append(&bytes, picture.data, picture.length);
    bytes = end_riff(bytes);
    limits.profile_max = 3001;
    assert_int_equal(try_decode(&bytes, &limits, &read, &metadata, &notes, NULL), STATUS_OK);
    assert_int_equal(notes, 0);
    assert_int_equal(metadata.profile_length, profile.length);
    assert_memory_equal(metadata.profile, profile.data, profile.length);
    metadata_release(&metadata);
    free(read.pixels);
    limits.profile_max = 3000;
    assert_int_equal(try_decode(&bytes, &limits, &read, &metadata, &notes, NULL), STATUS_OK);
    assert_int_equal(notes, NOTE_PROFILE_DROPPED);
    assert_null(metadata.profile);
    free(read.pixels);
    free(bytes.data);
    free(profile.data);
    free(picture.data);
    free(image.pixels);
}

/* ---- damage */

static void cuts_are_corrupt(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct image image = new_noise(60, 50, 3 + i / 2, 8, i);
        struct bytes bytes = oriented(&image, i & 1, 6);
        assert_every_cut_corrupt(&bytes);
        free(bytes.data);
        free(image.pixels);
    }
}

/* Rows of READ that are STORED's, from the top; all others are 0. */
static uint32_t rows_there(const struct image *read, const struct image *stored) {
    static const uint8_t none[4 * 200];
    uint32_t rows = 0;
    const size_t row = image_row_bytes(read);
    while (rows < read->height && memcmp(image_row(read, rows), image_row(stored, rows), row) == 0)
        rows++;
    for (uint32_t y = rows; y < read->height; y++)
        assert_memory_equal(image_row(read, y), none, row);
    return rows;
}

static void what_came_of_a_cut_one_is_taken(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct image image = new_noise(200, 150, 3 + i / 2, 8, i), read;
        struct bytes bytes = make_webp(&image, i & 1);
        struct image stored = must_decode(&bytes, NULL, NULL);
        uint32_t notes, before = 0;
        char warning[WARNING_MAX];
        for (size_t part = 7; part <= 9; part++) {
            const struct bytes cut = { bytes.data, bytes.length * part / 10 };
            assert_int_equal(take_damaged(&cut, &read, &notes, warning), STATUS_OK);
            const uint32_t rows = rows_there(&read, &stored);
            assert_int_equal(notes, NOTE_DAMAGED);
            assert_non_null(strstr(warning, "ends before"));
            assert_true(rows > before && rows < 150);
            before = rows;
            free(read.pixels);
        }
        assert_true(before > 75);
        free(stored.pixels);
        free(bytes.data);
        free(image.pixels);
    }
}

/* The picture is whole, and what stands behind it is not. */
static void a_cut_behind_the_picture(void **state) {
    (void)state;
    struct image image = new_waves(60, 50, 3), read;
    struct bytes bytes = oriented(&image, false, 1);
    const struct bytes cut = { bytes.data, bytes.length - 4 };
    struct image stored = must_decode(&bytes, NULL, NULL);
    uint32_t notes;
    char warning[WARNING_MAX];
    assert_int_equal(take_damaged(&cut, &read, &notes, warning), STATUS_OK);
    assert_same(&read, &stored);
    assert_int_equal(notes, NOTE_DAMAGED);
    assert_non_null(strstr(warning, "behind the picture"));
    free(read.pixels);
    free(stored.pixels);
    free(bytes.data);
    free(image.pixels);
}

/* Bits turned anywhere: an image or a sentence, the same each time. */
static void damage_anywhere_is_answered(void **state) {
    (void)state;
    uint32_t random = 5, refused = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct image image = new_waves(70, 60, 3 + i % 2), read;
        struct bytes sound = make_webp(&image, i / 2),
                     bytes = { malloc(sound.length), sound.length };
        for (unsigned round = 0; round < 100; round++) {
            struct failure failure = { .message = "" };
            uint32_t notes = 0;
            memcpy(bytes.data, sound.data, sound.length);
            for (int n = 0; n < 4; n++)
                bytes.data[20 + next_random(&random) % (bytes.length - 20)] ^=
                    (uint8_t)(1 << next_random(&random) % 8);
            const enum status status =
                try_decode(&bytes, &codec_limits_default, &read, NULL, &notes, &failure);
            if (status) assert_true(strlen(failure.message) > 20);
            refused += status != STATUS_OK;
            free(read.pixels);
        }
        free(bytes.data);
        free(sound.data);
        free(image.pixels);
    }
    assert_in_range(refused, 20, 380);
}

/* ---- bounds */

static void memory_is_counted(void **state) {
    (void)state;
    struct image image = new_noise(300, 200, 3, 8, 1), read;
    struct failure failure;
    uint32_t notes = 0;
    for (unsigned i = 0; i < 3; i++) { /* lossless, lossy, turned */
        struct bytes bytes = oriented(&image, i == 0, i == 2 ? 6 : 1);
        struct codec_limits limits = codec_limits_default;
        limits.memory_max = i == 0 ? 240000 : i == 1 ? 20000 : 180000; /* its samples: 180000 */
        assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, &failure),
                         STATUS_TOO_LARGE);
        assert_non_null(strstr(failure.message, "codec_memory_bytes"));
        limits.memory_max = 600000;
        assert_int_equal(try_decode(&bytes, &limits, &read, NULL, &notes, &failure), STATUS_OK);
        free(read.pixels);
        free(bytes.data);
    }
    /* Nothing of it holds for what comes after, an encoder too. */
    struct bytes bytes = make_webp(&image, true);
    free(must_decode(&bytes, NULL, NULL).pixels);
    free(bytes.data);
    free(image.pixels);
}

static void who_wants_it_no_more_is_heard(void **state) {
    (void)state;
    struct image image = new_noise(300, 200, 3, 8, 1); /* several pieces */
    for (int lossless = 0; lossless < 2; lossless++) {
        struct bytes bytes = make_webp(&image, lossless);
        struct progress progress = { .cancelled = 1 };
        struct probe probe;
        struct failure failure;
        uint32_t notes = 0;
        assert_int_equal(
            probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
            STATUS_OK);
        struct image into = new_image(300, 200, 3, 8);
        assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default,
                                      &progress, &into, NULL, &notes, &failure),
                         STATUS_CANCELLED);
        progress = (struct progress){ .deadline_ns = 1 };
        assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default,
                                      &progress, &into, NULL, &notes, &failure),
                         STATUS_DEADLINE);
        free(into.pixels);
        free(bytes.data);
    }
    free(image.pixels);
}

/* The same noise in a tenth of the time, larger. */
static struct bytes make_quickly(const struct image *image, bool lossless) {
    WebPConfig config;
    WebPPicture picture;
    WebPMemoryWriter written;
    assert_true(WebPConfigInit(&config) && WebPPictureInit(&picture));
    WebPMemoryWriterInit(&written);
    config.lossless = picture.use_argb = lossless;
    config.method = 0;
    config.quality = lossless ? 0 : 75;
    picture.width = (int)image->width;
    picture.height = (int)image->height;
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &written;
    assert_true(WebPPictureImportRGB(&picture, image->pixels, (int)image->stride));
    assert_true(WebPEncode(&config, &picture));
    WebPPictureFree(&picture);
    return (struct bytes){ written.mem, written.size };
}

/* Not before it begins, but in its midst: it takes several times as long. */
static void a_deadline_passes_while_it_is_decoded(void **state) {
    (void)state;
    struct image image = new_noise(1500, 1000, 3, 8, 1);
    for (int lossless = 0; lossless < 2; lossless++) {
        struct bytes bytes = make_quickly(&image, lossless);
        struct probe probe;
        struct failure failure;
        uint32_t notes = 0;
        assert_int_equal(
            probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
            STATUS_OK);
        struct progress progress = { .deadline_ns = clock_coarse_ns() + 5000000 };
        assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default,
                                      &progress, &image, NULL, &notes, &failure),
                         STATUS_DEADLINE);
        assert_non_null(strstr(failure.message, "time allowed"));
        free(bytes.data);
    }
    free(image.pixels);
}

/* A few bytes are two million pixels of one colour, and are decoded for what they say. */
static void many_pixels_of_few_bytes(void **state) {
    (void)state;
    struct image image = new_image(2048, 1024, 3, 8);
    memset(image.pixels, 0x5a, image_bytes(&image));
    struct bytes bytes = make_webp(&image, true);
    assert_true(bytes.length < 1000);
    struct image read = must_decode(&bytes, NULL, NULL);
    assert_same(&read, &image);
    free(read.pixels);
    free(bytes.data);
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_equals_libwebp),
        cmocka_unit_test(eight_orientations),
        cmocka_unit_test(padding_is_left_alone),
        cmocka_unit_test(first_frames_lie_on_nothing),
        cmocka_unit_test(a_single_frame_is_not_noted),
        cmocka_unit_test(profiles_are_carried),
        cmocka_unit_test(cuts_are_corrupt),
        cmocka_unit_test(what_came_of_a_cut_one_is_taken),
        cmocka_unit_test(a_cut_behind_the_picture),
        cmocka_unit_test(damage_anywhere_is_answered),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(who_wants_it_no_more_is_heard),
        cmocka_unit_test(a_deadline_passes_while_it_is_decoded),
        cmocka_unit_test(many_pixels_of_few_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
