// SPDX-License-Identifier: Apache-2.0
/* Bytes of TIFFs made by hand by TIFF 6.0: every cut, bytes that pixels need at least, runs across
 * rows, memory, and jobs that are not wanted any more. What pixels look like is tested by
 * tests/http/test_tiff_in.py. */
#include "tests/pipeline/codecs/made_files.h"

enum { LONG = 4, HEAD = 8, ENTRY = 12, ENTRIES = 11 };

struct recipe {
    uint32_t width, height, strip_rows, samples, compression;
    const char *data; /* one strip, or all of equal length */
    size_t length;
};

static void put(uint8_t *to, uint32_t number, unsigned size) {
    for (unsigned i = 0; i < size; i++) to[i] = (uint8_t)(number >> (8 * i));
}

/* The directory first, so that a cut may leave it whole; two strips at most, of the same bytes. */
static struct bytes make_tiff(const struct recipe *recipe) {
    const uint32_t data = HEAD + 2 + ENTRIES * ENTRY + 4 + 16;
    const uint32_t strips = (recipe->height + recipe->strip_rows - 1) / recipe->strip_rows;
    const uint32_t lists = data - 16;
    const uint32_t tags[ENTRIES][3] = {
        { 256, 1, recipe->width },
        { 257, 1, recipe->height },
        { 258, 1, 8 },
        { 259, 1, recipe->compression },
        { 262, 1, 1 },
        { 273, strips, strips > 1 ? lists : data },
        { 277, 1, recipe->samples },
        { 278, 1, recipe->strip_rows },
        { 279, strips, strips > 1 ? lists + 8 : (uint32_t)recipe->length },
        { 284, 1, 1 },
        { 317, 1, 1 },
    };
    struct bytes bytes = { calloc(1, data + recipe->length), data + recipe->length };
    memcpy(bytes.data, "II*\0\x08\0\0\0", HEAD);
    put(bytes.data + HEAD, ENTRIES, 2);
    for (int i = 0; i < ENTRIES; i++) {
        uint8_t *entry = bytes.data + HEAD + 2 + ENTRY * i;
        put(entry, tags[i][0], 2);
        put(entry + 2, LONG, 2);
        put(entry + 4, tags[i][1], 4);
        put(entry + 8, tags[i][2], 4);
    }
    for (uint32_t i = 0; i < 2; i++) {
        put(bytes.data + lists + 4 * i, data, 4);
        put(bytes.data + lists + 8 + 4 * i, (uint32_t)recipe->length, 4);
    }
    memcpy(bytes.data + data, recipe->data, recipe->length);
    return bytes;
}

#define DATA(text) text, sizeof(text) - 1

/* 15 bytes of 7: raw, as runs, by LZW's codes 256, 7, 258 to 261, 257, and stored by deflate. */
static const struct recipe sevens[] = {
    { 5, 3, 3, 1, 1, DATA("\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7") },
    { 5, 3, 3, 1, 32773, DATA("\x80\xfd\7\x02\7\7\7\x80\xf9\7") },
    { 5, 3, 3, 1, 5, DATA("\x80\x01\xe0\x50\x38\x24\x16\x02") },
    { 5, 3, 3, 1, 8,
      DATA("\x78\x01\x01\x0f\0\xf0\xff\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\x03\x57\0\x6a") },
};
enum { SEVENS = sizeof sevens / sizeof *sevens };

static void test_runs_across_rows(void **state) {
    (void)state;
    for (int i = 0; i < SEVENS; i++) {
        struct bytes bytes = make_tiff(&sevens[i]);
        uint32_t notes = 0;
        struct image image = must_decode(&bytes, NULL, &notes);
        assert_int_equal(notes, 0);
        for (uint32_t y = 0; y < 3; y++) assert_memory_equal(image_row(&image, y), "\7\7\7\7\7", 5);
        free(image.pixels);
        free(bytes.data);
    }
}

/* LZW's last code only ends the data, and is not missed. */
static void test_cuts(void **state) {
    (void)state;
    for (int i = 0; i < SEVENS; i++) {
        struct bytes bytes = make_tiff(&sevens[i]);
        bytes.length -= sevens[i].compression == 5 ? 1 : 0;
        assert_every_cut_corrupt(&bytes);
        free(bytes.data);
    }
}

static struct probe probe_of(const struct recipe *recipe) {
    struct bytes bytes = make_tiff(recipe);
    struct probe probe;
    assert_int_equal(
        probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
        STATUS_OK);
    free(bytes.data);
    return probe;
}

/* Raw bytes are counted; 128 of PackBits take two, 1032 of deflate one, and a code of LZW's 12 bits
 * stands for 4096 at most. */
static void test_bombs(void **state) {
    (void)state;
    static const struct {
        uint32_t compression;
        uint64_t least;
    } cases[] = { { 1, 64000000 }, { 32773, 1000000 }, { 8, 62015 }, { 5, 23437 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct recipe recipe = { 8000, 8000, 8000, 1, cases[i].compression, DATA("abc") };
        const struct probe probe = probe_of(&recipe);
        assert_int_equal(probe.data_bytes, 3);
        assert_int_equal(probe.data_bytes_least, cases[i].least);
        assert_int_equal(probe_check_data(&probe, true, NULL), STATUS_CORRUPT);
    }
}

/* Bytes that the pixels cannot need do not count: they are not read. */
static void test_needless_bytes(void **state) {
    (void)state;
    static const char data[5000];
    assert_int_equal(probe_of(&(struct recipe){ 5, 3, 3, 1, 1, data, 5000 }).data_bytes, 15);
    assert_int_equal(probe_of(&(struct recipe){ 5, 3, 3, 1, 8, data, 5000 }).data_bytes,
                     2 * 15 + 1024);
}

/* Two strips of the same bytes are more than the file: a byte for 32768 pixels must be there. */
static void test_shared_bytes(void **state) {
    (void)state;
    char data[600] = { 0 };
    const struct recipe recipe = { 300, 4, 2, 1, 1, data, sizeof data };
    const struct probe probe = probe_of(&recipe);
    assert_int_equal(probe.data_bytes, HEAD + 2 + ENTRIES * ENTRY + 4 + 16 + 600);
    assert_int_equal(probe.data_bytes_least, 0);
    const struct probe large =
        probe_of(&(struct recipe){ 8000, 8000, 4000, 1, 5, data, sizeof data });
    assert_int_equal(large.data_bytes_least, 8000 * 8000 / 32768);
    assert_int_equal(probe_check_data(&large, false, NULL), STATUS_CORRUPT);
}

static void test_memory(void **state) {
    (void)state;
    struct bytes bytes = make_tiff(&sevens[2]);
    struct codec_limits limits = codec_limits_default;
    struct failure failure;
    struct image image;
    uint32_t notes = 0;
    limits.memory_max = 5000;
    assert_int_equal(try_decode(&bytes, &limits, &image, NULL, &notes, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "codec_memory_bytes"));
    free(bytes.data);
}

static void test_stopped(void **state) {
    (void)state;
    struct progress cancelled = { .cancelled = 1 }, late = { .deadline_ns = 1 };
    for (int i = 0; i < SEVENS; i++) {
        struct bytes bytes = make_tiff(&sevens[i]);
        const struct probe probe = probe_of(&sevens[i]);
        struct image image = new_image(5, 3, 1, 8);
        uint32_t notes = 0;
        assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default,
                                      &cancelled, &image, NULL, &notes, NULL),
                         STATUS_CANCELLED);
        assert_int_equal(codec_decode(bytes.data, bytes.length, &probe, &codec_limits_default,
                                      &late, &image, NULL, &notes, NULL),
                         STATUS_DEADLINE);
        free(image.pixels);
        free(bytes.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_across_rows),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_shared_bytes),
        cmocka_unit_test(test_needless_bytes),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
