// SPDX-License-Identifier: Apache-2.0
/* Files of boxes that are laid out here by hand, after ISO/IEC 14496-12 and 23008-12: what is read
 * of them, each cut of them, and contradictions. */
#include "pipeline/codecs/common/isobmff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILE_MAX = 65536 };

/* A file that grows at its end; a box that was opened gets its length when it is closed. */
struct file {
    uint8_t bytes[FILE_MAX];
    size_t length;
};

static void put(struct file *file, unsigned bytes, uint64_t value) {
    assert_true(file->length + bytes <= FILE_MAX);
    for (unsigned i = 0; i < bytes; i++)
        file->bytes[file->length++] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static void put_text(struct file *file, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) put(file, 1, (uint8_t)text[i]);
}

static size_t open_box(struct file *file, const char *type) {
    put(file, 4, 0);
    put_text(file, type, 4);
    return file->length - 8;
}

static size_t open_full(struct file *file, const char *type, unsigned version) {
    const size_t at = open_box(file, type);
    put(file, 4, (uint64_t)version << 24);
    return at;
}

static void close_box(struct file *file, size_t at) {
    struct file length = { .length = 0 };
    put(&length, 4, file->length - at);
    memcpy(file->bytes + at, length.bytes, 4);
}

/* Differences from a plain picture of 30 x 20. */
struct recipe {
    const char *type;  /* of the primary item or its tiles; NULL: av01 */
    int angle, mirror; /* of irot and imir, plus 1; 0: none */
    bool alpha, premultiplied, profile, track, wide_box;
    unsigned tiles;         /* of a grid */
    int clap[8];            /* width, height, offsets, each as a fraction; 0: none */
    uint32_t item_bytes;    /* as iloc states; 0: 10, and all are there */
    unsigned more_items;    /* beside those that are needed */
    uint32_t grid_at;       /* in the file */
    unsigned columns, rows; /* of a grid, as its own bytes state; 0: they are not there */
    unsigned width, height; /* the picture's, as its grid states */
    unsigned side;          /* of a tile; 0: as the picture */
};

static void put_properties(struct file *file, const struct recipe *recipe) {
    static const char alpha[] = "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha";
    const size_t ipco = open_box(file, "ipco");
    size_t at = open_full(file, "ispe", 0); /* 1 */
    put(file, 4, 30);
    put(file, 4, 20);
    close_box(file, at);
    at = open_box(file, "av1C"); /* 2 */
    put(file, 4, 0x81004c00);
    close_box(file, at);
    at = open_full(file, "pixi", 0); /* 3 */
    put(file, 4, 0x030a0a0a);
    close_box(file, at);
    at = open_box(file, "irot"); /* 4 */
    put(file, 1, recipe->angle ? (unsigned)recipe->angle - 1 : 0);
    close_box(file, at);
    at = open_box(file, "imir"); /* 5 */
    put(file, 1, recipe->mirror ? (unsigned)recipe->mirror - 1 : 0);
    close_box(file, at);
    at = open_full(file, "auxC", 0); /* 6 */
    put_text(file, alpha, sizeof alpha);
    close_box(file, at);
    at = open_box(file, "colr"); /* 7: Display P3, by BT.601, full range */
    put_text(file, "nclx", 4);
    put(file, 7, UINT64_C(0x000c000d000680));
    close_box(file, at);
    at = open_box(file, "colr"); /* 8 */
    put_text(file, "profICC!", 8);
    close_box(file, at);
    at = open_box(file, "clap"); /* 9 */
    for (int i = 0; i < 8; i++) put(file, 4, (uint32_t)recipe->clap[i]);
    close_box(file, at);
    at = open_full(file, "ispe", 0); /* 10 */
    put(file, 4, recipe->side);
    put(file, 4, recipe->side);
    close_box(file, at);
    at = open_box(file, "hvcC"); /* 11 */
    put(file, 4, 0x68766343);
    close_box(file, at);
    close_box(file, ipco);
}

static void put_associations(struct file *file, const struct recipe *recipe) {
    const size_t at = open_full(file, "ipma", 0);
    put(file, 4, 2 + recipe->tiles);
    put(file, 2, 1);
    const uint8_t all[] = { 1,
                            2,
                            3,
                            7,
                            recipe->angle ? 4 : 1,
                            recipe->mirror ? 5 : 1,
                            recipe->profile ? 8 : 1,
                            recipe->clap[1] ? 9 : 1 };
    put(file, 1, sizeof all);
    for (size_t i = 0; i < sizeof all; i++)
        put(file, 1, all[i] == 2 && recipe->tiles ? 1 : all[i] | 0x80u);
    put(file, 2, 2);
    put(file, 1, 1);
    put(file, 1, 6);
    for (unsigned t = 0; t < recipe->tiles; t++) {
        put(file, 2, 3 + t);
        put(file, recipe->side ? 3 : 2, recipe->side ? 0x020a0b : 0x0102);
    }
    close_box(file, at);
}

static void put_item(struct file *file, unsigned id, const char *type) {
    const size_t at = open_full(file, "infe", 2);
    put(file, 2, id);
    put(file, 2, 0);
    put_text(file, type, 4);
    put(file, 1, 0);
    close_box(file, at);
}

static void put_items(struct file *file, const struct recipe *recipe) {
    const unsigned items = 2 + recipe->tiles + recipe->more_items;
    const char *primary = recipe->tiles ? "grid" : recipe->type ? recipe->type : "av01";
    size_t at = open_full(file, "pitm", 0);
    put(file, 2, 1);
    close_box(file, at);
    at = open_full(file, "iinf", 0);
    put(file, 2, items);
    const char *tile = recipe->type ? recipe->type : "av01";
    for (unsigned i = items; i >= 1; i--) put_item(file, i, i == 1 ? primary : tile);
    close_box(file, at);
    at = open_full(file, "iloc", 0);
    put(file, 2, 0x4400);
    put(file, 2, items);
    for (unsigned i = 1; i <= items; i++) {
        put(file, 2, i);
        put(file, 2, 0);
        put(file, 2, 1);
        put(file, 4, i == 1 && recipe->columns ? recipe->grid_at : 0);
        put(file, 4, i == 1 && recipe->columns ? 8 : recipe->item_bytes ? recipe->item_bytes : 10);
    }
    close_box(file, at);
}

static void put_reference(struct file *file, const char *type, unsigned from, unsigned to,
                          unsigned count) {
    const size_t at = open_box(file, type);
    put(file, 2, from);
    put(file, 2, count);
    for (unsigned i = 0; i < count; i++) put(file, 2, to + i);
    close_box(file, at);
}

static struct file make(const struct recipe *wanted) {
    struct file file = { .length = 0 };
    struct recipe given = *wanted, *recipe = &given;
    size_t at = open_box(&file, "ftyp"), meta;
    put_text(&file, "mif1\0\0\0\0mif1avif", 16);
    close_box(&file, at);
    at = open_box(&file, "free");
    given.grid_at = (uint32_t)file.length;
    put(&file, 2, 0);
    put(&file, 2, recipe->columns ? (recipe->rows - 1) << 8 | (recipe->columns - 1) : 0);
    put(&file, 2, recipe->width);
    put(&file, 2, recipe->height);
    close_box(&file, at);
    meta = open_full(&file, "meta", 0);
    put_items(&file, recipe);
    at = open_full(&file, "iref", 0);
    if (recipe->alpha) put_reference(&file, "auxl", 2, 1, 1);
    if (recipe->premultiplied) put_reference(&file, "prem", 1, 2, 1);
    if (recipe->tiles) put_reference(&file, "dimg", 1, 3, recipe->tiles);
    close_box(&file, at);
    at = open_box(&file, "iprp");
    put_properties(&file, recipe);
    put_associations(&file, recipe);
    close_box(&file, at);
    close_box(&file, meta);
    if (recipe->track) close_box(&file, open_box(&file, "moov"));
    if (recipe->wide_box) {
        put(&file, 4, 1);
        put_text(&file, "mdat", 4);
        put(&file, 8, 16);
    }
    return file;
}

static const char *read_made(const struct recipe *recipe, struct isobmff_picture *picture) {
    const struct file file = make(recipe);
    return isobmff_read(file.bytes, file.length, picture);
}

static void test_a_plain_picture(void **state) {
    (void)state;
    const struct file file = make(&(struct recipe){ .wide_box = true });
    struct isobmff_picture picture;
    assert_null(isobmff_read(file.bytes, file.length, &picture));
    assert_string_equal(picture.codec, "av01");
    assert_true(picture.width == 30 && picture.height == 20);
    assert_true(!picture.left && !picture.top && picture.across == 30 && picture.down == 20);
    assert_int_equal(picture.orientation, 1);
    assert_true(picture.samples == 3 && picture.bits == 10);
    assert_true(!picture.alpha && !picture.premultiplied && !picture.animated);
    assert_int_equal(picture.profile.length, 0);
    assert_int_equal(picture.configuration.length, 4);
    assert_memory_equal(file.bytes + picture.configuration.at, "\x81\0\x4c\0", 4);
    assert_true(picture.stated_bytes == 10 && picture.there_bytes == 10);
}

static void test_brands(void **state) {
    (void)state;
    const struct file file = make(&(struct recipe){ .track = true });
    assert_true(isobmff_is(file.bytes, file.length, "mif1", ""));
    assert_true(isobmff_is(file.bytes, file.length, "heicavif", ""));
    assert_false(isobmff_is(file.bytes, 20, "avif", "av01")); /* cut off before it */
    assert_false(isobmff_is(file.bytes, 11, "mif1", "av01"));
    assert_false(isobmff_is(file.bytes, file.length, "heic", "hvc1"));
    /* a HEIF without a brand of its own is what its primary item is */
    const struct file tiled = make(&(struct recipe){ .type = "hvc1", .tiles = 4 });
    assert_true(isobmff_is(file.bytes, file.length, "heic", "av01"));
    assert_true(isobmff_is(tiled.bytes, tiled.length, "heic", "hvc1"));
    assert_false(isobmff_is(tiled.bytes, tiled.length, "heic", "av01"));
}

static void test_what_belongs_to_the_picture(void **state) {
    (void)state;
    struct isobmff_picture picture;
    const struct file file = make(
        &(struct recipe){ .alpha = true, .premultiplied = true, .profile = true, .track = true });
    assert_null(isobmff_read(file.bytes, file.length, &picture));
    assert_true(picture.alpha && picture.premultiplied && picture.animated);
    assert_true(picture.stated_bytes == 10 + 10 && picture.there_bytes == 10 + 10);
    assert_int_equal(picture.profile.length, 4);
    assert_memory_equal(file.bytes + picture.profile.at, "ICC!", 4);
}

/* The numbers of EXIF for a turn counterclockwise, then a mirror (23008-12, 6.5.10, 6.5.12). */
static void test_orientation(void **state) {
    (void)state;
    static const int expected[5][3] = {
        { 1, 4, 2 }, { 1, 4, 2 }, { 8, 5, 7 }, { 3, 2, 4 }, { 6, 7, 5 }
    };
    for (int angle = 0; angle <= 4; angle++)
        for (int mirror = 0; mirror <= 2; mirror++) {
            struct isobmff_picture picture;
            assert_null(read_made(&(struct recipe){ .angle = angle, .mirror = mirror }, &picture));
            assert_int_equal(picture.orientation, expected[angle][mirror]);
        }
}

static void test_a_grid(void **state) {
    (void)state;
    struct isobmff_picture picture;
    assert_null(read_made(&(struct recipe){ .tiles = 12 }, &picture));
    assert_string_equal(picture.codec, "av01");
    assert_int_equal(picture.configuration.length, 4);
    assert_int_equal(picture.stated_bytes, 120);
}

/* 30 x 20 pixels of tiles of 16 x 16, or in one piece. */
static void test_tiles(void **state) {
    (void)state;
    static struct isobmff_tile tiles[ISOBMFF_ITEMS_MAX];
    struct isobmff_tiling tiling;
    struct isobmff_picture picture;
    const struct recipe sound = {
        .type = "hvc1", .tiles = 4, .columns = 2, .rows = 2, .width = 30, .height = 20, .side = 16
    };
    struct file file = make(&sound);
    assert_null(isobmff_read(file.bytes, file.length, &picture));
    assert_null(isobmff_tiles(file.bytes, file.length, &picture, false, &tiling, tiles));
    assert_true(tiling.columns == 2 && tiling.rows == 2);
    assert_true(tiling.width == 16 && tiling.height == 16);
    for (int i = 0; i < 4; i++) {
        assert_memory_equal(file.bytes + tiles[i].configuration.at, "hvcC", 4);
        assert_true(tiles[i].coded.length == 10 && tiles[i].coded.at == 0);
    }
    assert_non_null(isobmff_tiles(file.bytes, file.length, &picture, true, &tiling, NULL));
    static const struct {
        unsigned tiles, columns, rows, width, height, side;
        const char *fault;
    } bad[] = { { 4, 2, 2, 31, 20, 16, "ispe" },     { 3, 2, 2, 30, 20, 16, "too few" },
                { 5, 2, 2, 30, 20, 16, "too many" }, { 2, 2, 1, 30, 20, 16, "cover" },
                { 4, 2, 2, 30, 20, 32, "beside" },   { 1, 1, 1, 30, 20, 4000, "more pixels" },
                { 4, 256, 5, 30, 20, 16, "1024" },   { 1, 1, 1, 30, 20, 70000, "65535" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct recipe recipe = sound;
        recipe.tiles = bad[i].tiles;
        recipe.columns = bad[i].columns;
        recipe.rows = bad[i].rows;
        recipe.width = bad[i].width;
        recipe.height = bad[i].height;
        recipe.side = bad[i].side;
        file = make(&recipe);
        assert_null(isobmff_read(file.bytes, file.length, &picture));
        const char *fault = isobmff_tiles(file.bytes, file.length, &picture, false, &tiling, NULL);
        assert_non_null(fault);
        if (!strstr(fault, bad[i].fault)) fail_msg("%s", fault);
    }
    file = make(&(struct recipe){ .item_bytes = 5000 });
    assert_null(isobmff_read(file.bytes, file.length, &picture));
    assert_null(isobmff_tiles(file.bytes, file.length, &picture, false, &tiling, tiles));
    assert_true(tiling.columns == 1 && tiling.rows == 1 && tiling.width == 30);
    assert_true(tiles->coded.length == file.length);
}

/* An item may have a colr of each kind. */
static void test_colours(void **state) {
    (void)state;
    struct isobmff_picture picture;
    assert_null(read_made(&(struct recipe){ .profile = true }, &picture));
    assert_true(picture.nclx.there && picture.nclx.full && picture.nclx.primaries == 12);
    assert_true(picture.nclx.transfer == 13 && picture.nclx.matrix == 6);
    assert_int_equal(picture.profile.length, 4);
}

static void test_crops(void **state) {
    (void)state;
    struct isobmff_picture picture;
    /* 28 of 30 columns, the middle ones moved left by 1; 19 of 20 rows, half a row down */
    assert_null(read_made(&(struct recipe){ .clap = { 28, 1, 19, 1, -1, 1, 1, 2 } }, &picture));
    assert_true(picture.across == 28 && picture.down == 19);
    assert_true(picture.left == 0 && picture.top == 1);
    assert_true(picture.width == 30 && picture.height == 20);
    static const int bad[][8] = { { 28, 1, 19, 1, -2, 1, 1, 2 },       { 28, 1, 19, 1, 0, 1, 0, 1 },
                                  { 31, 1, 20, 1, 0, 1, 0, 1 },        { 57, 2, 20, 1, 0, 1, 0, 1 },
                                  { 0, 1, 20, 1, 0, 1, 0, 1 },         { 28, 1, 20, 1, 0, 0, 0, 1 },
                                  { 10, 1, 20, 1, 0, 1, 0, 1 },        { -2, 1, 20, 1, 0, 1, 0, 1 },
                                  { 30, 1, 20, 1, 0, 1, INT32_MAX, 1 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct recipe recipe = { .alpha = false };
        memcpy(recipe.clap, bad[i], sizeof bad[i]);
        assert_non_null(strstr(read_made(&recipe, &picture), "clap"));
    }
}

static void test_limits(void **state) {
    (void)state;
    struct isobmff_picture picture;
    assert_null(read_made(&(struct recipe){ .item_bytes = 5000 }, &picture));
    assert_true(picture.stated_bytes == 5000 && picture.there_bytes < 2000);
    assert_null(read_made(&(struct recipe){ .more_items = 1022 }, &picture));
    assert_non_null(
        strstr(read_made(&(struct recipe){ .more_items = 1023 }, &picture), "1024 items"));
    assert_non_null(strstr(read_made(&(struct recipe){ .tiles = 1, .more_items = 1022 }, &picture),
                           "1024 items"));
    assert_null(read_made(&(struct recipe){ .tiles = 800 }, &picture));
    assert_int_equal(picture.stated_bytes, 8000);
}

/* However a file is cut or changed, the reader stays in it, which a sanitizer watches, and ends. */
static void test_cut_and_changed(void **state) {
    (void)state;
    const struct file whole = make(&(struct recipe){ .alpha = true,
                                                     .profile = true,
                                                     .angle = 2,
                                                     .mirror = 1,
                                                     .tiles = 4,
                                                     .clap = { 28, 1, 18, 1, 0, 1, 0, 1 } });
    struct isobmff_picture picture;
    for (size_t length = 0; length < whole.length; length++) {
        uint8_t *part = malloc(length + !length);
        memcpy(part, whole.bytes, length);
        assert_non_null(isobmff_read(part, length, &picture));
        isobmff_is(part, length, "heic", "hvc1");
        free(part);
    }
    uint32_t random = 1;
    for (int round = 0; round < 50000; round++) {
        struct file changed = whole;
        for (int i = 0; i < 1 + round % 4; i++) {
            random = random * 1664525 + 1013904223;
            changed.bytes[(random >> 8) % whole.length] =
                random & 1 ? (uint8_t)(random >> 24) : 255;
        }
        if (isobmff_read(changed.bytes, changed.length, &picture)) continue;
        assert_true(picture.orientation >= 1 && picture.orientation <= 8);
        assert_true(picture.left + (uint64_t)picture.across <= picture.width);
        assert_true(picture.top + (uint64_t)picture.down <= picture.height);
        assert_true(picture.there_bytes <= picture.stated_bytes);
        assert_true(picture.profile.at + picture.profile.length <= changed.length);
        assert_true(picture.configuration.at + picture.configuration.length <= changed.length);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_picture),
        cmocka_unit_test(test_brands),
        cmocka_unit_test(test_what_belongs_to_the_picture),
        cmocka_unit_test(test_orientation),
        cmocka_unit_test(test_a_grid),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_crops),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_cut_and_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
