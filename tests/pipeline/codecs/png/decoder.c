// SPDX-License-Identifier: Apache-2.0
/* Every kind of PNG as libpng itself reads it; broken, cut and damaged ones.
 * covers: pipeline/codecs/common/oriented_rows.c pipeline/codecs/png/expand.c
 *         pipeline/codecs/png/parts.c pipeline/codecs/png/stream.c */
#include "tests/pipeline/codecs/made_files.h"

#include <sys/resource.h>

static const struct {
    int type, depth;
} kinds[] = {
    { PNG_COLOR_TYPE_GRAY, 1 },        { PNG_COLOR_TYPE_GRAY, 2 },
    { PNG_COLOR_TYPE_GRAY, 4 },        { PNG_COLOR_TYPE_GRAY, 8 },
    { PNG_COLOR_TYPE_GRAY, 16 },       { PNG_COLOR_TYPE_RGB, 8 },
    { PNG_COLOR_TYPE_RGB, 16 },        { PNG_COLOR_TYPE_PALETTE, 1 },
    { PNG_COLOR_TYPE_PALETTE, 2 },     { PNG_COLOR_TYPE_PALETTE, 4 },
    { PNG_COLOR_TYPE_PALETTE, 8 },     { PNG_COLOR_TYPE_GRAY_ALPHA, 8 },
    { PNG_COLOR_TYPE_GRAY_ALPHA, 16 }, { PNG_COLOR_TYPE_RGB_ALPHA, 8 },
    { PNG_COLOR_TYPE_RGB_ALPHA, 16 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void check_kind(const struct png_recipe *recipe) {
    struct bytes bytes = make_png(recipe);
    struct image upright = must_decode(&bytes, NULL, NULL), stored = plain_png(&bytes);
    assert_int_equal(upright.depth, recipe->depth == 16 ? 16 : 8);
    if (recipe->orientation > 1)
        assert_turned(&upright, &stored, recipe->orientation);
    else
        assert_same(&upright, &stored);
    free(upright.pixels);
    free(stored.pixels);
    free(bytes.data);
}

static void test_every_kind_equals_libpng(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 7 }, { 7, 1 }, { 13, 42 }, { 123, 66 } };
    for (int k = 0; k < KINDS; k++) {
        for (int variant = 0; variant < 5 * 4; variant++) {
            const bool transparent = variant & 1, interlaced = variant >> 1 & 1;
            if (transparent && kinds[k].type & PNG_COLOR_MASK_ALPHA) continue;
            check_kind(&(struct png_recipe){ .width = sizes[variant / 4][0],
                                             .height = sizes[variant / 4][1],
                                             .type = kinds[k].type,
                                             .depth = kinds[k].depth,
                                             .interlaced = interlaced,
                                             .transparent = transparent,
                                             .seed = (uint32_t)(k * 100 + variant) });
        }
    }
}

static void test_eight_orientations(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (unsigned orientation = 1; orientation <= 8; orientation++)
            for (int interlaced = 0; interlaced < 2; interlaced++)
                check_kind(&(struct png_recipe){ .width = 37,
                                                 .height = 21,
                                                 .type = kinds[k].type,
                                                 .depth = kinds[k].depth,
                                                 .interlaced = interlaced,
                                                 .orientation = orientation });
}

static void test_memory_is_bounded(void **state) {
    (void)state;
    struct png_recipe recipe = { .width = 500,
                                 .height = 400,
                                 .type = PNG_COLOR_TYPE_RGB,
                                 .depth = 8,
                                 .interlaced = true,
                                 .orientation = 6 };
    struct bytes bytes = make_png(&recipe);
    struct codec_limits limits = codec_limits_default;
    struct image image;
    struct failure failure;
    uint32_t notes = 0;
    limits.memory_max = 200000; /* the frame alone is 600,000 bytes, and is not needed */
    assert_int_equal(try_decode(&bytes, &limits, &image, NULL, &notes, &failure), STATUS_OK);
    free(image.pixels);
    limits.memory_max = 150000; /* not even two windows and a row */
    assert_int_equal(try_decode(&bytes, &limits, &image, NULL, &notes, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "codec_memory_bytes"));
    free(bytes.data);
}

static void test_profile_is_carried(void **state) {
    (void)state;
    struct bytes profile = new_profile(30000, "RGB ");
    struct png_recipe recipe = {
        .width = 9, .height = 9, .type = PNG_COLOR_TYPE_RGB, .depth = 8, .profile = &profile
    };
    struct bytes bytes = make_png(&recipe);
    struct metadata metadata = { 0 };
    uint32_t notes = 0;
    struct image image = must_decode(&bytes, &metadata, &notes);
    assert_int_equal(notes, 0);
    assert_int_equal(metadata.profile_length, profile.length);
    assert_memory_equal(metadata.profile, profile.data, profile.length);
    metadata_release(&metadata);
    free(image.pixels);
    struct codec_limits limits = codec_limits_default;
    limits.profile_max = 1000;
    assert_int_equal(try_decode(&bytes, &limits, &image, &metadata, &notes, NULL), STATUS_OK);
    assert_int_equal(notes, NOTE_PROFILE_DROPPED);
    assert_null(metadata.profile);
    free(image.pixels);
    free(bytes.data);
    free(profile.data);
}

static void test_cuts_are_corrupt(void **state) {
    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        struct png_recipe recipe = {
            .width = 60, .height = 50, .type = PNG_COLOR_TYPE_RGB, .depth = 8
        };
        recipe.interlaced = interlaced;
        struct bytes bytes = make_png(&recipe);
        const size_t whole = bytes.length - 12; /* without IEND */
        bytes.length = whole;
        assert_every_cut_corrupt(&bytes);
        for (; bytes.length < whole + 12; bytes.length++) {
            uint32_t notes = 0;
            struct image image = must_decode(&bytes, NULL, &notes);
            assert_int_equal(notes, NOTE_PARTS_LEFT_OUT);
            free(image.pixels);
        }
        free(bytes.data);
    }
}

/* Does READ hold the first ROWS of STORED's, and 0 in place of the others? */
static bool holds_rows(const struct image *read, const struct image *stored, unsigned orientation,
                       uint32_t rows) {
    static const uint8_t black[3];
    for (uint32_t y = 0; y < read->height; y++)
        for (uint32_t x = 0; x < read->width; x++) {
            uint32_t from_x, from_y;
            stored_place(orientation, read->width, read->height, x, y, &from_x, &from_y);
            if (memcmp(image_row(read, y) + 3 * x,
                       from_y < rows ? image_row(stored, from_y) + 3 * from_x : black, 3) != 0)
                return false;
        }
    return true;
}

/* Accepted, a file cut to LENGTH gives the rows that came; how many, or 0: it is refused. */
static uint32_t accepted_rows(const struct bytes *bytes, size_t length, unsigned orientation,
                              const struct image *stored) {
    struct bytes cut = { malloc(length), length };
    struct image read;
    uint32_t notes, rows = 1;
    char warning[WARNING_MAX];
    memcpy(cut.data, bytes->data, length);
    const enum status status = take_damaged(&cut, &read, &notes, warning);
    free(cut.data);
    assert_true(status == STATUS_OK || status == STATUS_CORRUPT);
    if (status) return 0;
    assert_int_equal(notes, NOTE_DAMAGED);
    assert_true(strlen(warning) > 5);
    while (rows <= stored->height && !holds_rows(&read, stored, orientation, rows)) rows++;
    assert_in_range(rows, 1, stored->height);
    free(read.pixels);
    return rows;
}

static void test_accepted_cuts_are_the_rows_that_came(void **state) {
    (void)state;
    for (unsigned orientation = 1; orientation <= 8; orientation++) {
        struct png_recipe recipe = { .width = 60,
                                     .height = 50,
                                     .type = PNG_COLOR_TYPE_RGB,
                                     .depth = 8,
                                     .orientation = orientation };
        struct bytes bytes = make_png(&recipe);
        struct image stored = plain_png(&bytes);
        uint32_t most = 0;
        for (size_t length = 200; length < bytes.length; length += 331) {
            const uint32_t rows = accepted_rows(&bytes, length, orientation, &stored);
            assert_true(rows >= most);
            most = rows;
        }
        assert_in_range(most, 40, 50);
        /* No more than the checksum of IDAT is lost, and IEND. */
        assert_int_equal(accepted_rows(&bytes, bytes.length - 14, orientation, &stored), 50);
        free(stored.pixels);
        free(bytes.data);
    }
}

/* Pixels of the passes that came are there, the others 0. */
static void test_accepted_cut_of_an_interlaced_one(void **state) {
    (void)state;
    for (unsigned orientation = 1; orientation <= 6; orientation += 5) {
        struct png_recipe recipe = { .width = 64,
                                     .height = 64,
                                     .type = PNG_COLOR_TYPE_RGB,
                                     .depth = 8,
                                     .interlaced = true,
                                     .orientation = orientation };
        struct bytes bytes = make_png(&recipe);
        struct image stored = plain_png(&bytes), read;
        uint32_t notes, wrong = 0;
        char warning[WARNING_MAX];
        bytes.length = bytes.length * 3 / 4;
        assert_int_equal(take_damaged(&bytes, &read, &notes, warning), STATUS_OK);
        assert_int_equal(notes, NOTE_DAMAGED);
        for (uint32_t y = 0; y < 64; y++)
            for (uint32_t x = 0; x < 64; x++) {
                uint32_t from_x, from_y;
                stored_place(orientation, 64, 64, x, y, &from_x, &from_y);
                const uint8_t *got = image_row(&read, y) + 3 * x;
                if (memcmp(got, image_row(&stored, from_y) + 3 * from_x, 3) == 0) continue;
                assert_memory_equal(got, "\0\0", 3);
                wrong++;
            }
        assert_in_range(wrong, 500, 1500); /* of 4096, a quarter */
        free(read.pixels);
        free(stored.pixels);
        free(bytes.data);
    }
}

/* A wrong checksum over sound bytes. */
static void test_accepted_checksums(void **state) {
    (void)state;
    static const char *const names[] = { "IHDR", "PLTE", "tRNS", "IDAT" };
    struct png_recipe recipe = {
        .width = 20, .height = 10, .type = PNG_COLOR_TYPE_PALETTE, .depth = 8, .transparent = true
    };
    struct bytes bytes = make_png(&recipe);
    struct image expected = plain_png(&bytes);
    for (int i = 0; i < 4; i++) {
        uint8_t *name = memmem(bytes.data, bytes.length, names[i], 4);
        assert_non_null(name);
        const size_t length = (size_t)name[-2] << 8 | name[-1];
        struct image read;
        uint32_t notes;
        char warning[WARNING_MAX];
        name[4 + length] ^= 1;
        const enum status status = take_damaged(&bytes, &read, &notes, warning);
        name[4 + length] ^= 1;
        assert_int_equal(status, STATUS_OK);
        assert_int_equal(notes, NOTE_DAMAGED);
        assert_non_null(strstr(warning, names[i]));
        assert_same(&read, &expected);
        free(read.pixels);
    }
    free(expected.pixels);
    free(bytes.data);
}

/* Every byte lies under some checksum, or is a length: pixels are right, and noted, or refused. */
static void test_flipped_bits(void **state) {
    (void)state;
    struct png_recipe recipe = {
        .width = 20, .height = 10, .type = PNG_COLOR_TYPE_PALETTE, .depth = 8, .orientation = 1
    };
    struct bytes bytes = make_png(&recipe);
    struct image expected = plain_png(&bytes);
    const uint8_t *exif = memmem(bytes.data, bytes.length, "eXIf", 4);
    const size_t after = (size_t)(exif - bytes.data) - 4;
    for (size_t at = 8; at < bytes.length; at++) {
        struct image image;
        uint32_t notes = 0;
        bytes.data[at] ^= 0x10;
        const enum status status =
            try_decode(&bytes, &codec_limits_default, &image, NULL, &notes, NULL);
        bytes.data[at] ^= 0x10;
        if ((at >= after && at < after + 38) || at >= bytes.length - 12) {
            if (status == STATUS_OK) {
                assert_int_equal(notes, NOTE_PARTS_LEFT_OUT);
                assert_same(&image, &expected);
                free(image.pixels);
                continue;
            }
            assert_in_range(at, after + 4, after + 7); /* as a chunk that pixels may need */
        }
        assert_true(status == STATUS_CORRUPT || status == STATUS_TOO_LARGE);
    }
    free(expected.pixels);
    free(bytes.data);
}

static int64_t processor_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec * INT64_C(1000000) + usage.ru_utime.tv_usec;
}

/* 26 million empty blocks, which hold no pixel, take seconds: the deadline ends them. */
static void test_empty_blocks_end_at_the_deadline(void **state) {
    (void)state;
    enum { LENGTH = 32 << 20 };
    struct png_recipe recipe = { .width = 9, .height = 9, .type = PNG_COLOR_TYPE_RGB, .depth = 8 };
    struct bytes one = make_png(&recipe);
    uint8_t *blocks = calloc(1, LENGTH + 16);
    const uint64_t four = 2 | 2 << 10 | 2 << 20 | UINT64_C(2) << 30; /* of 10 bits, fixed codes */
    memcpy(blocks, "\x78\x01", 2);
    for (size_t at = 2; at < LENGTH; at += 5) memcpy(blocks + at, &four, sizeof four);
    struct bytes bytes = insert_chunk(&one, "IDAT", blocks, LENGTH, 1);
    struct progress progress = { .deadline_ns = clock_coarse_ns() + 50000000 };
    struct probe probe;
    struct failure failure;
    uint32_t notes = 0;
    assert_int_equal(
        probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, &failure),
        STATUS_OK);
    struct image image = new_image(9, 9, 3, 8);
    const int64_t start = processor_us();
    assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default,
                                  &progress, &image, NULL, &notes, &failure),
                     STATUS_DEADLINE);
    assert_true(processor_us() - start < 1000000);
    free(image.pixels);
    free(blocks);
    free(bytes.data);
    free(one.data);
}

static long resident_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void test_text_bomb_is_cheap(void **state) {
    (void)state;
    struct png_recipe recipe = {
        .width = 1, .height = 1, .type = PNG_COLOR_TYPE_RGB, .depth = 8, .text_bytes = 7900000
    };
    struct bytes one = make_png(&recipe);
    const uint8_t *text = memmem(one.data, one.length, "zTXt", 4);
    assert_non_null(text);
    struct bytes bytes =
        insert_chunk(&one, "zTXt", text + 4, (size_t)text[-2] << 8 | text[-1], 119);
    assert_in_range(bytes.length, 900000, 1000000);
    const long before = resident_kib();
    const int64_t start = processor_us();
    struct image image = must_decode(&bytes, NULL, NULL);
    assert_true(processor_us() - start < 500000); /* 0.5 s; libpng's defaults take 2.6 s */
    assert_true(resident_kib() - before < 4096);  /* and 943 MB */
    free(image.pixels);
    free(bytes.data);
    free(one.data);
}

/* Far over what libpng may keep of a chunk, and skipped. */
static void test_large_chunks_are_skipped(void **state) {
    (void)state;
    struct png_recipe recipe = { .width = 9, .height = 9, .type = PNG_COLOR_TYPE_RGB, .depth = 8 };
    struct bytes plain = make_png(&recipe);
    uint8_t *text = calloc(1, 1000000);
    memset(text, 'a', 20);
    static const char *const names[] = { "tEXt", "iTXt", "sPLT", "eXIf", "prVt" };
    for (int i = 0; i < 5; i++) {
        struct bytes bytes = insert_chunk(&plain, names[i], text, 1000000, 2);
        struct image image = must_decode(&bytes, NULL, NULL), expected = plain_png(&plain);
        assert_same(&image, &expected);
        free(image.pixels);
        free(expected.pixels);
        free(bytes.data);
    }
    free(text);
    free(plain.data);
}

/* The pixels are whole and every CRC is right, but the stream's own checksum is not. */
static void test_wrong_adler_is_corrupt(void **state) {
    (void)state;
    struct png_recipe recipe = { .width = 9, .height = 9, .type = PNG_COLOR_TYPE_RGB, .depth = 8 };
    struct bytes bytes = make_png(&recipe);
    uint8_t *idat = memmem(bytes.data, bytes.length, "IDAT", 4);
    const size_t length = (size_t)idat[-2] << 8 | idat[-1];
    idat[4 + length - 1] ^= 1;
    const uint32_t crc = chunk_crc(idat, length + 4);
    for (int i = 0; i < 4; i++) idat[4 + length + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    struct image image;
    struct failure failure;
    uint32_t notes = 0;
    assert_int_equal(try_decode(&bytes, &codec_limits_default, &image, NULL, &notes, &failure),
                     STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "IDAT"));
    free(bytes.data);
}

static void test_first_frame_of_an_animation(void **state) {
    (void)state;
    struct png_recipe recipe = { .width = 8, .height = 8, .type = PNG_COLOR_TYPE_RGB, .depth = 8 };
    struct bytes still = make_png(&recipe);
    for (uint8_t frames = 1; frames <= 2; frames++) {
        const uint8_t control[8] = { 0, 0, 0, frames };
        struct bytes bytes = insert_chunk(&still, "acTL", control, sizeof control, 1);
        uint32_t notes = 0;
        struct image image = must_decode(&bytes, NULL, &notes), plain = plain_png(&still);
        assert_int_equal(notes, frames > 1 ? NOTE_FIRST_FRAME : 0);
        assert_same(&image, &plain);
        free(image.pixels);
        free(plain.pixels);
        free(bytes.data);
    }
    free(still.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_bomb_is_cheap), /* first: it looks at the peak of memory */
        cmocka_unit_test(test_every_kind_equals_libpng),
        cmocka_unit_test(test_eight_orientations),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_profile_is_carried),
        cmocka_unit_test(test_cuts_are_corrupt),
        cmocka_unit_test(test_accepted_cuts_are_the_rows_that_came),
        cmocka_unit_test(test_accepted_cut_of_an_interlaced_one),
        cmocka_unit_test(test_accepted_checksums),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_large_chunks_are_skipped),
        cmocka_unit_test(test_wrong_adler_is_corrupt),
        cmocka_unit_test(test_empty_blocks_end_at_the_deadline),
        cmocka_unit_test(test_first_frame_of_an_animation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
