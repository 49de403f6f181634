// SPDX-License-Identifier: Apache-2.0
/* Settings of the result as text: what each may be, and that nothing else is taken. */
#include "pipeline/encode_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int index_of(const char *name) {
    for (int i = 0; encode_option_name(i); i++)
        if (strcmp(encode_option_name(i), name) == 0) return i;
    fail_msg("there is no setting %s", name);
    return -1;
}

static struct encode_options set(const char *name, const char *value) {
    struct encode_options options = encode_options_default;
    if (!encode_option_set(&options, index_of(name), value)) fail_msg("%s=%s", name, value);
    return options;
}

static void good_values(void **state) {
    (void)state;
    assert_int_equal(set("type", "jpg").format, FORMAT_JPEG);
    assert_int_equal(set("type", "PNG").format, FORMAT_PNG);
    assert_int_equal(set("type", "auto").format, FORMAT_NONE);
    assert_int_equal(set("quality", "1").quality, 1);
    assert_int_equal(set("quality", "100").quality, 100);
    assert_int_equal(set("compression", "0").compression, 0);
    assert_int_equal(set("compression", "3").compression, 3);
    assert_int_equal(set("type", "webp").format, FORMAT_WEBP);
    assert_true(set("lossless", "true").lossless);
    assert_true(set("palette", "true").palette);
    assert_true(set("dither", "true").dither);
    assert_int_equal(set("colors", "2").colors, 2);
    assert_int_equal(set("colors", "256").colors, 256);
    assert_int_equal(set("effort", "0").effort, 0);
    assert_int_equal(set("effort", "6").effort, 6);
    assert_true(set("progressive", "true").progressive);
    assert_false(set("progressive", "false").progressive);
    assert_int_equal(set("max_bytes", "1").max_bytes, 1);
    assert_int_equal(set("max_bytes", "9223372036854775807").max_bytes, INT64_MAX);
    assert_int_equal(set("min_quality", "1").min_quality, 1);
    assert_memory_equal(set("background", "#0aFf10").background, "\x0a\xff\x10", 3);
    assert_memory_equal(set("background", "0aFf1080").background, "\x0a\xff\x10\x80", 4);
    const struct encode_options options = set("background", "0aFf10");
    assert_int_equal(encode_background(&options), 0x0aff10ff);
    assert_true(options.has_background && !encode_options_default.has_background);
}

/* A number of colours asks for a palette, which has 256 without one. */
static void colours_of_a_palette(void **state) {
    (void)state;
    struct encode_options options = set("palette", "true");
    assert_int_equal(encode_colors(&encode_options_default), 0);
    assert_int_equal(encode_colors(&options), 256);
    options.colors = 7;
    assert_int_equal(encode_colors(&options), 7);
    options.palette = false;
    assert_int_equal(encode_colors(&options), 7);
}

static void no_palette_has_no_colours(void **state) {
    (void)state;
    static const struct {
        const char *palette, *name, *value, *word; /* NULL: it is good */
    } cases[] = {
        { "false", "colors", "5", "colors" }, { "false", "dither", "true", "dither" },
        { "false", "dither", "false", NULL }, { "true", "colors", "5", NULL },
        { "true", "dither", "true", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct failure failure = { 0 };
        struct encode_options options = set("palette", cases[i].palette);
        assert_true(encode_option_set(&options, index_of(cases[i].name), cases[i].value));
        const enum status status = encode_options_check(&options, &failure);
        assert_int_equal(status, cases[i].word ? STATUS_BAD_PARAM : STATUS_OK);
        if (cases[i].word) assert_non_null(strstr(failure.message, cases[i].word));
    }
    const struct encode_options options = set("colors", "5");
    assert_int_equal(encode_options_check(&options, NULL), STATUS_OK);
}

/* The result has the input's type, and is lossless as the input is if no option says otherwise. */
static void as_the_input(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
        bool input, answer;
    } cases[] = {
        { "effort", "3", true, true },        { "effort", "3", false, false },
        { "quality", "90", true, false },     { "max_bytes", "9", true, false },
        { "lossless", "false", true, false }, { "lossless", "true", false, true },
        { "lossless", "true", true, true },   { "type", "auto", true, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct probe probe = { .format = FORMAT_WEBP, .lossless = cases[i].input };
        struct encode_options options = set(cases[i].name, cases[i].value);
        encode_options_as_input(&options, &probe, FORMAT_WEBP);
        assert_int_equal(options.format, FORMAT_WEBP);
        assert_int_equal(options.lossless, cases[i].answer);
        options = set("effort", "3");
        encode_options_as_input(&options, &probe, FORMAT_PNG);
        assert_int_equal(options.format, FORMAT_PNG);
        assert_false(options.lossless);
    }
}

static void bad_values(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        { "type", "bmp" },          { "type", "" },
        { "quality", "0" },         { "quality", "101" },
        { "quality", "85x" },       { "quality", "" },
        { "quality", "8.5" },       { "compression", "-1" },
        { "effort", "7" },          { "effort", "-1" },
        { "lossless", "1" },        { "compression", "4" },
        { "progressive", "" },      { "progressive", "maybe" },
        { "max_bytes", "0" },       { "max_bytes", "-5" },
        { "max_bytes", "1e3" },     { "max_bytes", "9223372036854775808" },
        { "min_quality", "0" },     { "min_quality", "101" },
        { "background", "redd" },   { "background", "12345g" },
        { "background", "#12345" }, { "background", "" },
        { "colors", "1" },          { "colors", "257" },
        { "palette", "1" },         { "dither", "16" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct encode_options options = encode_options_default;
        if (encode_option_set(&options, index_of(cases[i][0]), cases[i][1]))
            fail_msg("%s=\"%s\" was taken", cases[i][0], cases[i][1]);
    }
}

/* A message shows each, and the names must fit what settings.c keeps of them. */
static void every_setting_says_what_it_may_be(void **state) {
    (void)state;
    int count = 0;
    char text[FORMAT_LIST_MAX];
    for (; encode_option_name(count); count++)
        assert_in_range(strlen(encode_option_range(count, text)), 5, 80);
    assert_in_range(count, 7, 24);
    assert_null(encode_option_name(-1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_values),
        cmocka_unit_test(colours_of_a_palette),
        cmocka_unit_test(no_palette_has_no_colours),
        cmocka_unit_test(as_the_input),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(every_setting_says_what_it_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
