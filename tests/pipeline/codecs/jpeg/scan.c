// SPDX-License-Identifier: Apache-2.0
/* Scans written by hand, bit for bit, of prefix codes that are short enough to be read here. */
#include "pipeline/codecs/jpeg/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sizes of DC differences: 0 is 00, 2 is 01, 11 is 10, 12 is 110. */
static const uint8_t dc_counts[16] = { 0, 3, 1 }, dc_symbols[] = { 0, 2, 11, 12 };
/* Run and size of AC: end of block 0, (0,1) 10, 16 zeros 110, (14,1) 1110, (0,10) 11110, (0,11)
 * 111110, (2,0) 1111110, and (0,2) 111111100000, longer than the fast table. */
static const uint8_t ac_counts[16] = { 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
                     ac_symbols[] = { 0x00, 0x01, 0xf0, 0xe1, 0x0a, 0x0b, 0x20, 0x02 };

#define EMPTY        "00 0"             /* a block that repeats the last DC */
#define MOST         "10 11111111111"   /* DC: +2047 */
#define LEAST        "10 00000000000"   /* DC: -2047 */
#define AC_590       "11110 1001001110" /* one coefficient */
#define AC_591       "11110 1001001111"
#define AC_MINUS_590 "11110 0110110001"
#define AC_MINUS_591 "11110 0110110000"

static struct huffman dc, ac;
static uint8_t ones[64], tens[64];

static struct jpeg_scan gray(uint32_t width, uint32_t interval, const uint8_t *steps) {
    return (struct jpeg_scan){ .components = 1,
                               .across = 1,
                               .down = 1,
                               .width = width,
                               .height = 8,
                               .interval = interval,
                               .dc = { &dc },
                               .ac = { &ac },
                               .quantization = { steps } };
}

static void add_byte(uint8_t *bytes, size_t *length, unsigned byte) {
    bytes[(*length)++] = (uint8_t)byte;
    if (byte == 0xff) bytes[(*length)++] = 0;
}

/* Digits are bits; M and a digit fill the byte with ones and set that restart marker. Behind all
 * comes the end of the image. */
static size_t write_scan(const char *text, uint8_t *bytes) {
    size_t length = 0;
    unsigned window = 1; /* a one above the bits of this byte */
    for (;; text++) {
        if (*text == ' ') continue;
        if (*text == '0' || *text == '1') {
            window = window << 1 | (unsigned)(*text - '0');
        } else {
            while (window > 1 && window < 256) window = window << 1 | 1;
        }
        if (window >= 256) {
            add_byte(bytes, &length, window & 255);
            window = 1;
        }
        if (*text && *text != 'M') continue;
        bytes[length++] = 0xff;
        bytes[length++] = *text ? (uint8_t)(0xd0 + *++text - '0') : 0xd9;
        if (bytes[length - 1] == 0xd9) return length;
    }
}

/* In memory of exactly LENGTH bytes, so that a sanitizer sees one read too many. */
static bool sound_bytes(const struct jpeg_scan *scan, const uint8_t *bytes, size_t length) {
    uint8_t *exact = malloc(length ? length : 1);
    memcpy(exact, bytes, length);
    const bool sound = jpeg_scan_is_sound(scan, exact, length);
    free(exact);
    return sound;
}

static bool sound(struct jpeg_scan scan, const char *text) {
    uint8_t bytes[256];
    return sound_bytes(&scan, bytes, write_scan(text, bytes));
}

/* ---- tests */

static bool makes_code(const uint8_t counts[16]) {
    static const uint8_t symbols[256] = { 0 };
    struct huffman code;
    return huffman_make(&code, counts, symbols);
}

static void prefix_codes(void **state) {
    (void)state;
    assert_false(makes_code((uint8_t[16]){ 0 }));
    assert_true(makes_code((uint8_t[16]){ 1 }));  /* incomplete ones are common */
    assert_false(makes_code((uint8_t[16]){ 2 })); /* 1 is all ones */
    assert_false(makes_code((uint8_t[16]){ 3 }));
    assert_true(makes_code((uint8_t[16]){ 0, 3 }));
    assert_false(makes_code((uint8_t[16]){ 0, 4 }));
    assert_true(makes_code((uint8_t[16]){ 1, 1, 1 }));
    assert_false(makes_code((uint8_t[16]){ 1, 1, 2 }));    /* 111 */
    assert_false(makes_code((uint8_t[16]){ 1, 2, 1 }));    /* 11, and one more */
    assert_false(makes_code((uint8_t[16]){ 0, 3, 0, 4 })); /* 1111 */
    assert_true(makes_code((uint8_t[16]){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }));
    assert_false(makes_code((uint8_t[16]){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2 }));
}

static void assert_entry(const struct huffman *code, unsigned next, int symbol, int number,
                         int bits) {
    const struct huffman_entry *entry = &code->lookup[next];
    assert_true(entry->symbol == symbol && entry->number == number && entry->bits == bits);
}

/* Ten bits index the table; an entry has no number if the number reaches past them. */
static void codes_by_the_next_bits(void **state) {
    (void)state;
    assert_int_equal(HUFFMAN_LOOKUP_BITS, 10);
    assert_entry(&dc, 0x000, 0, 0, 2);
    assert_entry(&dc, 0x0ff, 0, 0, 2);
    assert_entry(&dc, 0x100, 2, -3, 4); /* 01, 00 and six bits more */
    assert_entry(&dc, 0x17f, 2, -2, 4); /* 01, 01 */
    assert_entry(&dc, 0x180, 2, 2, 4);
    assert_entry(&dc, 0x1ff, 2, 3, 4);
    assert_entry(&dc, 0x2ff, 11, 0, 2);   /* 10 */
    assert_entry(&dc, 0x37f, 12, 0, 3);   /* 110 */
    assert_entry(&dc, 0x380, 0, 0, 0);    /* 111: none */
    assert_entry(&ac, 0x3bf, 0xe1, 1, 5); /* 1110, 1 and five bits more */
    assert_entry(&ac, 0x3a0, 0xe1, 1, 5);
    assert_entry(&ac, 0x39f, 0xe1, -1, 5);
    assert_entry(&ac, 0x3f8, 0, 0, 0); /* 1111111000: longer */
    assert_int_equal(ac.first[12], 0xfe0);
    assert_int_equal(ac.last[12], 0xfe0);
    assert_int_equal(ac.symbols[ac.from[12]], 0x02);
    assert_int_equal(ac.last[11], -1);
}

static void all_blocks_and_not_one_more(void **state) {
    (void)state;
    assert_true(sound(gray(8, 0, ones), EMPTY));
    assert_false(sound(gray(8, 0, ones), ""));
    assert_true(sound(gray(9, 0, ones), EMPTY EMPTY));
    assert_false(sound(gray(9, 0, ones), EMPTY));
    assert_false(sound(gray(17, 0, ones), EMPTY EMPTY));
    assert_false(sound(gray(16, 0, ones), EMPTY EMPTY EMPTY)); /* 9 bits: a second byte */
    assert_false(sound(gray(8, 0, ones), EMPTY "11111 00000000"));
    assert_false(sound(gray(8, 0, ones), "00 10")); /* ends within a number, if not for the fill */
    struct jpeg_scan tall = gray(8, 0, ones);
    tall.height = 9;
    assert_false(sound(tall, EMPTY));
    assert_true(sound(tall, EMPTY EMPTY));
}

static void ends_with_its_marker(void **state) {
    (void)state;
    const struct jpeg_scan scan = gray(8, 0, ones);
    static const uint8_t whole[] = { 0x1f, 0xff, 0xd9 }, more[] = { 0x1f, 0xff, 0xd9, 0 },
                         fill[] = { 0x1f, 0xff, 0xff, 0xd9 }, other[] = { 0x1f, 0xff, 0xda },
                         stuffed[] = { 0x3d, 0xff, 0, 0xbf, 0xff, 0xd9 },
                         bare[] = { 0x3d, 0xff, 0xbf, 0xff, 0xd9 };
    assert_true(sound_bytes(&scan, whole, 3));
    for (size_t length = 0; length < 3; length++) assert_false(sound_bytes(&scan, whole, length));
    assert_false(sound_bytes(&scan, more, sizeof more));
    assert_false(sound_bytes(&scan, fill, sizeof fill));
    assert_false(sound_bytes(&scan, other, sizeof other));
    /* DC 00, then 11110 and ten ones, 0: an 0xff of data, and the same without its 0 behind. */
    assert_true(sound_bytes(&scan, stuffed, sizeof stuffed));
    assert_false(sound_bytes(&scan, bare, sizeof bare));
}

static void restarts_in_turn(void **state) {
    (void)state;
    assert_true(sound(gray(24, 1, ones), EMPTY "M0" EMPTY "M1" EMPTY));
    assert_true(sound(gray(24, 2, ones), EMPTY EMPTY "M0" EMPTY));
    assert_true(sound(gray(24, 9, ones), EMPTY EMPTY EMPTY));
    assert_true(sound(gray(80, 1, ones),
                      EMPTY "M0" EMPTY "M1" EMPTY "M2" EMPTY "M3" EMPTY "M4" EMPTY "M5" EMPTY
                            "M6" EMPTY "M7" EMPTY "M0" EMPTY));
    static const char *const wrong[] = {
        EMPTY "M1" EMPTY "M2" EMPTY,
        EMPTY "M0" EMPTY "M0" EMPTY,
        EMPTY "M0" EMPTY EMPTY,
        EMPTY EMPTY EMPTY,
        EMPTY "M0" EMPTY "M1" EMPTY "M2",
        "M0" EMPTY "M1" EMPTY "M2" EMPTY,
        EMPTY "M0" EMPTY "11111 000 M1" EMPTY,
        EMPTY "M0 M1" EMPTY,
        EMPTY "11111 01010101 M0" EMPTY "M1" EMPTY,
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (sound(gray(24, 1, ones), wrong[i])) fail_msg("scan %zu was taken", i);
    assert_false(sound(gray(24, 0, ones), EMPTY "M0" EMPTY "M1" EMPTY));
    assert_false(sound(gray(24, 2, ones), EMPTY "M0" EMPTY "M1" EMPTY));
}

static void dc_within_its_range(void **state) {
    (void)state;
    assert_true(sound(gray(8, 0, ones), MOST "0"));
    assert_true(sound(gray(16, 0, ones), MOST "0 01 01 0"));  /* +2047 - 2 */
    assert_false(sound(gray(16, 0, ones), MOST "0 01 10 0")); /* +2047 + 2 */
    assert_true(sound(gray(16, 0, ones), LEAST "0 01 10 0"));
    assert_false(sound(gray(16, 0, ones), LEAST "0 01 01 0"));
    assert_false(sound(gray(16, 0, ones), "10 11111111110 0 01 10 0")); /* +2046 + 2 */
    assert_false(sound(gray(16, 0, ones), "10 00000000001 0 01 01 0")); /* -2046 - 2 */
    assert_true(sound(gray(16, 1, ones), MOST "0 M0" MOST "0"));        /* each from 0 */
    /* -2047 + 2048 is 1, but no encoder writes a difference of 12 bits. */
    assert_false(sound(gray(16, 0, ones), LEAST "0 110 100000000000 0"));
    assert_false(sound(gray(8, 0, ones), "111 0"));
}

static void coefficients_within_the_block(void **state) {
    (void)state;
    assert_true(sound(gray(8, 0, ones), "00 110 110 110 1110 1"));       /* place 63 */
    assert_false(sound(gray(8, 0, ones), "00 10 1 110 110 110 1110 1")); /* place 64 */
    assert_false(sound(gray(8, 0, ones), "00 110 110 110 110 0"));
    assert_true(sound(gray(8, 0, ones), "00 11110 1000000000 0"));
    assert_false(sound(gray(8, 0, ones), "00 111110 10000000000 0")); /* 11 bits */
    assert_false(sound(gray(8, 0, ones), "00 1111110 0"));            /* a run of 2 and nothing */
    assert_true(sound(gray(8, 0, ones), "00 111111100000 10 0"));
    assert_false(sound(gray(8, 0, ones), "00 111111100001 10 0"));
    assert_false(sound(gray(8, 0, ones), "00 1111111111111111 0"));
}

/* Steps of 10: 5900 is the most that a column may hold. Places 1 and 4 are of column 1, place 2 of
 * column 0. */
static void columns_within_their_bound(void **state) {
    (void)state;
    assert_true(sound(gray(8, 0, tens), "00" AC_590 "0"));
    assert_true(sound(gray(8, 0, tens), "00" AC_MINUS_590 "0"));
    assert_false(sound(gray(8, 0, tens), "00" AC_591 "0"));
    assert_false(sound(gray(8, 0, tens), "00" AC_MINUS_591 "0"));
    assert_true(sound(gray(8, 0, tens), "00" AC_590 AC_590 "0"));
    assert_true(sound(gray(8, 0, tens), "00" AC_590 "10 1 10 1 0"));
    assert_false(sound(gray(8, 0, tens), "00" AC_590 "10 1 10 1 10 1 0"));
    assert_false(sound(gray(8, 0, tens), "00" AC_590 "10 1 10 1 10 0 0")); /* -1 */
    /* DC is of column 0: 2 x 10 and 588 x 10 fit, 3 x 10 do not. */
    assert_true(sound(gray(8, 0, tens), "01 10 10 1 11110 1001001100 0"));
    assert_false(sound(gray(8, 0, tens), "01 11 10 1 11110 1001001100 0"));
    assert_false(sound(gray(8, 0, tens), MOST "0"));
}

/* Columns 0 and 4, 1 and 5, 3 and 7 are added in 16 bits by the transform's second pass; 2 and 6
 * are not. */
static void pairs_of_columns_within_their_bound(void **state) {
    (void)state;
    /* End of block 0000, sizes of 10 bits behind a run: of 0 0001, 1 0010, 4 0011, 5 0100,
     * 11 0101, 13 0110; 16 zeros 0111. */
    static const uint8_t counts[16] = { 0, 0, 0, 8 };
    static const uint8_t symbols[] = { 0x00, 0x0a, 0x1a, 0x4a, 0x5a, 0xba, 0xda, 0xf0 };
    static const struct {
        const char *first, *second;
        bool paired;
    } places[] = {
        { "0010", "0101", true },       /* 2 and 14: columns 0 and 4 */
        { "0001", "0110", true },       /* 1 and 15: 1 and 5 */
        { "0100", "0111 0100", true },  /* 6 and 28: 3 and 7 */
        { "0011", "0111 0100", false }, /* 5 and 27: 2 and 6 */
    };
    static struct huffman runs;
    struct jpeg_scan scan = gray(8, 0, tens);
    scan.ac[0] = &runs;
    assert_true(huffman_make(&runs, counts, symbols));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char text[80];
        snprintf(text, sizeof text, "00 %s 1001001110 0000", places[i].first);
        assert_true(sound(scan, text)); /* 590 */
        snprintf(text, sizeof text, "00 %s 1001001110 %s 0110110001 0000", places[i].first,
                 places[i].second);
        assert_int_equal(sound(scan, text), !places[i].paired); /* and -590 */
    }
}

/* 2x2 blocks of the first component, one of each other, each with a DC of its own. */
static void components_by_turns(void **state) {
    (void)state;
    struct jpeg_scan scan = gray(16, 0, ones);
    scan.components = 3;
    scan.across = scan.down = 2;
    scan.height = 16;
    scan.dc[1] = scan.dc[2] = &dc;
    scan.ac[1] = scan.ac[2] = &ac;
    scan.quantization[1] = scan.quantization[2] = ones;
    assert_true(sound(scan, EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY));
    assert_false(sound(scan, EMPTY EMPTY EMPTY EMPTY EMPTY));
    assert_true(sound(scan, MOST "0" EMPTY EMPTY EMPTY MOST "0" LEAST "0"));
    assert_false(sound(scan, MOST "0" MOST "0" EMPTY EMPTY EMPTY EMPTY));
    scan.quantization[2] = tens;
    assert_true(sound(scan, EMPTY EMPTY EMPTY EMPTY MOST "0" EMPTY));
    assert_false(sound(scan, EMPTY EMPTY EMPTY EMPTY EMPTY MOST "0"));
    scan.width = 17;
    assert_false(sound(scan, EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY));
}

static int make_codes(void **state) {
    (void)state;
    memset(ones, 1, sizeof ones);
    memset(tens, 10, sizeof tens);
    return !huffman_make(&dc, dc_counts, dc_symbols) || !huffman_make(&ac, ac_counts, ac_symbols);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefix_codes),
        cmocka_unit_test(codes_by_the_next_bits),
        cmocka_unit_test(all_blocks_and_not_one_more),
        cmocka_unit_test(ends_with_its_marker),
        cmocka_unit_test(restarts_in_turn),
        cmocka_unit_test(dc_within_its_range),
        cmocka_unit_test(coefficients_within_the_block),
        cmocka_unit_test(columns_within_their_bound),
        cmocka_unit_test(pairs_of_columns_within_their_bound),
        cmocka_unit_test(components_by_turns),
    };
    return cmocka_run_group_tests(tests, make_codes, NULL);
}
