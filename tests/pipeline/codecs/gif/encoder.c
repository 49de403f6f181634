// SPDX-License-Identifier: Apache-2.0
/* GIF out, read again by the reader that gif/decoder.c tests: colours that are kept, those that are
 * chosen, transparency, codes of each length, room and time. tests/http/test_gif.py compares with
 * Pillow.
 * covers: pipeline/codecs/gif/codec.h pipeline/codecs/common/palette.c */
#include "tests/pipeline/codecs/made_files.h"

static struct bytes encode(const struct image *image, uint32_t *notes) {
    struct failure failure = { .message = "" };
    struct encode_options options = encode_options_default;
    options.format = FORMAT_GIF;
    const size_t bound = codec_encode_bound(image, NULL, FORMAT_GIF);
    struct bytes bytes = { malloc(bound), 0 };
    *notes = 0;
    if (codec_encode(image, NULL, &options, NULL, bytes.data, bound, &bytes.length, notes,
                     &failure))
        fail_msg("%s", failure.message);
    assert_in_range(bytes.length, 20, bound);
    return bytes;
}

static struct image decode(const struct bytes *bytes) {
    struct failure failure = { .message = "" };
    struct probe probe;
    uint32_t notes = 0;
    if (probe_image(bytes->data, bytes->length, &codec_limits_default.probe, &probe, &failure))
        fail_msg("%s", failure.message);
    struct image image = new_image(probe.shape.width, probe.shape.height, probe.shape.channels, 8);
    if (codec_decode(bytes->data, bytes->length, &probe, &codec_limits_default, NULL, &image, NULL,
                     &notes, &failure))
        fail_msg("%s", failure.message);
    assert_int_equal(notes, 0);
    return image;
}

/* Red, green, blue and alpha as 8 bits; alpha is 0 or 255, and hides the colour. */
static void shown(const struct image *image, uint32_t x, uint32_t y, int pixel[4]) {
    const unsigned channels = image->channels;
    const uint8_t *row = image_row(image, y);
    int sample[4] = { 0 };
    for (unsigned c = 0; c < channels; c++) {
        const size_t i = (size_t)x * channels + c;
        sample[c] = image->depth == 8
                        ? row[i]
                        : (int)(((const uint16_t *)(const void *)row)[i] / 257.0 + 0.5);
    }
    const bool opaque = !image_has_alpha(image) || sample[channels - 1] >= 128;
    for (unsigned c = 0; c < 3; c++) pixel[c] = opaque ? sample[channels < 3 ? 0 : c] : 0;
    pixel[3] = opaque ? 255 : 0;
}

static void check_same(const struct image *image, const struct image *back) {
    int expected[4], pixel[4];
    assert_int_equal(back->width, image->width);
    assert_int_equal(back->height, image->height);
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            shown(image, x, y, expected);
            shown(back, x, y, pixel);
            assert_memory_equal(pixel, expected, sizeof pixel);
        }
}

/* COUNT colours that differ, at random places; the first row has them in order. */
static struct image new_few(uint32_t width, uint32_t height, unsigned channels, unsigned depth,
                            unsigned count) {
    struct image image = new_image(width, height, channels, depth);
    uint32_t seed = count * 7 + channels;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const uint32_t i = y ? next_random(&seed) % count : x % count;
            for (unsigned c = 0; c < channels; c++) {
                const bool alpha = image_has_alpha(&image) && c == channels - 1;
                const uint8_t sample = (uint8_t)(alpha ? 255 : i * (2 * c + 1));
                uint8_t *at = image_row(&image, y) + ((size_t)x * channels + c) * (depth / 8u);
                memset(at, sample, depth / 8u);
            }
        }
    return image;
}

static void up_to_256_colours_are_kept(void **state) {
    (void)state;
    static const unsigned counts[] = { 1, 2, 3, 4, 5, 16, 17, 128, 129, 255, 256 };
    static const uint32_t sizes[][2] = {
        { 1, 1 }, { 1, 300 }, { 300, 1 }, { 13, 42 }, { 256, 90 }
    };
    for (unsigned i = 0; i < 11 * 5 * 4 * 2; i++) {
        const unsigned count = counts[i % 11], channels = 1 + i / 55 % 4, depth = i < 220 ? 8 : 16;
        const uint32_t *size = sizes[i / 11 % 5];
        struct image image = new_few(size[0], size[1], channels, depth, count);
        uint32_t notes;
        struct bytes bytes = encode(&image, &notes);
        assert_int_equal(notes, depth == 16 ? NOTE_DEPTH_CUT : 0);
        struct image back = decode(&bytes);
        assert_int_equal(back.channels, channels % 2 || (count == 256 && size[0] >= 256) ? 3 : 4);
        check_same(&image, &back);
        free(back.pixels);
        free(bytes.data);
        free(image.pixels);
    }
}

/* Beside a transparent pixel there is room for 255 colours. */
static void transparency_takes_an_entry(void **state) {
    (void)state;
    for (unsigned count = 254; count <= 256; count++)
        for (unsigned alpha = 0; alpha < 256; alpha += 51) {
            struct image image = new_few(256, 9, 4, 8, count);
            uint32_t notes;
            image_row(&image, 3)[4 * 7 + 3] = (uint8_t)alpha;
            struct bytes bytes = encode(&image, &notes);
            const bool fits = count < 256 || alpha >= 128;
            assert_int_equal(notes, (fits ? 0 : NOTE_COLOURS_CUT) |
                                        (alpha && alpha < 255 ? NOTE_ALPHA_CUT : 0));
            struct image back = decode(&bytes);
            assert_int_equal(back.channels, alpha < 128 || count < 256 ? 4 : 3);
            if (fits) check_same(&image, &back);
            assert_true(fits || image_row(&back, 3)[4 * 7 + 3] == 0);
            free(back.pixels);
            free(bytes.data);
            free(image.pixels);
        }
}

/* Nothing but transparent pixels, whose colours do not count. */
static void nothing_to_see(void **state) {
    (void)state;
    struct image image = new_noise(40, 30, 4, 8, 3);
    for (uint32_t y = 0; y < 30; y++)
        for (uint32_t x = 0; x < 40; x++) image_row(&image, y)[4 * x + 3] = 0;
    uint32_t notes;
    struct bytes bytes = encode(&image, &notes);
    struct image back = decode(&bytes);
    assert_int_equal(notes, 0);
    check_same(&image, &back);
    free(back.pixels);
    free(bytes.data);
    free(image.pixels);
}

/* Each pixel of noise takes a colour that is near: with 256 of 16.7 million, a cube of 40 levels a
 * side is each one's. More colours than cells: the counts are those of coarser ones. */
static void colours_are_chosen(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 64, 5 }, { 300, 200 }, { 600, 600 } };
    for (unsigned i = 0; i < 3; i++) {
        struct image image = new_noise(sizes[i][0], sizes[i][1], 3, 8, 11 + i);
        uint32_t notes, again;
        struct bytes bytes = encode(&image, &notes), same = encode(&image, &again);
        assert_int_equal(notes, NOTE_COLOURS_CUT);
        assert_int_equal(bytes.length, same.length);
        assert_memory_equal(bytes.data, same.data, same.length);
        struct image back = decode(&bytes);
        uint64_t sum = 0;
        for (uint32_t y = 0; y < image.height; y++)
            for (uint32_t x = 0; x < 3 * image.width; x++)
                sum += (uint64_t)abs(image_row(&image, y)[x] - image_row(&back, y)[x]);
        assert_true(sum < 11 * 3 * image_pixels(&image)); /* a side of 40 is 10 off its middle */
        free(back.pixels);
        free(same.data);
        free(bytes.data);
        free(image.pixels);
    }
}

/* Two grays of many pixels and 300 of one: the many pixels keep theirs exactly. */
static void common_colours_are_kept(void **state) {
    (void)state;
    struct image image = new_image(700, 40, 3, 8);
    for (uint32_t y = 0; y < 40; y++)
        memset(image_row(&image, y), y < 20 ? 10 : 240, image_row_bytes(&image));
    for (uint32_t x = 0; x < 300; x++) {
        const uint8_t colour[] = { (uint8_t)(x * 7), (uint8_t)(x / 2), (uint8_t)(255 - x / 3) };
        memcpy(image_row(&image, 0) + 3 * x, colour, 3);
    }
    uint32_t notes;
    struct bytes bytes = encode(&image, &notes);
    struct image back = decode(&bytes);
    assert_int_equal(notes, NOTE_COLOURS_CUT);
    for (uint32_t y = 1; y < 40; y++)
        assert_memory_equal(image_row(&back, y), image_row(&image, y), image_row_bytes(&back));
    free(back.pixels);
    free(bytes.data);
    free(image.pixels);
}

/* No pair of the pixels occurs twice, so each has a code of its own: after one of 3 bits that
 * clears the table, three of 3 bits and eight of 4. The reader's entry for the last is 16, so
 * the end has 5 bits: 49 bits in all. */
static void the_end_is_as_long_as_the_reader_expects(void **state) {
    (void)state;
    static const uint8_t pixels[] = { 0, 0, 1, 0, 2, 0, 3, 1, 1, 2, 1 };
    struct image image = new_image(sizeof pixels, 1, 1, 8);
    memcpy(image.pixels, pixels, sizeof pixels);
    uint32_t notes;
    struct bytes bytes = encode(&image, &notes);
    assert_int_equal(bytes.length, 13 + 4 * 3 + 10 + 1 + 1 + 7 + 2);
    assert_int_equal(bytes.data[13 + 4 * 3 + 10 + 1], 7);
    free(bytes.data);
    free(image.pixels);
}

/* The exact bytes suffice, one less is too few, wherever the file is cut. */
static void room_is_kept(void **state) {
    (void)state;
    struct image image = new_few(61, 47, 3, 8, 200);
    struct encode_options options = encode_options_default;
    uint32_t notes;
    size_t length;
    options.format = FORMAT_GIF;
    struct bytes bytes = encode(&image, &notes);
    for (size_t room = 0; room <= bytes.length; room += bytes.length - room > 40 ? 13 : 1) {
        struct failure failure = { .message = "" };
        uint8_t *exact = malloc(room);
        assert_int_equal(
            codec_encode(&image, NULL, &options, NULL, exact, room, &length, &notes, &failure),
            room < bytes.length ? STATUS_TOO_LARGE : STATUS_OK);
        if (room == bytes.length) assert_memory_equal(exact, bytes.data, room);
        free(exact);
    }
    free(bytes.data);
    free(image.pixels);
}

static void a_profile_is_dropped(void **state) {
    (void)state;
    struct image image = new_few(5, 4, 3, 8, 3);
    struct bytes profile = new_profile(400, "RGB ");
    const struct metadata metadata = { .profile = profile.data, .profile_length = profile.length };
    struct encode_options options = encode_options_default;
    uint8_t room[2000];
    uint32_t notes = 0;
    size_t length;
    options.format = FORMAT_GIF;
    assert_int_equal(
        codec_encode(&image, &metadata, &options, NULL, room, sizeof room, &length, &notes, NULL),
        STATUS_OK);
    assert_int_equal(notes, NOTE_PROFILE_DROPPED);
    free(profile.data);
    free(image.pixels);
}

static void it_stops(void **state) {
    (void)state;
    struct image image = new_noise(300, 200, 3, 8, 1);
    struct progress cancelled = { .cancelled = true }, late = { .deadline_ns = 1 };
    struct encode_options options = encode_options_default;
    const size_t bound = codec_encode_bound(&image, NULL, FORMAT_GIF);
    uint8_t *room = malloc(bound);
    uint32_t notes = 0;
    size_t length;
    options.format = FORMAT_GIF;
    assert_int_equal(
        codec_encode(&image, NULL, &options, &cancelled, room, bound, &length, &notes, NULL),
        STATUS_CANCELLED);
    assert_int_equal(
        codec_encode(&image, NULL, &options, &late, room, bound, &length, &notes, NULL),
        STATUS_DEADLINE);
    free(room);
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_to_256_colours_are_kept),
        cmocka_unit_test(transparency_takes_an_entry),
        cmocka_unit_test(nothing_to_see),
        cmocka_unit_test(colours_are_chosen),
        cmocka_unit_test(common_colours_are_kept),
        cmocka_unit_test(room_is_kept),
        cmocka_unit_test(the_end_is_as_long_as_the_reader_expects),
        cmocka_unit_test(a_profile_is_dropped),
        cmocka_unit_test(it_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
