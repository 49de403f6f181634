// SPDX-License-Identifier: Apache-2.0
/* Headers, codes, interlace, palettes, canvases, cuts and damage of GIF, from bytes made by hand by
 * the description of GIF89a; the rows of an interlace and the widths of codes by its rules. */
#include "tests/pipeline/codecs/made_files.h"

/* Four colours, shown as the letters k, r, g and w; transparent pixels as a dot. */
static const uint8_t palette[] = { 0, 0, 0, 255, 0, 0, 0, 255, 0, 255, 255, 255 };

struct recipe {
    unsigned width, height;            /* of the canvas */
    unsigned left, top, columns, rows; /* of the picture; 0 columns: it is the canvas */
    const char *codes;                 /* "4:3 0:3" are code and bits */
    unsigned literal_bits;             /* 0: 2 */
    unsigned control;                  /* 1 + the transparent index; 0: no control */
    unsigned flags;                    /* of the picture; 0x80 and up: the palette is its own */
    unsigned block;                    /* bytes in a block of data; 0: 255 */
    const char *before, *behind;       /* blocks around the picture, in hexadecimal */
};

struct writer {
    uint8_t bytes[1 << 16];
    size_t length;
};

static void put(struct writer *writer, unsigned value, unsigned bytes) {
    for (; bytes; bytes--, value >>= 8) writer->bytes[writer->length++] = (uint8_t)value;
}

static void put_hex(struct writer *writer, const char *hex) {
    unsigned byte;
    int used;
    while (hex && sscanf(hex, "%2x%n", &byte, &used) == 1) {
        put(writer, byte, 1);
        hex += used;
    }
}

static size_t pack(const char *codes, uint8_t *bytes) {
    unsigned code, width, at = 0;
    int used;
    for (; sscanf(codes, " %u:%u%n", &code, &width, &used) == 2; codes += used)
        for (unsigned i = 0; i < width; i++, at++) {
            if (at % 8 == 0) bytes[at / 8] = 0;
            bytes[at / 8] |= (uint8_t)((code >> i & 1) << at % 8);
        }
    return (at + 7) / 8;
}

static void put_blocks(struct writer *writer, const uint8_t *data, size_t length, unsigned block) {
    for (size_t at = 0; at < length; at += block) {
        const size_t size = length - at < block ? length - at : block;
        put(writer, (unsigned)size, 1);
        memcpy(writer->bytes + writer->length, data + at, size);
        writer->length += size;
    }
    put(writer, 0, 1);
}

static struct bytes make_gif(const struct recipe *recipe) {
    static struct writer writer;
    static uint8_t data[1 << 15];
    writer.length = 6;
    memcpy(writer.bytes, "GIF89a", 6);
    put(&writer, recipe->width, 2);
    put(&writer, recipe->height, 2);
    const bool own = recipe->flags & 0x80;
    put(&writer, own ? 0 : 0x81, 3);
    if (!own) put_hex(&writer, "000000ff000000ff00ffffff");
    if (recipe->control) {
        put_hex(&writer, "21f904010000");
        put(&writer, recipe->control - 1, 1);
        put(&writer, 0, 1);
    }
    put_hex(&writer, recipe->before);
    put(&writer, ',', 1);
    put(&writer, recipe->left, 2);
    put(&writer, recipe->top, 2);
    put(&writer, recipe->columns ? recipe->columns : recipe->width, 2);
    put(&writer, recipe->columns ? recipe->rows : recipe->height, 2);
    put(&writer, recipe->flags, 1);
    if (own) put_hex(&writer, "000000ff000000ff00ffffff");
    put(&writer, recipe->literal_bits ? recipe->literal_bits : 2, 1);
    put_blocks(&writer, data, pack(recipe->codes, data), recipe->block ? recipe->block : 255);
    put_hex(&writer, recipe->behind ? recipe->behind : "3b");
    struct bytes bytes = { malloc(writer.length), writer.length };
    memcpy(bytes.data, writer.bytes, writer.length);
    return bytes;
}

/* Rows of letters, "|" between them. */
static void spell(const struct image *image, char *text) {
    for (uint32_t y = 0; y < image->height; y++) {
        if (y) *text++ = '|';
        for (uint32_t x = 0; x < image->width; x++) {
            const uint8_t *pixel = image_row(image, y) + x * image->channels;
            unsigned i = 0;
            while (i < 4 && memcmp(pixel, palette + 3 * i, 3) != 0) i++;
            const bool opaque = image->channels == 3 || pixel[3] == 255;
            *text++ = opaque ? "krgw?"[i] : memcmp(pixel, "\0\0\0\0", 4) ? '!' : '.';
        }
    }
    *text = '\0';
}

/* An end of 31 codes follows where a picture is whole without one. */
static const struct {
    struct recipe recipe;
    const char *pixels;
} good[] = {
    /* Codes of 2 bits: 4 clears, 5 ends, 6 is the first entry; the fourth code has 4 bits. */
    { { 4, 1, .codes = "4:3 0:3 1:3 2:3 3:4 5:4" }, "krgw" },
    { { 4, 1, .codes = "0:3 1:3 2:3 3:4" }, "krgw" },           /* neither clear nor end */
    { { 4, 1, .codes = "4:3 1:3 6:3 2:3 5:4" }, "rrrg" },       /* 6: the entry that 6 makes */
    { { 6, 1, .codes = "4:3 1:3 2:3 6:3 8:4 5:4" }, "rgrgrg" }, /* 8 = 6 r, made by itself, cut */
    { { 6, 1, .codes = "4:3 1:3 2:3 6:3 7:4 5:4" }, "rgrggr" }, /* 7 = g r */
    { { 4, 1, .codes = "4:3 1:3 4:3 2:3 4:3 3:3 0:3 5:3" }, "rgwk" },
    { { 2, 1, .codes = "4:3 4:3 4:3 1:3 2:3 7:3" }, "rg" }, /* what comes behind is not read */
    { { 2, 2, .codes = "4:3 1:3 6:3 6:3 5:4" }, "rr|rr" },  /* strings go over rows */
    { { 4, 1, .codes = "4:3 0:3 1:3 2:3 3:4 5:4", .block = 1 }, "krgw" },
    { { 2, 1, .codes = "256:9 3:9 2:9 257:9", .literal_bits = 8 }, "wg" },
    { { 2, 1, .codes = "256:9 4:9 255:9 257:9", .literal_bits = 8 }, "kk" }, /* no such colours */
    { { 1, 4, .codes = "4:3 0:3 1:3 2:3 3:4", .flags = 0x40 }, "k|g|r|w" },
    { { 2, 1, .codes = "4:3 1:3 2:3", .flags = 0x81 }, "rg" }, /* a palette of its own */
    /* canvases */
    { { 3, 2, 1, 1, 2, 1, .codes = "4:3 1:3 2:3" }, "...|.rg" },
    { { 0, 0, 0, 0, 2, 1, .codes = "4:3 1:3 2:3" }, "rg" },
    { { 2, 1, 1, 0, 2, 1, .codes = "4:3 1:3 2:3" }, ".rg" }, /* beyond the canvas */
    { { 1, 2, 0, 0, 2, 1, .codes = "4:3 1:3 2:3" }, "rg|.." },
    /* transparency */
    { { 2, 1, .codes = "4:3 1:3 2:3", .control = 1 + 2 }, "r." },
    { { 2, 1, .codes = "4:3 1:3 2:3", .control = 1 + 0 }, "rg" },
    { { 2, 1, .codes = "256:9 7:9 1:9", .literal_bits = 8, .control = 1 + 7 }, ".r" },
    { { 2, 1, .codes = "4:3 1:3 2:3", .control = 1 + 2, .before = "21f9040000000200" }, "rg" },
    { { 2, 1, .codes = "4:3 1:3 2:3", .before = "21f904010000020021fe0268690321ff0000" }, "r." },
    { { 2, 1, .codes = "4:3 1:3 2:3",
        .before = "21f9030100000021f9050100000102"
                  "00" },
      ".g" },
    /* behind the picture */
    { { 2, 1, .codes = "4:3 1:3 2:3", .behind = "" }, "rg" },
    { { 2, 1, .codes = "4:3 1:3 2:3", .behind = "3b2c" }, "rg" },
    { { 2, 1, .codes = "4:3 1:3 2:3", .behind = "002c" }, "rg" },
    { { 2, 1, .codes = "4:3 1:3 2:3",
        .behind = "21fe0161"
                  "002c"
                  "0101" },
      "rg" },
};

static void test_pictures(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct bytes bytes = make_gif(&good[i].recipe);
        struct probe probe;
        uint32_t notes = 0;
        char text[64];
        assert_int_equal(
            probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
            STATUS_OK);
        assert_int_equal(probe.format, FORMAT_GIF);
        assert_int_equal(probe_check_data(&probe, false, NULL), STATUS_OK);
        struct image image = must_decode(&bytes, NULL, &notes);
        spell(&image, text);
        if (strcmp(text, good[i].pixels) != 0)
            fail_msg("%s: %s, not %s", good[i].recipe.codes, text, good[i].pixels);
        const bool alpha = strchr(text, '.') || good[i].recipe.control == 1;
        assert_int_equal(image.channels, alpha ? 4 : 3);
        const char *behind = good[i].recipe.behind;
        const bool more = behind && strlen(behind) > 4 && strstr(behind, "002c");
        assert_int_equal(notes, more ? NOTE_FIRST_FRAME : 0);
        assert_int_equal(probe.animated, more);
        free(image.pixels);
        free(bytes.data);
    }
}

static const struct {
    struct recipe recipe;
    const char *fault;
} bad[] = {
    { { 4, 1, .codes = "4:3 0:3 1:3 5:3" }, "ends before the picture" },
    { { 6, 1, .codes = "4:3 0:3 1:3" }, "ends before the picture" },
    { { 4, 1, .codes = "" }, "ends before the picture" },
    { { 4, 1, .codes = "4:3 0:3 7:3 0:3 0:3" }, "no meaning" },
    { { 4, 1, .codes = "4:3 6:3 0:3 0:3 0:3" }, "no meaning" },     /* an entry of nothing */
    { { 4, 1, .codes = "4:3 0:3 0:3 4:3 6:3 0:3" }, "no meaning" }, /* which was cleared */
    { { 2, 1, .codes = "2:2 1:2 0:2 0:8", .literal_bits = 1 }, "2 to 8 bits" },
    { { 2, 1, .codes = "0:2", .literal_bits = 9 }, "2 to 8 bits" },
    { { 2, 1, .codes = "0:2", .literal_bits = 12 }, "2 to 8 bits" },
    { { 2, 1, .codes = "0:2", .literal_bits = 255 }, "2 to 8 bits" },
    { { 2, 1, 0, 0, 0xffff0000, 1, .codes = "4:3 1:3 2:3" }, "side of a picture is 0" },
    { { 2, 1, 0, 0, 2, 0, .codes = "4:3 1:3 2:3" }, "side of a picture is 0" },
    { { 2, 1, .codes = "4:3 1:3 2:3", .before = "3b" }, "no picture" },
    { { 2, 1, .codes = "4:3 1:3 2:3", .before = "00" }, "no picture" },
    { { 2, 1, .codes = "4:3 1:3 2:3",
        .before = "21fe"
                  "ff" },
      "no picture" },
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
        struct bytes bytes = make_gif(&bad[i].recipe);
        struct failure failure = { .message = "" };
        assert_int_equal(decode_bytes(&bytes, &failure), STATUS_CORRUPT);
        if (!strstr(failure.message, bad[i].fault) || !strstr(failure.message, "intact file"))
            fail_msg("%s: %s", bad[i].recipe.codes, failure.message);
        free(bytes.data);
    }
    struct bytes bytes = make_gif(&(struct recipe){ 2, 1, .codes = "4:3 1:3 2:3" });
    struct failure failure;
    for (int own = 0; own < 2; own++) { /* the last bytes of a palette are not there */
        struct bytes cut =
            make_gif(&(struct recipe){ 2, 1, .codes = "4:3 1:3 2:3", .flags = own ? 0x81 : 0 });
        cut.data = realloc(cut.data, cut.length = own ? 34 : 24);
        assert_int_equal(decode_bytes(&cut, &failure), STATUS_CORRUPT);
        assert_non_null(strstr(failure.message, "palette is cut off"));
        free(cut.data);
    }
    bytes.data[10] = 0; /* the palette becomes blocks of no kind */
    assert_int_equal(decode_bytes(&bytes, &failure), STATUS_CORRUPT);
    memmove(bytes.data + 13, bytes.data + 25, bytes.length - 25);
    bytes.length -= 12;
    assert_int_equal(decode_bytes(&bytes, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "no palette"));
    free(bytes.data);
}

/* Any cut of a file with neither trailer nor end is noticed. */
static void test_cuts(void **state) {
    (void)state;
    static const struct recipe recipes[] = {
        { 3, 3, .codes = "4:3 0:3 1:3 2:3 3:4 3:4 2:4 1:4 0:4 1:4", .behind = "" },
        { 3, 3, .codes = "4:3 0:3 1:3 2:3 3:4 3:4 2:4 1:4 0:4 1:4", .behind = "", .block = 2,
          .flags = 0xc1, .control = 3 },
    };
    for (size_t i = 0; i < 2; i++) {
        struct bytes bytes = make_gif(&recipes[i]);
        bytes.length--; /* the empty block: no pixel depends on it */
        assert_int_equal(decode_bytes(&bytes, NULL), STATUS_OK);
        assert_every_cut_corrupt(&bytes);
        free(bytes.data);
    }
}

/* Codes that each clear the table first, one a pixel: no entry is ever made. */
static char *literals(const uint8_t *indices, unsigned count) {
    char *codes = malloc(20 * count + 1), *at = codes;
    *at = '\0';
    for (unsigned i = 0; i < count; i++) at += sprintf(at, "256:9 %u:9 ", indices[i]);
    return codes;
}

/* A column whose pixels are in the order of an interlace's passes. */
static void test_interlace(void **state) {
    (void)state;
    for (unsigned rows = 1; rows <= 40; rows++) {
        uint8_t order[40], pixels[40];
        unsigned count = 0;
        for (unsigned y = 0; y < rows; y++) pixels[y] = (uint8_t)(y * 7 % 4);
        for (unsigned y = 0; y < rows; y += 8) order[count++] = pixels[y];
        for (unsigned y = 4; y < rows; y += 8) order[count++] = pixels[y];
        for (unsigned y = 2; y < rows; y += 4) order[count++] = pixels[y];
        for (unsigned y = 1; y < rows; y += 2) order[count++] = pixels[y];
        assert_int_equal(count, rows);
        char *codes = literals(order, rows);
        struct bytes bytes =
            make_gif(&(struct recipe){ 1, rows, .codes = codes, .literal_bits = 8, .flags = 0x40 });
        struct image image = must_decode(&bytes, NULL, NULL);
        for (unsigned y = 0; y < rows; y++)
            assert_memory_equal(image_row(&image, y), palette + 3 * pixels[y], 3);
        free(image.pixels);
        free(bytes.data);
        free(codes);
    }
}

/* With accept_damage whole rows stay, and a part of a row does not. */
static void test_accepted_damage(void **state) {
    (void)state;
    static const struct {
        struct recipe recipe;
        const char *pixels, *warning;
    } cases[] = {
        { { 2, 3, .codes = "4:3 1:3 2:3 3:3 5:4" }, "rg|kk|kk", "ends before" },
        { { 2, 3, .codes = "4:3 1:3 2:3 3:3 15:4" }, "rg|kk|kk", "no meaning" },
        { { 2, 3, .codes = "4:3 1:3 2:3 3:3 5:4", .control = 4 }, "rg|..|..", "ends before" },
        { { 1, 4, .codes = "4:3 1:3 2:3 5:3", .flags = 0x40 }, "r|k|g|k", "ends before" },
        { { 3, 3, 1, 1, 1, 2, .codes = "4:3 1:3 5:3" }, "...|.r.|...", "ends before" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = make_gif(&cases[i].recipe);
        struct image image;
        uint32_t notes;
        char warning[WARNING_MAX], text[64];
        assert_int_equal(decode_bytes(&bytes, NULL), STATUS_CORRUPT);
        assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_OK);
        assert_int_equal(notes, NOTE_DAMAGED);
        assert_non_null(strstr(warning, cases[i].warning));
        spell(&image, text);
        assert_string_equal(text, cases[i].pixels);
        free(image.pixels);
        free(bytes.data);
    }
    struct bytes bytes = make_gif(&(struct recipe){ 2, 3, .codes = "4:3 1:3 5:3" });
    struct image image;
    uint32_t notes;
    char warning[WARNING_MAX];
    assert_int_equal(take_damaged(&bytes, &image, &notes, warning), STATUS_CORRUPT); /* no row */
    free(bytes.data);
}

/* Each code stands for one index more than the one before, up to code 4095 of 4091 indices; then
 * that code comes again and again, in a table that is full and stays so. */
static void test_the_longest_strings(void **state) {
    (void)state;
    enum { LONGEST = 4095 - 4, REPEATED = 20 };
    char *codes = malloc(16 * (LONGEST + REPEATED)), *at = codes;
    for (unsigned k = 1; k <= LONGEST + REPEATED; k++) {
        unsigned next = k < 2 ? 6 : 6 + k - 2, width = 3;
        if (next > 4095) next = 4095;
        while (next >> width) width++;
        at += sprintf(at, "%u:%u ", k == 1 ? 2 : next, width);
    }
    /* 1 + 2 + ... + 4091 are 4091 x 2046 */
    struct bytes bytes = make_gif(&(struct recipe){ LONGEST, 2046 + REPEATED, .codes = codes });
    struct probe probe;
    assert_int_equal(
        probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
        STATUS_OK);
    assert_int_equal(probe.data_bytes_least, (2066 * 12 + 7) / 8);
    assert_in_range(probe.data_bytes, probe.data_bytes_least, 2 * probe.data_bytes_least);
    struct image image = must_decode(&bytes, NULL, NULL);
    for (uint32_t y = 0; y < image.height; y++)
        for (uint32_t x = 0; x < image.width; x++)
            if (memcmp(image_row(&image, y) + 3 * x, "\0\xff\0", 3) != 0) fail_msg("%u %u", x, y);
    free(image.pixels);
    free(bytes.data);
    free(codes);
}

/* Thirty bytes do not stand for a large picture, nor for a large canvas. */
static void test_bombs(void **state) {
    (void)state;
    static const struct {
        struct recipe recipe;
        enum status probe, data, damaged;
    } cases[] = {
        { { 65535, 65535, .codes = "4:3" }, STATUS_TOO_LARGE, STATUS_OK, STATUS_OK },
        { { 8000, 8000, .codes = "4:3" }, STATUS_OK, STATUS_CORRUPT, STATUS_CORRUPT },
        { { 8000, 8000, 0, 0, 1, 1, .codes = "4:3 0:3" },
          STATUS_OK,
          STATUS_CORRUPT,
          STATUS_CORRUPT },
        { { 1000, 1000, 9, 9, 1, 1, .codes = "4:3 0:3" }, STATUS_OK, STATUS_OK, STATUS_OK },
        { { 65535, 1, 65535, 0, 1, 1, .codes = "4:3 0:3" },
          STATUS_TOO_LARGE,
          STATUS_OK,
          STATUS_OK },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes = make_gif(&cases[i].recipe);
        struct probe probe;
        assert_int_equal(
            probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
            cases[i].probe);
        if (cases[i].probe != STATUS_OK) {
            free(bytes.data);
            continue;
        }
        assert_int_equal(probe_check_data(&probe, false, NULL), cases[i].data);
        assert_int_equal(probe_check_data(&probe, true, NULL), cases[i].damaged);
        free(bytes.data);
    }
}

/* The search for a second picture ends with it, and after 2^20 blocks. */
static void test_many_blocks(void **state) {
    (void)state;
    enum { BLOCKS = 1 << 20 };
    struct bytes one = make_gif(&(struct recipe){ 2, 1, .codes = "4:3 1:3 2:3", .behind = "" });
    for (int spare = 0; spare < 2; spare++) {
        /* Two blocks are the picture's; each comment has an empty one. */
        struct bytes bytes = { malloc(one.length + 3 * BLOCKS), one.length };
        memcpy(bytes.data, one.data, one.length);
        for (int i = 0; i < BLOCKS - 2 - spare; i++, bytes.length += 3)
            memcpy(bytes.data + bytes.length, "!\xfe", 3);
        struct failure failure;
        assert_int_equal(decode_bytes(&bytes, &failure), spare ? STATUS_OK : STATUS_CORRUPT);
        if (!spare) assert_non_null(strstr(failure.message, "1048576 blocks"));
        free(bytes.data);
    }
    free(one.data);
}

static void test_facts(void **state) {
    (void)state;
    struct bytes bytes = make_gif(
        &(struct recipe){ 2, 3, .codes = "4:3", .flags = 0xc1, .control = 2, .behind = "002c" });
    struct probe probe;
    assert_int_equal(
        probe_image(bytes.data, bytes.length, &codec_limits_default.probe, &probe, NULL),
        STATUS_OK);
    assert_true(probe.palette && probe.interlaced && !probe.animated && !probe.profile);
    assert_int_equal(probe.components, 1);
    assert_int_equal(probe.bits, 2);
    assert_int_equal(probe.width, 2);
    assert_int_equal(probe.height, 3);
    assert_int_equal(probe.shape.channels, 4);
    assert_int_equal(probe.shape.depth, 8);
    assert_string_equal(probe.space, "rgb");
    free(bytes.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_interlace),
        cmocka_unit_test(test_accepted_damage),
        cmocka_unit_test(test_the_longest_strings),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
