// SPDX-License-Identifier: Apache-2.0
/* libavif's own decoder reads AVIF results back: the samples of every shape, the properties of the
 * file, the effect of options. Without the library only the refusal is tested.
 * covers: pipeline/codecs/avif/library.c pipeline/codecs/common/argb_row.c
 * covers: pipeline/shared_library.c */
#include "pipeline/codecs/avif/library.h"
#include "tests/pipeline/codecs/made_files.h"

#include <math.h>

static struct encode_options avif_options(bool lossless, int quality) {
    struct encode_options options = encode_options_default;
    options.format = FORMAT_AVIF;
    options.lossless = lossless;
    options.quality = quality;
    return options;
}

/* A format whose library is missing is refused with advice; WebP is always there. */
static void missing_is_a_sentence(void **state) {
    (void)state;
    const char *missing = codec_missing(FORMAT_AVIF);
    assert_null(codec_missing(FORMAT_WEBP));
    assert_true(missing == avif_library_missing());
    if (missing) assert_non_null(strstr(missing, "install"));
}

#ifdef BURIN_WITH_AVIF

#include <dlfcn.h>

static struct {
    __typeof__(avifDecoderCreate) *create;
    __typeof__(avifDecoderReadMemory) *read;
    __typeof__(avifDecoderDestroy) *destroy;
} decoder;

static void *symbol(const char *name) {
    static void *library;
    if (!library) library = dlopen("libavif.so.15", RTLD_NOW);
    if (!library) library = dlopen("libavif.so.16", RTLD_NOW);
    assert_non_null(library);
    return dlsym(library, name);
}

static int open_decoder(void **state) {
    (void)state;
    if (codec_missing(FORMAT_AVIF)) return 0;
    *(void **)&decoder.create = symbol("avifDecoderCreate");
    *(void **)&decoder.read = symbol("avifDecoderReadMemory");
    *(void **)&decoder.destroy = symbol("avifDecoderDestroy");
    return !decoder.create || !decoder.read || !decoder.destroy;
}

#define NEEDS_AVIF                                                                                 \
    if (codec_missing(FORMAT_AVIF)) skip()

static struct bytes encode(const struct image *image, const struct metadata *metadata,
                           const struct encode_options *options, uint32_t *notes) {
    struct failure failure = { .message = "" };
    const size_t bound = codec_encode_bound(image, metadata, FORMAT_AVIF);
    struct bytes bytes = { malloc(bound), 0 };
    uint32_t ignored = 0;
    if (codec_encode(image, metadata, options, NULL, bytes.data, bound, &bytes.length,
                     notes ? notes : &ignored, &failure))
        fail_msg("%s", failure.message);
    assert_in_range(bytes.length, 100, bound);
    assert_memory_equal(bytes.data + 4, "ftypavif", 8);
    return bytes;
}

static avifImage *decode(const struct bytes *bytes) {
    avifImage *image = avif.image_create();
    avifDecoder *reader = decoder.create();
    assert_int_equal(decoder.read(reader, image, bytes->data, bytes->length), AVIF_RESULT_OK);
    decoder.destroy(reader);
    return image;
}

/* Sample C of R, G, B, A at X, Y in 8 bits: v / 257, rounded. */
static int expected(const struct image *image, uint32_t x, uint32_t y, unsigned c) {
    const unsigned colours = image_colours(image), channels = image->channels;
    if (c == 3 && !image_has_alpha(image)) return 255;
    const unsigned at = c == 3 ? channels - 1 : colours == 1 ? 0 : c;
    const size_t i = (size_t)x * channels + at;
    if (image->depth == 8) return image_row(image, y)[i];
    return (int)(((const uint16_t *)(const void *)image_row(image, y))[i] / 257.0 + 0.5);
}

static int sample(const avifImage *image, int plane, uint32_t x, uint32_t y) {
    return image->yuvPlanes[plane][(size_t)y * image->yuvRowBytes[plane] + x];
}

static int alpha_of(const avifImage *image, uint32_t x, uint32_t y) {
    return image->alphaPlane ? image->alphaPlane[(size_t)y * image->alphaRowBytes + x] : 255;
}

/* With the matrix "identity" the planes are green, blue and red; gray has one. */
static void assert_exact(const avifImage *read, const struct image *image) {
    const bool gray = image_colours(image) == 1;
    assert_int_equal(read->width, image->width);
    assert_int_equal(read->height, image->height);
    assert_int_equal(read->yuvFormat, gray ? AVIF_PIXEL_FORMAT_YUV400 : AVIF_PIXEL_FORMAT_YUV444);
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            assert_int_equal(sample(read, 0, x, y), expected(image, x, y, 1));
            assert_int_equal(alpha_of(read, x, y), expected(image, x, y, 3));
            if (gray) continue;
            assert_int_equal(sample(read, 1, x, y), expected(image, x, y, 2));
            assert_int_equal(sample(read, 2, x, y), expected(image, x, y, 0));
        }
}

static void lossless_keeps_every_sample(void **state) {
    (void)state;
    NEEDS_AVIF;
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 9 }, { 17, 1 }, { 123, 66 } };
    for (unsigned i = 0; i < 4 * 4 * 2; i++) {
        const unsigned channels = 1 + i % 4, depth = i / 4 % 2 ? 16 : 8;
        struct image image = new_noise(sizes[i / 8][0], sizes[i / 8][1], channels, depth, i);
        const struct encode_options options = avif_options(true, 1);
        uint32_t notes = 0;
        struct bytes bytes = encode(&image, NULL, &options, &notes);
        avifImage *read = decode(&bytes);
        assert_exact(read, &image);
        assert_int_equal(notes, depth == 16 ? NOTE_DEPTH_CUT : 0);
        avif.image_destroy(read);
        free(bytes.data);
        free(image.pixels);
    }
}

/* ---- colours by JFIF in doubles, of each pixel or of the mean of pixels that share chroma */

static void mean_of(const struct image *image, uint32_t x, uint32_t y, uint32_t side,
                    double rgb[3]) {
    for (unsigned c = 0; c < 3; c++) {
        rgb[c] = 0;
        for (uint32_t i = 0; i < side * side; i++) {
            const uint32_t px = x * side + i % side, py = y * side + i / side;
            rgb[c] += expected(image, px < image->width ? px : image->width - 1,
                               py < image->height ? py : image->height - 1, c);
        }
        rgb[c] /= side * side;
    }
}

/* Largest difference between READ and what its planes should be. */
static double worst(const avifImage *read, const struct image *image, uint32_t side) {
    static const double rows[3][3] = { { 0.299, 0.587, 0.114 },
                                       { -0.168735892, -0.331264108, 0.5 },
                                       { 0.5, -0.418687589, -0.081312411 } };
    double most = 0, rgb[3];
    for (int plane = 0; plane < 3; plane++) {
        const uint32_t by = plane ? side : 1;
        for (uint32_t y = 0; y < (image->height + by - 1) / by; y++)
            for (uint32_t x = 0; x < (image->width + by - 1) / by; x++) {
                mean_of(image, x, y, by, rgb);
                double value = plane ? 128 : 0;
                for (int c = 0; c < 3; c++) value += rows[plane][c] * rgb[c];
                const double off = fabs(sample(read, plane, x, y) - value);
                if (off > most) most = off;
            }
    }
    return most;
}

/* Nearly lossless: no plane is off by more than rounding and a step or two. */
static void colours_are_those_of_jpeg(void **state) {
    (void)state;
    NEEDS_AVIF;
    static const uint32_t sizes[][2] = { { 1, 1 }, { 2, 2 }, { 33, 19 }, { 64, 40 } };
    for (unsigned i = 0; i < 4; i++) {
        struct image image = new_waves(sizes[i][0], sizes[i][1], 3);
        struct encode_options options = avif_options(false, 100);
        struct bytes bytes = encode(&image, NULL, &options, NULL);
        avifImage *read = decode(&bytes);
        assert_int_equal(read->yuvFormat, AVIF_PIXEL_FORMAT_YUV444);
        assert_int_equal(read->yuvRange, AVIF_RANGE_FULL);
        assert_int_equal(read->matrixCoefficients, AVIF_MATRIX_COEFFICIENTS_BT601);
        assert_int_equal(read->colorPrimaries, AVIF_COLOR_PRIMARIES_BT709);
        assert_int_equal(read->transferCharacteristics, AVIF_TRANSFER_CHARACTERISTICS_SRGB);
        assert_true(worst(read, &image, 1) < 4);
        avif.image_destroy(read);
        free(bytes.data);
        free(image.pixels);
    }
}

/* Even and odd sides of a plain picture: its chroma is one number, at the rim too. */
static void below_90_chroma_is_halved(void **state) {
    (void)state;
    NEEDS_AVIF;
    for (uint32_t width = 1; width < 20; width += 3) {
        struct image image = new_image(width, 21 - width, 3, 8);
        for (uint32_t y = 0; y < image.height; y++)
            for (uint32_t x = 0; x < image.width; x++)
                memcpy(image_row(&image, y) + 3 * (size_t)x, "\xc8\x32\x14", 3);
        for (int quality = 89; quality <= 90; quality++) {
            const struct encode_options options = avif_options(false, quality);
            struct bytes bytes = encode(&image, NULL, &options, NULL);
            avifImage *read = decode(&bytes);
            assert_int_equal(read->yuvFormat,
                             quality < 90 ? AVIF_PIXEL_FORMAT_YUV420 : AVIF_PIXEL_FORMAT_YUV444);
            assert_true(worst(read, &image, quality < 90 ? 2 : 1) < 3);
            avif.image_destroy(read);
            free(bytes.data);
        }
        free(image.pixels);
    }
}

static void gray_is_luma_and_alpha_loses_nothing(void **state) {
    (void)state;
    NEEDS_AVIF;
    for (unsigned channels = 1; channels <= 4; channels++) {
        struct image image = new_noise(70, 50, channels, 8, channels);
        const struct encode_options options = avif_options(false, 60);
        struct bytes bytes = encode(&image, NULL, &options, NULL);
        avifImage *read = decode(&bytes);
        assert_int_equal(read->yuvFormat,
                         channels < 3 ? AVIF_PIXEL_FORMAT_YUV400 : AVIF_PIXEL_FORMAT_YUV420);
        assert_int_equal(!read->alphaPlane, !image_has_alpha(&image));
        for (uint32_t y = 0; y < 50; y++)
            for (uint32_t x = 0; x < 70; x++)
                assert_int_equal(alpha_of(read, x, y), expected(&image, x, y, 3));
        avif.image_destroy(read);
        free(bytes.data);
        free(image.pixels);
    }
}

/* ---- what is carried, and what options do */

static void check_profile(unsigned channels, const char *space, bool fits) {
    struct bytes profile = new_profile(501, space);
    const struct metadata metadata = { .profile = profile.data, .profile_length = profile.length };
    struct image image = new_waves(41, 30, channels);
    const struct encode_options options = avif_options(false, 80);
    uint32_t notes = 0;
    struct bytes bytes = encode(&image, &metadata, &options, &notes);
    avifImage *read = decode(&bytes);
    assert_int_equal(notes, fits ? 0 : NOTE_PROFILE_DROPPED);
    assert_int_equal(read->icc.size, fits ? profile.length : 0);
    if (fits) assert_memory_equal(read->icc.data, profile.data, profile.length);
    avif.image_destroy(read);
    free(bytes.data);
    free(image.pixels);
    free(profile.data);
}

static void profiles_are_carried(void **state) {
    (void)state;
    NEEDS_AVIF;
    check_profile(3, "RGB ", true);
    check_profile(4, "RGB ", true);
    check_profile(1, "GRAY", true);
    check_profile(1, "RGB ", false);
}

static void the_same_gives_the_same(void **state) {
    (void)state;
    NEEDS_AVIF;
    struct image image = new_noise(60, 50, 4, 8, 5), other = new_waves(90, 70, 3);
    for (int effort = 0; effort <= 6; effort++) {
        struct encode_options options = avif_options(effort == 3, 70);
        options.effort = effort;
        struct bytes one = encode(&image, NULL, &options, NULL);
        free(encode(&other, NULL, &options, NULL).data);
        struct bytes two = encode(&image, NULL, &options, NULL);
        assert_int_equal(one.length, two.length);
        assert_memory_equal(one.data, two.data, one.length);
        free(one.data);
        free(two.data);
    }
    free(image.pixels);
    free(other.pixels);
}

/* Some of the 64 quantizers serve two qualities. */
static void quality_and_effort_change_the_size(void **state) {
    (void)state;
    NEEDS_AVIF;
    struct image image = new_noise(120, 90, 3, 8, 1);
    size_t before = 0, sizes[7];
    for (int quality = 1; quality <= 100; quality += 9) {
        const struct encode_options options = avif_options(false, quality);
        struct bytes bytes = encode(&image, NULL, &options, NULL);
        assert_true(bytes.length > before);
        before = bytes.length;
        free(bytes.data);
    }
    struct image waves = new_waves(300, 200, 3);
    for (int effort = 0; effort <= 6; effort++) {
        struct encode_options options = avif_options(false, 85);
        options.effort = effort;
        struct bytes bytes = encode(&waves, NULL, &options, NULL);
        sizes[effort] = bytes.length;
        free(bytes.data);
    }
    assert_true(sizes[0] == sizes[1] && sizes[2] == sizes[4] && sizes[4] < sizes[0]);
    free(waves.pixels);
    free(image.pixels);
}

static void a_quality_is_searched_for(void **state) {
    (void)state;
    NEEDS_AVIF;
    struct image image = new_noise(100, 80, 3, 8, 2);
    struct encode_options options = avif_options(false, 85);
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
    assert_in_range(fitting.quality, 20, 84);
    options.min_quality = 84;
    assert_int_equal(codec_encode_fitting(&image, NULL, &options, NULL, whole.data, whole.length,
                                          &length, &fitting, &notes, &failure),
                     STATUS_TOO_LARGE);
    options.lossless = true;
    assert_int_equal(codec_encode_fitting(&image, NULL, &options, NULL, whole.data, whole.length,
                                          &length, &fitting, &notes, &failure),
                     STATUS_TOO_LARGE);
    free(whole.data);
    free(image.pixels);
}

static void who_has_no_room_or_no_time(void **state) {
    (void)state;
    NEEDS_AVIF;
    struct image image = new_noise(100, 80, 3, 8, 2);
    const struct encode_options options = avif_options(false, 85);
    struct progress progress = { .cancelled = 1 };
    struct failure failure = { .message = "" };
    uint8_t bytes[500];
    uint32_t notes = 0;
    size_t length;
    assert_int_equal(
        codec_encode(&image, NULL, &options, NULL, bytes, sizeof bytes, &length, &notes, &failure),
        STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "500 bytes"));
    assert_int_equal(codec_encode(&image, NULL, &options, &progress, bytes, sizeof bytes, &length,
                                  &notes, &failure),
                     STATUS_CANCELLED);
    free(image.pixels);
}

/* Nothing takes longer than noise: not what comes again everywhere. */
static void noise_takes_longest(void **state) {
    (void)state;
    NEEDS_AVIF;
    struct image image = new_noise(640, 640, 3, 8, 2);
    struct encode_options options = avif_options(false, 60);
    options.effort = 5;
    double ms[2];
    for (int i = 0; i < 2; i++) {
        const double before = thread_cpu_ms();
        free(encode(&image, NULL, &options, NULL).data);
        ms[i] = thread_cpu_ms() - before;
        for (uint32_t y = 0; y < image.height; y++)
            for (uint32_t x = 0; x < image.width * 3; x++)
                image_row(&image, y)[x] = (x / 3 + y) & 1 ? 255 : 0;
    }
    assert_true(ms[1] < ms[0]);
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_is_a_sentence),
        cmocka_unit_test(lossless_keeps_every_sample),
        cmocka_unit_test(colours_are_those_of_jpeg),
        cmocka_unit_test(below_90_chroma_is_halved),
        cmocka_unit_test(gray_is_luma_and_alpha_loses_nothing),
        cmocka_unit_test(profiles_are_carried),
        cmocka_unit_test(the_same_gives_the_same),
        cmocka_unit_test(quality_and_effort_change_the_size),
        cmocka_unit_test(a_quality_is_searched_for),
        cmocka_unit_test(who_has_no_room_or_no_time),
        cmocka_unit_test(noise_takes_longest),
    };
    return cmocka_run_group_tests(tests, open_decoder, NULL);
}

#else

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(missing_is_a_sentence) };
    (void)avif_options;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
