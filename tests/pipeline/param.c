// SPDX-License-Identifier: Apache-2.0
#include "pipeline/param.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { BINS, SHIFT, BINARY, SCALE, TAPS, WIDTH, GAIN, INK, GRID };
static const struct param list[] = {
    [BINS] = { .name = "bins", .type = PARAM_INT, .min = 2, .max = 65536, .def = 256 },
    [SHIFT] = { .name = "shift", .type = PARAM_INT, .min = -255, .max = 255 },
    [BINARY] = { .name = "binary", .type = PARAM_BOOL },
    [SCALE] = { .name = "scale", .type = PARAM_CHOICE, .choices = { "minmax", "maxabs" } },
    [TAPS] = { .name = "taps", .type = PARAM_TAPS, .min = -100, .max = 100 },
    [WIDTH] = { .name = "width", .type = PARAM_INT, .min = 1, .max = 9, .required = true },
    [GAIN] = { .name = "gain", .type = PARAM_DECIMAL, .min = -500, .max = 10000, .def = 1500 },
    [INK] = { .name = "ink", .type = PARAM_COLOUR, .def = 0xffffffff },
    [GRID] = { .name = "grid", .type = PARAM_PAIR, .min = 1, .max = 12, .def = PAIR(4, 3) },
    { .type = PARAM_NONE },
};

static const struct wrong {
    const char *name, *value, *message;
} wrongs[] = {
    { "bins", "70000", "op: bins must be 2..65536, not 70000" },
    { "bins", "1", "op: bins must be 2..65536, not 1" },
    { "bins", "", "op: bins must be an integer 2..65536, not \"\"" },
    { "bins", "12x", "op: bins must be an integer 2..65536, not \"12x\"" },
    { "bins", " 12", "op: bins must be an integer 2..65536, not \" 12\"" },
    { "bins", "12 ", "op: bins must be an integer 2..65536, not \"12 \"" },
    { "bins", "1e3", "op: bins must be an integer 2..65536, not \"1e3\"" },
    { "bins", "0x10", "op: bins must be an integer 2..65536, not \"0x10\"" },
    { "bins", "-", "op: bins must be an integer 2..65536, not \"-\"" },
    { "bins", "99999999999999999999",
      "op: bins must be an integer 2..65536, not \"99999999999999999999\"" },
    { "bins", "\xc3\xa9\n", "op: bins must be an integer 2..65536, not \"???\"" },
    { "binary", "maybe", "op: binary must be true | false, not \"maybe\"" },
    { "scale", "max", "op: scale must be minmax | maxabs, not \"max\"" },
    { "scale", "", "op: scale must be minmax | maxabs, not \"\"" },
    { "gain", "0.1234",
      "op: gain must be a number -0.5..10 with at most three places after the point, not "
      "\"0.1234\"" },
    { "gain", "10.001",
      "op: gain must be a number -0.5..10 with at most three places after the point, not "
      "\"10.001\"" },
    { "gain", "1e1",
      "op: gain must be a number -0.5..10 with at most three places after the point, not "
      "\"1e1\"" },
    { "ink", "redd", "op: ink must be RRGGBB, RRGGBBAA or a CSS colour name, not \"redd\"" },
    { "ink", "12345g", "op: ink must be RRGGBB, RRGGBBAA or a CSS colour name, not \"12345g\"" },
    { "ink", "-12345", "op: ink must be RRGGBB, RRGGBBAA or a CSS colour name, not \"-12345\"" },
    { "ink", "##12345", "op: ink must be RRGGBB, RRGGBBAA or a CSS colour name, not \"##12345\"" },
    { "ink", "1234567", "op: ink must be RRGGBB, RRGGBBAA or a CSS colour name, not \"1234567\"" },
    { "ink", "", "op: ink must be RRGGBB, RRGGBBAA or a CSS colour name, not \"\"" },
    { "grid", "4", "op: grid must be 1x1..12x12, not \"4\"" },
    { "grid", "4x", "op: grid must be 1x1..12x12, not \"4x\"" },
    { "grid", "x3", "op: grid must be 1x1..12x12, not \"x3\"" },
    { "grid", "0x3", "op: grid must be 1x1..12x12, not \"0x3\"" },
    { "grid", "3x13", "op: grid must be 1x1..12x12, not \"3x13\"" },
    { "grid", "13x3", "op: grid must be 1x1..12x12, not \"13x3\"" },
    { "grid", "4x3x2", "op: grid must be 1x1..12x12, not \"4x3x2\"" },
    { "grid", "4X3", "op: grid must be 1x1..12x12, not \"4X3\"" },
    { "grid", "4x 3", "op: grid must be 1x1..12x12, not \"4x 3\"" },
    { "grid", "4x-3", "op: grid must be 1x1..12x12, not \"4x-3\"" },
    { "grid", "4x18446744073709551619",
      "op: grid must be 1x1..12x12, not \"4x18446744073709551619\"" },
    { "grid", "", "op: grid must be 1x1..12x12, not \"\"" },
    { "taps", "1 2 3", "op: taps must be 9 or 25 integers -100..100, not \"1 2 3\"" },
    { "taps", "1 2 3 4 5 6 7 8 101",
      "op: taps must be 9 or 25 integers -100..100, not \"1 2 3 4 5 6 7 8 101\"" },
    { "taps", "1,2,3,4,5,6,7,8,9,",
      "op: taps must be 9 or 25 integers -100..100, not \"1,2,3,4,5,6,7,8,9,\"" },
    { "taps", "1,,2 3 4 5 6 7 8 9",
      "op: taps must be 9 or 25 integers -100..100, not \"1,,2 3 4 5 6 7 8 9\"" },
    { "bin", "2",
      "op has no parameter \"bin\"; did you mean \"bins\"? It takes bins, shift, binary, scale, "
      "taps, width, gain, ink, grid" },
    { "colour", "2",
      "op has no parameter \"colour\"; it takes bins, shift, binary, scale, taps, width, "
      "gain, ink, grid" },
};

static void refuses_what_is_wrong(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct params params;
        struct failure failure = { 0 };
        params_init(&params, list);
        struct params before = params;
        assert_int_equal(params_set(&params, list, "op", wrongs[i].name, wrongs[i].value, &failure),
                         STATUS_BAD_PARAM);
        assert_string_equal(failure.message, wrongs[i].message);
        assert_memory_equal(&params, &before, sizeof params);
    }
}

static void keeps_what_is_right(void **state) {
    (void)state;
    struct params params;
    params_init(&params, list);
    assert_int_equal(params.number[BINS], 256);
    assert_int_equal(params.given, 0);
    assert_int_equal(params_set(&params, list, "op", "bins", "65536", NULL), STATUS_OK);
    assert_int_equal(params_set(&params, list, "op", "shift", "-255", NULL), STATUS_OK);
    assert_int_equal(params_set(&params, list, "op", "binary", "Yes", NULL), STATUS_OK);
    assert_int_equal(params_set(&params, list, "op", "scale", "maxabs", NULL), STATUS_OK);
    assert_int_equal(params.number[GRID], PAIR(4, 3));
    assert_int_equal(params_set(&params, list, "op", "grid", "9x12", NULL), STATUS_OK);
    assert_int_equal(PAIR_FIRST(params.number[GRID]), 9);
    assert_int_equal(PAIR_SECOND(params.number[GRID]), 12);
    assert_int_equal(params_set(&params, list, "op", "taps", "-1 2,3, 4\t5 6 7 8 +9", NULL),
                     STATUS_OK);
    assert_int_equal(params.number[BINS], 65536);
    assert_int_equal(params.number[SHIFT], -255);
    assert_int_equal(params.number[BINARY], 1);
    assert_int_equal(params.number[SCALE], 1);
    assert_int_equal(params.tap_count, 9);
    for (int i = 1; i < 9; i++) assert_int_equal(params.taps[i], i + 1);
    assert_int_equal(params.taps[0], -1);
    assert_int_equal(params.given, 0x1f | 1 << GRID);
}

static void twice_and_missing(void **state) {
    (void)state;
    struct params params;
    struct failure failure;
    params_init(&params, list);
    assert_int_equal(params_complete(&params, list, "op", &failure), STATUS_BAD_PARAM);
    assert_string_equal(failure.message, "op: width must be given: integer 1..9");
    assert_int_equal(params_set(&params, list, "op", "width", "3", NULL), STATUS_OK);
    assert_int_equal(params_complete(&params, list, "op", NULL), STATUS_OK);
    assert_int_equal(params_set(&params, list, "op", "width", "3", &failure), STATUS_BAD_PARAM);
    assert_string_equal(failure.message, "op: width is given twice; give it once");
}

static void no_list(void **state) {
    (void)state;
    struct params params;
    struct failure failure;
    params_init(&params, NULL);
    assert_int_equal(params_set(&params, NULL, "op", "a", "1", &failure), STATUS_BAD_PARAM);
    assert_string_equal(failure.message, "op has no parameter \"a\"; it takes none");
    assert_int_equal(params_complete(&params, NULL, "op", NULL), STATUS_OK);
}

static void printed_reads_back(void **state) {
    (void)state;
    static const char *const values[] = {
        [BINS] = "512",     [SHIFT] = "-7",     [BINARY] = "true",
        [SCALE] = "minmax", [WIDTH] = "9",      [TAPS] = "1 2 3 4 5 6 7 8 -9",
        [GAIN] = "-0.25",   [INK] = "00fe0180", [GRID] = "12x1",
    };
    for (int i = 0; i <= GRID; i++) {
        struct params params, again;
        char text[400], small[3];
        params_init(&params, list);
        params_init(&again, list);
        assert_int_equal(params_set(&params, list, "op", list[i].name, values[i], NULL), STATUS_OK);
        param_print(&list[i], &params, i, text, sizeof text);
        assert_string_equal(text, values[i]);
        assert_int_equal(params_set(&again, list, "op", list[i].name, text, NULL), STATUS_OK);
        assert_memory_equal(&params, &again, sizeof params);
        param_print(&list[i], &params, i, small, sizeof small);
        assert_true(strlen(small) < sizeof small);
    }
}

/* Thousandths in a list's place; 9 or 12 of them. */
static void a_matrix(void **state) {
    (void)state;
    static const struct param matrix[] = {
        { .name = "matrix", .type = PARAM_MATRIX, .min = -7999, .max = 7999 },
        { .type = PARAM_NONE },
    };
    static const char *const wrong[] = { "1 2 3 4 5 6 7 0",          "1 2 3 4 5 6 7 0 1 2 3",
                                         "1 2 3 4 5 6 7 0 8",        "1 2 3 4 5 6 7 0 1.0001",
                                         "1 2 3 4 5 6 7 0 -8.0",     "1,2,,3 4 5 6 7 0 1",
                                         "1 2 3 4 5 6 7 0 1,",       "1 2 3 4 5 6 7 0 1e0",
                                         "1 2 3 4 5 6 7 0 1 0x1 1 1" };
    struct params params;
    struct failure failure = { 0 };
    char text[200];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        params_init(&params, matrix);
        assert_int_equal(params_set(&params, matrix, "op", "matrix", wrong[i], &failure),
                         STATUS_BAD_PARAM);
        assert_non_null(strstr(failure.message, "matrix must be 9 or 12 numbers -7.999..7.999"));
    }
    params_init(&params, matrix);
    assert_int_equal(params_set(&params, matrix, "op", "matrix",
                                " 0.393,-7.999, 7.999\t0 1 -0.5 2.25 3 0 1 1 -0.001", NULL),
                     STATUS_OK);
    assert_int_equal(params.tap_count, 12);
    assert_int_equal(params.taps[0], 393);
    assert_int_equal(params.taps[11], -1);
    assert_true(params_is_valid(&params, matrix, 0));
    param_print(&matrix[0], &params, 0, text, sizeof text);
    assert_string_equal(text, "0.393 -7.999 7.999 0 1 -0.5 2.25 3 0 1 1 -0.001");
    params.taps[3] = 8000;
    assert_false(params_is_valid(&params, matrix, 0));
    params.taps[3] = 0, params.tap_count = 25;
    assert_false(params_is_valid(&params, matrix, 0));
}

static void decimals(void **state) {
    (void)state;
    static const struct {
        const char *text, *back; /* back: NULL where text is no such number */
        long thousandths;
    } table[] = {
        { "0", "0", 0 },
        { "-0", "0", 0 },
        { "1.5", "1.5", 1500 },
        { "+1.500", "1.5", 1500 },
        { "-0.001", "-0.001", -1 },
        { "007.25", "7.25", 7250 },
        { "100", "100", 100000 },
        { "999999999999999.999", "999999999999999.999", 999999999999999999 },
        { "1000000000000000", NULL, 0 },
        { "1.0000", NULL, 0 },
        { "1.", NULL, 0 },
        { ".5", NULL, 0 },
        { "", NULL, 0 },
        { "-", NULL, 0 },
        { "1,5", NULL, 0 },
        { "1.5 ", NULL, 0 },
        { "nan", NULL, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[DECIMAL_TEXT_MAX];
        long number = -7;
        assert_int_equal(param_decimal(table[i].text, &number), table[i].back != NULL);
        if (!table[i].back) continue;
        assert_int_equal(number, table[i].thousandths);
        assert_string_equal(param_decimal_print(number, text), table[i].back);
    }
    char text[DECIMAL_TEXT_MAX];
    assert_string_equal(param_decimal_print(LONG_MIN, text), "-9223372036854775.808");
}

static void colours(void **state) {
    (void)state;
    static const struct {
        const char *text, *back;
        uint32_t rgba;
    } table[] = {
        { "ffffff", "ffffff", 0xffffffff },      { "#0aFf10", "0aff10", 0x0aff10ff },
        { "00000000", "00000000", 0 },           { "#12345678", "12345678", 0x12345678 },
        { "ABCDEFff", "abcdef", 0xabcdefff },    { "000000", "000000", 0xff },
        { "aliceblue", "f0f8ff", 0xf0f8ffff },   { "Tomato", "ff6347", 0xff6347ff },
        { "YELLOWGREEN", "9acd32", 0x9acd32ff }, { "transparent", "00000000", 0 },
    };
    struct params params;
    params_init(&params, list);
    assert_int_equal(params.number[INK], 0xffffffff);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[COLOUR_TEXT_MAX];
        uint32_t rgba = 7;
        assert_true(param_colour(table[i].text, &rgba));
        assert_int_equal(rgba, table[i].rgba);
        assert_string_equal(param_colour_print(rgba, text), table[i].back);
        params_init(&params, list);
        assert_int_equal(params_set(&params, list, "op", "ink", table[i].text, NULL), STATUS_OK);
        assert_int_equal(params.number[INK], table[i].rgba);
    }
}

/* No name: a part of one, two of them, digits of the table. */
static void no_colours(void **state) {
    (void)state;
    static const char *const texts[] = { "",     "tomat", "tomatoes",         "f0f8f", "red blue",
                                         "red ", "#red",  "aliceblue f0f8ff", "grüne", "1000000" };
    uint32_t rgba;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(param_colour(texts[i], &rgba));
}

/* Half up, at least the minimum, of the parameter's own side. */
static void percentages(void **state) {
    (void)state;
    enum { ACROSS, DOWN, BY };
    static const struct param sides[] = {
        [ACROSS] = { .name = "across",
                     .type = PARAM_INT,
                     .min = 1,
                     .max = 500,
                     .share = SHARE_OF_WIDTH },
        [DOWN] = { .name = "down",
                   .type = PARAM_INT,
                   .min = 1,
                   .max = 500,
                   .share = SHARE_OF_HEIGHT },
        [BY] = { .name = "by",
                 .type = PARAM_INT,
                 .min = -500,
                 .max = 500,
                 .share = SHARE_OF_WIDTH },
        { .type = PARAM_NONE },
    };
    static const struct {
        int index;
        const char *text;
        long number; /* of 61 x 47 */
        const char *message;
    } table[] = {
        { ACROSS, "50%", 31, NULL },
        { DOWN, "50%", 24, NULL },
        { DOWN, "12.5%", 6, NULL },
        { ACROSS, "0.001%", 1, NULL },
        { ACROSS, "100%", 61, NULL },
        { DOWN, "200%", 94, NULL },
        { BY, "-50%", -30, NULL },
        { BY, "-10%", -6, NULL },
        { BY, "0%", 0, NULL },
        { ACROSS, "0%", 0, "op: across must be 1..500, and 0% of 61 pixels is 0" },
        { DOWN, "1100%", 0, "op: down must be 1..500, and 1100% of 47 pixels is 517" },
        { DOWN, "-1%", 0, "op: down must be 1..500, and -1% of 47 pixels is 0" },
    };
    static const char *const wrong[] = { "%", "5%%", "5 %", "1.2345%", "100001%", "x%", "5%5" };
    struct params params;
    char text[32];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct failure failure = { 0 };
        const char *name = sides[table[i].index].name;
        params_init(&params, sides);
        assert_int_equal(params_set(&params, sides, "op", name, table[i].text, NULL), STATUS_OK);
        param_print(&sides[table[i].index], &params, table[i].index, text, sizeof text);
        assert_string_equal(text, table[i].text);
        assert_int_equal(params_settle(&params, sides, "op", 61, 47, &failure),
                         table[i].message ? STATUS_BAD_PARAM : STATUS_OK);
        if (table[i].message) {
            assert_string_equal(failure.message, table[i].message);
            continue;
        }
        assert_int_equal(params.number[table[i].index], table[i].number);
        assert_int_equal(params.percent, 0);
        assert_int_equal(params_settle(&params, sides, "op", 9, 9, NULL), STATUS_OK);
        assert_int_equal(params.number[table[i].index], table[i].number);
    }
    params_init(&params, sides);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(params_set(&params, sides, "op", "across", wrong[i], NULL),
                         STATUS_BAD_PARAM);
    params_init(&params, list);
    assert_int_equal(params_set(&params, list, "op", "bins", "50%", NULL), STATUS_BAD_PARAM);
}

static void shown_is_cut(void **state) {
    (void)state;
    char shown[PARAM_SHOWN_MAX], text[200];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    param_shown(text, shown);
    assert_int_equal(strlen(shown), PARAM_SHOWN_MAX - 1);
    assert_string_equal(shown + PARAM_SHOWN_MAX - 4, "...");
    text[PARAM_SHOWN_MAX - 4] = '\0';
    assert_string_equal(param_shown(text, shown), text);
}

static void nearest(void **state) {
    (void)state;
    static const char *const names[] = { "histeq", "histogram", "edge", "carve", "body_bytes_max" };
    size_t count = sizeof names / sizeof *names;
    assert_string_equal(nearest_name("histqe", names, count), "histeq");
    assert_string_equal(nearest_name("hist", names, count), "histeq");
    assert_string_equal(nearest_name("histo", names, count), "histogram");
    assert_string_equal(nearest_name("edges", names, count), "edge");
    assert_string_equal(nearest_name("EDGE", names, count), "edge");
    assert_null(nearest_name("max-body-bytes", names, count));
    assert_string_equal(nearest_name("body-byte-max", names, count), "body_bytes_max");
    assert_null(nearest_name("blur", names, count));
    assert_null(nearest_name("", names, count));
    assert_null(nearest_name("edge", names, 0));
    char text[5000];
    memset(text, 'e', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_null(nearest_name(text, names, count));
}

/* Numbers at and just beyond each end of a parameter's range. */
static void numbers_that_no_text_can_give(void **state) {
    (void)state;
    static const struct {
        int index;
        long number;
        bool valid;
    } cases[] = {
        { BINS, 2, true },           { BINS, 65536, true },       { BINS, 1, false },
        { BINS, 65537, false },      { BINARY, 0, true },         { BINARY, 1, true },
        { BINARY, 2, false },        { BINARY, -1, false },       { SCALE, 1, true },
        { SCALE, 2, false },         { SCALE, -1, false },        { GAIN, -500, true },
        { GAIN, 10001, false },      { INK, 0xffffffff, true },   { INK, 0x100000000, false },
        { INK, -1, false },          { GRID, PAIR(12, 1), true }, { GRID, PAIR(13, 1), false },
        { GRID, PAIR(1, 0), false }, { GRID, -1, false },
    };
    struct params params;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        params_init(&params, list);
        params.number[cases[i].index] = cases[i].number;
        assert_int_equal(params_is_valid(&params, list, cases[i].index), cases[i].valid);
    }
    params_init(&params, list);
    assert_false(params_is_valid(&params, list, TAPS)); /* none */
    params.tap_count = 9;
    assert_true(params_is_valid(&params, list, TAPS));
    params.taps[8] = 101;
    assert_false(params_is_valid(&params, list, TAPS));
    params.tap_count = 10;
    params.taps[8] = 0;
    assert_false(params_is_valid(&params, list, TAPS));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_wrong),
        cmocka_unit_test(numbers_that_no_text_can_give),
        cmocka_unit_test(keeps_what_is_right),
        cmocka_unit_test(twice_and_missing),
        cmocka_unit_test(no_list),
        cmocka_unit_test(printed_reads_back),
        cmocka_unit_test(a_matrix),
        cmocka_unit_test(decimals),
        cmocka_unit_test(colours),
        cmocka_unit_test(no_colours),
        cmocka_unit_test(percentages),
        cmocka_unit_test(shown_is_cut),
        cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests_name("param", tests, NULL, NULL);
}
