// SPDX-License-Identifier: Apache-2.0
/* Headers, palettes, masks, runs, profiles, cuts and damage of BMP, from bytes made by hand by
 * Microsoft's description of BITMAPINFOHEADER and its kin. */
#include "tests/pipeline/codecs/made_files.h"

enum { NOWHERE = 1 }; /* an offset of 0 */

struct recipe {
    unsigned head; /* 0: 40 */
    int width, height;
    unsigned bits, compression, used;
    const char *masks;   /* red, green, blue, alpha, each 8 digits of a number */
    const char *palette; /* hexadecimal, as stored */
    const char *data;
    unsigned offset; /* of the pixels; 0: where they are */
};

static size_t put(uint8_t *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
    return bytes;
}

static size_t put_hex(uint8_t *at, const char *hex) {
    unsigned byte;
    int used;
    size_t count = 0;
    for (; hex && sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used)
        at[count++] = (uint8_t)byte;
    return count;
}

static struct bytes make_bmp(const struct recipe *recipe) {
    const unsigned head = recipe->head ? recipe->head : 40;
    struct bytes bytes = { calloc(1, 4096), 14 + head };
    uint8_t *info = bytes.data + 14;
    memcpy(bytes.data, "BM", 2);
    put(info, head, 4);
    if (head == 12) {
        put(info + 4, (unsigned)recipe->width, 2);
        put(info + 6, (unsigned)recipe->height, 2);
        put(info + 8, 1, 2);
        put(info + 10, recipe->bits, 2);
    } else {
        put(info + 4, (unsigned)recipe->width, 4);
        put(info + 8, (unsigned)recipe->height, 4);
        put(info + 12, 1, 2);
        put(info + 14, recipe->bits, 2);
        put(info + 16, recipe->compression, 4);
        put(info + 32, recipe->used, 4);
    }
    const char *masks = recipe->masks;
    unsigned mask;
    int used;
    for (size_t at = 40; masks && sscanf(masks, " %8x%n", &mask, &used) == 1; at += 4) {
        put(info + at, mask, 4);
        if (at + 4 > head) bytes.length = 14 + at + 4;
        masks += used;
    }
    bytes.length += put_hex(bytes.data + bytes.length, recipe->palette);
    const size_t offset = recipe->offset ? recipe->offset - NOWHERE : bytes.length;
    put(bytes.data + 10, offset, 4);
    bytes.length += put_hex(bytes.data + bytes.length, recipe->data);
    bytes.data = realloc(bytes.data, bytes.length); /* sanitizers see overreads */
    return bytes;
}

/* Pixels as hexadecimal, "|" between rows. */
static void spell(const struct image *image, char *text) {
    *text = '\0';
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            text += sprintf(text, "%s", x ? " " : y ? "|" : "");
            for (unsigned c = 0; c < image->channels; c++)
                text += sprintf(text, "%02x", image_row(image, y)[x * image->channels + c]);
        }
}

/* Black, red, green and white. */
#define COLOURS      "00000000 0000ff00 00ff0000 ffffff00"
#define CORE_COLOURS "000000 0000ff 00ff00 ffffff"
#define K            "000000"
#define R            "ff0000"
#define G            "00ff00"
#define W            "ffffff"

static const struct {
    struct recipe recipe;
    const char *pixels;
} good[] = {
    /* palettes: rows from the bottom up, padded to four bytes, the highest bits first */
    { { 0, 2, 2, 8, .palette = COLOURS, .used = 4, .data = "01020000 03000000" },
      W " " K "|" R " " G },
    { { 0, 2, -2, 8, .palette = COLOURS, .used = 4, .data = "01020000 03000000" },
      R " " G "|" W " " K },
    { { 0, 3, 1, 4, .palette = COLOURS, .used = 4, .data = "1230" }, R " " G " " W },
    { { 0, 3, 1, 4, .palette = COLOURS, .used = 4, .data = "1234" }, R " " G " " W },
    { { 0, 10, 1, 1, .palette = COLOURS, .data = "a5400000", .used = 2 },
      R " " K " " R " " K " " K " " R " " K " " R " " K " " R },
    { { 12, 2, 1, 8, .palette = CORE_COLOURS, .data = "0103", .offset = 26 + 12 + 1 }, R " " W },
    { { 12, 2, 1, 1, .palette = "0000ff ffffff", .data = "40" }, R " " W },
    { { 12, 1, 1, 24, .data = "010203" }, "030201" },
    { { 64, 2, 1, 8, .palette = COLOURS, .used = 4, .data = "0103" }, R " " W },
    { { 0, 2, 1, 8, .palette = COLOURS, .used = 4, .data = "02ff" }, G " " K }, /* no such colour */
    { { 0, 2, 1, 1, .palette = COLOURS, .used = 4, .data = "40" }, K " " R },   /* more than two */
    { { 0, 1, 1, 4, .palette = COLOURS, .used = 0, .data = "3f", .offset = 54 + 16 + 1 }, W },
    { { 0, 1, 1, 8, .palette = COLOURS, .used = 4, .data = "01", .offset = NOWHERE }, R },
    { { 0, 1, 1, 8, .palette = COLOURS, .used = 4, .data = "01", .offset = 54 + NOWHERE }, R },
    /* 16, 24 and 32 bits */
    { { 0, 2, 1, 24, .data = "010203 0a0b0c" }, "030201 0c0b0a" },
    { { 0, 1, 2, 24, .data = "010203ff 0a0b0c" }, "0c0b0a|030201" },
    { { 0, 1, 1, 24, .palette = COLOURS, .used = 4, .data = "010203" }, "030201" },
    { { 0, 2, 1, 32, .data = "01020304 05060708" }, "030201 070605" },
    { { 0, 1, 1, 32, .data = "01020304", .offset = NOWHERE }, "030201" },
    { { 108, 1, 1, 32, .masks = "ff0000 ff00 ff ff000000", .data = "01020304" }, "030201" },
    /* Five bits v are 255 v / 31: 3 is 24.68, 1 is 8.2, 16 is 131.6. Six are 255 v / 63. */
    { { 0, 3, 1, 16, .data = "0000 ff7f 630c 0000" }, K " " W " 191919" },
    { { 0, 2, 1, 16, .data = "3040 00fc" }, "840884 ff0000" },
    { { 0, 2, 1, 16, 3, .masks = "f800 7e0 1f", .data = "00f8 2108" }, "ff0000 080408" },
    { { 0, 2, 1, 16, 3, .masks = "f00 f0 f", .data = "3412 0100" }, "223344 000011" },
    { { 0, 1, 1, 32, 3, .masks = "ff 0000ff00 00ff0000", .data = "01020304" }, "010203" },
    { { 0, 1, 1, 32, 6, .masks = "ff000000 ff0000 ff00 ff", .data = "01020304" }, "04030201" },
    { { 56, 1, 1, 32, 3, .masks = "ff0000 ff00 ff ff000000", .data = "01020304" }, "03020104" },
    { { 52, 1, 1, 32, 3, .masks = "ff0000 ff00 ff", .data = "01020304" }, "030201" },
    { { 108, 1, 1, 32, 3, .masks = "ff0000 ff00 ff ff000000", .data = "01020304" }, "03020104" },
    { { 124, 1, 1, 32, 3, .masks = "ff0000 ff00 ff 0", .data = "01020304" }, "030201" },
    { { 124, 2, 1, 16, 3, .masks = "7c00 3e0 1f 8000", .data = "00fc 1f00" }, "ff0000ff 0000ff00" },
    /* ten bits: 1023 is the most, 512 is 127.6; then one and two bits */
    { { 0, 1, 1, 32, 3, .masks = "3ff00000 ffc00 3ff", .data = "ff030820" }, "8080ff" },
    { { 0, 1, 1, 32, 3, .masks = "80000000 60000000 0", .data = "000000c0" }, "ffaa00" },
    { { 0, 1, 1, 24, 3, .masks = "ff ff00 ff0000", .data = "010203" }, "010203" },
    { { 0, 1, 1, 32, 3, .masks = "ffffffff 0 0", .data = "ffffff7f" }, "7f0000" },
    /* runs */
    { { 0, 5, 1, 2, .palette = COLOURS, .used = 4, .data = "1b4c0000" },
      K " " R " " G " " W " " R },
    { { 0, 2, -2, 8, 1, 4, .palette = COLOURS, .data = "0201 0000 0202 0001" },
      R " " R "|" G " " G },
    { { 0, 4, 1, 8, 1, 4, .palette = COLOURS, .data = "0301 0102 0000 0001" },
      R " " R " " R " " G },
    { { 0, 4, 1, 8, 1, 4, .palette = COLOURS, .data = "0301 0102" }, R " " R " " R " " G },
    { { 0, 4, 1, 8, 1, 4, .palette = COLOURS, .data = "0003 01020300 0101 0001" },
      R " " G " " W " " R },
    { { 0, 4, 1, 8, 1, 4, .palette = COLOURS, .data = "0004 01020300" }, R " " G " " W " " K },
    { { 0, 3, 1, 8, 1, 4, .palette = COLOURS, .data = "0003 010203" }, R " " G " " W },
    { { 0, 3, 1, 8, 1, 4, .palette = COLOURS, .data = "0901 0902 0001" }, R " " R " " R },
    { { 0, 2, 2, 8, 1, 4, .palette = COLOURS, .data = "0201 0203 0000 0202 0001" },
      G " " G "|" R " " R },
    { { 0, 2, 3, 8, 1, 4, .palette = COLOURS, .data = "0000 0101 0001" },
      K " " K "|" R " " K "|" K " " K },
    { { 0, 3, 3, 8, 1, 4, .palette = COLOURS, .data = "0101 00020101 0102 0001" },
      K " " K " " K "|" K " " K " " G "|" R " " K " " K },
    { { 0, 1, 2, 8, 1, 4, .palette = COLOURS, .data = "0002ffff" }, K "|" K },
    { { 0, 2, 1, 8, 1, 4, .palette = "0000ff00 00000000 00ff0000 ffffff00", .data = "0001" },
      R " " R },
    { { 0, 5, 1, 4, 2, 4, .palette = COLOURS, .data = "0512 0001" }, R " " G " " R " " G " " R },
    { { 0, 5, 1, 4, 2, 4, .palette = COLOURS, .data = "0005 12301000 0001" },
      R " " G " " W " " K " " R },
    { { 0, 4, 1, 4, 2, 4, .palette = COLOURS, .data = "0003 1230 0110 0001" },
      R " " G " " W " " R },
};

static void test_pictures(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct bytes bytes = make_bmp(&good[i].recipe);
        struct probe probe;
        struct failure failure = { .message = "" };
        uint32_t notes = 0;
        char text[512];
        if (probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, &failure))
            fail_msg("%zu: %s", i, failure.message);
        assert_int_equal(probe.format, FORMAT_BMP);
        assert_int_equal(probe_check_data(&probe, false, NULL), STATUS_OK);
        struct image image = must_decode(&bytes, NULL, &notes);
        spell(&image, text);
        if (strcmp(text, good[i].pixels) != 0) fail_msg("%zu: %s, not %s", i, text, good[i].pixels);
        assert_int_equal(notes, 0);
        free(image.pixels);
        free(bytes.data);
    }
}

static const struct {
    struct recipe recipe;
    const char *fault;
} bad[] = {
    { { 0, 0, 1, 24, .data = "010203" }, "side" },
    { { 0, -1, 1, 24, .data = "010203" }, "side" },
    { { 0, 1, 0, 24, .data = "010203" }, "side" },
    { { 16, 1, 1, 24, .data = "010203" }, "unknown length" },
    { { 41, 1, 1, 24, .data = "010203" }, "unknown length" },
    { { 124 + 256, 1, 1, 24, .data = "010203" }, "unknown length" },
    { { 0, 1, 1, 0, .data = "010203" }, "kind" },
    { { 0, 1, 1, 64, .data = "0102030405060708" }, "kind" },
    { { 0, 1, 1, 24, 1, .data = "010203" }, "kind" },
    { { 0, 1, 1, 8, 2, 4, .palette = COLOURS, .data = "0101" }, "kind" },
    { { 0, 1, 1, 4, 1, 4, .palette = COLOURS, .data = "0101" }, "kind" },
    { { 0, 1, 1, 8, 3, 4, .palette = COLOURS, .data = "0101" }, "kind" },
    { { 0, 1, 1, 24, 4, .data = "010203" }, "kind" }, /* a JPEG */
    { { 0, 1, 1, 32, 5, .data = "01020304" }, "kind" },
    { { 64, 1, 1, 24, 4, .data = "010203" }, "kind" },
    { { 64, 1, 1, 16, 3, .masks = "f800 7e0 1f", .data = "0102" }, "kind" },
    { { 0, 1, 1, 16, 3, .masks = "f800 7e0 15", .data = "0102" }, "hole" },
    { { 0, 1, 1, 32, 3, .masks = "80000001 7e0 1f", .data = "01020304" }, "hole" },
    { { 56, 1, 1, 32, 3, .masks = "ff0000 ff00 ff 5", .data = "01020304" }, "hole" },
    { { 0, 1, 1, 16, 3, .masks = "0 0 0", .data = "0102" }, "all 0" },
    { { 0, 1, 1, 16, 3, .masks = "f800 7e0" }, "masks are cut off" },
    { { 0, 1, 1, 32, 6, .masks = "ff0000 ff00 ff" }, "masks are cut off" },
    { { 0, 1, 1, 24, .data = "010203", .offset = 53 + NOWHERE }, "in its header" },
    { { 0, 1, 1, 32, 3, .masks = "ff0000 ff00 ff", .data = "01020304", .offset = 54 + NOWHERE },
      "in its header" },
    { { 0, 1, 1, 8, .data = "01", .offset = 57 + NOWHERE }, "no palette" },
    { { 0, 1, 1, 24, .data = "0102" }, "cut off" },
    { { 0, 1, 1, 24, .data = "010203", .offset = 5000 }, "cut off" },
    { { 0, 1, 1, 24, .data = "010203", .offset = 0xffffffff }, "cut off" },
    { { 0, 4, 1, 8, 1, 4, .palette = COLOURS, .data = "0301" }, "cut off in the 1. of its rows" },
    { { 0, 4, 1, 8, 1, 4, .palette = COLOURS, .data = "0301 01" }, "cut off" },
    { { 0, 4, 1, 8, 1, 4, .palette = COLOURS, .data = "0004 010203" }, "cut off" },
    { { 0, 4, 1, 4, 2, 4, .palette = COLOURS, .data = "0004 12" }, "cut off" },
    { { 0, 4, 1, 8, 1, 4, .palette = COLOURS, .data = "0002 01" }, "cut off" },
};

static enum status decode_bytes(const struct bytes *bytes, struct failure *failure) {
    struct image image;
    uint32_t notes = 0;
    const enum status status =
        try_decode(bytes, &codec_limits_default, &image, NULL, &notes, failure);
    if (status == STATUS_OK) free(image.pixels);
    return status;
}

static void test_broken(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bytes bytes = make_bmp(&bad[i].recipe);
        struct failure failure = { .message = "" };
        assert_int_equal(decode_bytes(&bytes, &failure), STATUS_CORRUPT);
        if (!strstr(failure.message, bad[i].fault) || !strstr(failure.message, "send "))
            fail_msg("%zu: %s", i, failure.message);
        free(bytes.data);
    }
    struct bytes bytes = make_bmp(&(struct recipe){ 0, 1, INT32_MIN, 24, .data = "010203" });
    assert_int_equal(decode_bytes(&bytes, NULL), STATUS_TOO_LARGE);
    free(bytes.data);
}

static void test_cuts(void **state) {
    (void)state;
    static const struct recipe recipes[] = {
        { 0, 3, 3, 24,
          .data = "010203040506070809000000 010203040506070809000000 010203040506070809" },
        { 0, 3, 2, 8, .palette = COLOURS, .used = 4, .data = "01020300 010203" },
        { 124, 2, 2, 16, 3, .masks = "7c00 3e0 1f 8000", .data = "00fc1f00 00fc1f00" },
        { 0, 4, 2, 8, 1, 4, .palette = COLOURS, .data = "0301 0102 0000 0004 01010101" },
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        struct bytes bytes = make_bmp(&recipes[i]);
        assert_int_equal(decode_bytes(&bytes, NULL), STATUS_OK);
        assert_every_cut_corrupt(&bytes);
        free(bytes.data);
    }
}

/* With accept_damage whole rows stay: the lower ones, or those before the cut. */
static void test_accepted_damage(void **state) {
    (void)state;
    static const struct {
        struct recipe recipe;
        const char *pixels;
    } cases[] = {
        { { 0, 1, 3, 24, .data = "01020300 04050600 0708" }, "000000|060504|030201" },
        { { 0, 1, -3, 24, .data = "01020300 04050600 0708" }, "030201|060504|000000" },
        { { 0, 2, 2, 8, .palette = COLOURS, .used = 4, .data = "01020000 03" },
          K " " K "|" R " " G },
        { { 0, 2, 3, 8, 1, 4, .palette = "ff000000 0000ff00 00ff0000 ffffff00",
            .data = "0201 0000 0101" },
          K " " K "|" K " " K "|" R " " R },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = make_bmp(&cases[i].recipe);
        struct image image;
        uint32_t notes;
        char warning[WARNING_MAX], text[128];
        assert_int_equal(decode_bytes(&bytes, NULL), STATUS_CORRUPT);
        assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_OK);
        assert_int_equal(notes, NOTE_DAMAGED);
        assert_non_null(strstr(warning, "ends before the picture"));
        spell(&image, text);
        assert_string_equal(text, cases[i].pixels);
        free(image.pixels);
        free(bytes.data);
    }
    struct bytes bytes = make_bmp(&(struct recipe){ 0, 1, 3, 24, .data = "0102" });
    struct image image;
    uint32_t notes;
    char warning[WARNING_MAX];
    assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_CORRUPT); /* no row */
    free(bytes.data);
}

/* The bytes that pixels need are known but for runs, which may skip any number of them. */
static void test_bombs(void **state) {
    (void)state;
    static const struct {
        struct recipe recipe;
        uint64_t least;
    } cases[] = {
        { { 0, 8000, 8000, 24, .data = "010203" }, 8000 * 8000 * 3 },
        { { 0, 8001, 7000, 1, .palette = COLOURS, .used = 2, .data = "01" }, 1004 * 6999 + 1001 },
        { { 0, 8000, 8000, 8, 1, 4, .palette = COLOURS, .data = "0001" }, 64000000 / 32768 },
    };
    /* A small picture may end at once: two bytes are sound. */
    struct bytes ends =
        make_bmp(&(struct recipe){ 0, 400, 400, 8, 1, 4, .palette = COLOURS, .data = "0001" });
    struct probe small;
    assert_int_equal(probe_image(ends.data, ends.length, &codec_limits_default.probe, &small, NULL),
                     STATUS_OK);
    assert_int_equal(probe_check_data(&small, false, NULL), STATUS_OK);
    assert_int_equal(decode_bytes(&ends, NULL), STATUS_OK);
    free(ends.data);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = make_bmp(&cases[i].recipe);
        struct probe probe;
        assert_int_equal(
            probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
            STATUS_OK);
        assert_int_equal(probe.data_bytes_least, cases[i].least);
        assert_int_equal(probe_check_data(&probe, false, NULL), STATUS_CORRUPT);
        assert_int_equal(probe_check_data(&probe, true, NULL), STATUS_CORRUPT);
        free(bytes.data);
    }
}

/* A profile may stand anywhere in the file; one that reaches beyond is none. */
static void test_profiles(void **state) {
    (void)state;
    struct bytes profile = new_profile(300, "RGB ");
    struct bytes plain = make_bmp(&(struct recipe){ 124, 1, 1, 24, .data = "01020300" });
    struct bytes bytes = insert_bytes(&plain, plain.length, profile.data, profile.length);
    memcpy(bytes.data + 14 + 56, "DEBM", 4);
    put(bytes.data + 14 + 112, plain.length - 14, 4);
    put(bytes.data + 14 + 116, profile.length, 4);
    struct metadata metadata = { 0 };
    uint32_t notes = 0;
    struct image image = must_decode(&bytes, &metadata, &notes);
    assert_int_equal(metadata.profile_length, profile.length);
    assert_memory_equal(metadata.profile, profile.data, profile.length);
    metadata_release(&metadata);
    free(image.pixels);
    put(bytes.data + 14 + 116, profile.length + 1, 4);
    image = must_decode(&bytes, &metadata, &notes);
    assert_int_equal(metadata.profile_length, 0);
    free(image.pixels);
    put(bytes.data + 14 + 112, 0xffffffff, 4);
    put(bytes.data + 14 + 116, 0xffffffff, 4);
    image = must_decode(&bytes, &metadata, &notes);
    assert_int_equal(metadata.profile_length, 0);
    free(image.pixels);
    free(bytes.data);
    free(plain.data);
    free(profile.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_cuts),     cmocka_unit_test(test_accepted_damage),
        cmocka_unit_test(test_bombs),    cmocka_unit_test(test_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
