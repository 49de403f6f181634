// SPDX-License-Identifier: Apache-2.0
/* The records of all formats: complete, apart from each other, in their orders; names and lists. */
#include "pipeline/format.h"

#include "pipeline/encode_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_records_are_complete(void **state) {
    (void)state;
    for (int f = FORMAT_NONE + 1; f < FORMAT_COUNT; f++) {
        const struct format_record *record = format_records[f];
        const enum format format = (enum format)f;
        assert_true(record->name && record->title && record->endings[0]);
        assert_int_equal(strncmp(record->media_types[0], "image/", 6), 0);
        assert_true(record->decode || record->encode);
        assert_int_equal(!record->decode, !record->recognizes);
        assert_int_equal(!record->decode, !record->probe);
        assert_int_equal(!record->encode, !record->bound);
        assert_true(!record->encode || record->depth == 8 || record->depth == 16);
        /* NULL ends both lists; costs of the first kind are known. */
        assert_null(record->media_types[FORMAT_NAMES_MAX - 1]);
        assert_null(record->endings[FORMAT_NAMES_MAX - 1]);
        assert_true(!record->decode || record->decode_costs[0].cpu[0] > 0);
        assert_true(!record->encode || record->encode_costs[0].cpu[0] > 0);
        assert_int_equal(format_can(format, FORMAT_READ), record->decode != NULL);
        assert_int_equal(format_can(format, FORMAT_WRITTEN), record->encode != NULL);
        if (!record->encode) continue;
        assert_int_equal(format_from_name(record->name), format);
        for (int i = 0; record->endings[i]; i++)
            assert_int_equal(format_from_name(record->endings[i]), format);
        assert_in_range(
            record->bound(&(struct image){ .width = 1, .height = 1, .channels = 1, .depth = 8 }, 0),
            1, 1 << 20);
    }
}

/* With any options the kind is one whose costs the record has. */
static void test_kinds_have_costs(void **state) {
    (void)state;
    for (int f = FORMAT_NONE + 1; f < FORMAT_COUNT; f++)
        for (int i = 0; format_records[f]->encode_kind && i < 64; i++) {
            struct encode_options options = encode_options_default;
            options.compression = i & 3;
            options.progressive = i & 4;
            options.lossless = i & 8;
            options.max_bytes = i & 16;
            options.palette = i & 32;
            const int kind = format_records[f]->encode_kind(&options);
            assert_in_range(kind, 0, FORMAT_ENCODE_KINDS - 1);
            assert_true(format_records[f]->encode_costs[kind].cpu[1] > 0);
        }
}

static void test_orders_have_each_format_once(void **state) {
    (void)state;
    for (int order = 0; order < FORMAT_ORDERS; order++) {
        unsigned seen = 0;
        for (int i = 0; i < FORMAT_COUNT - 1; i++)
            seen |= 1u << format_at((enum format_order)order, i);
        assert_int_equal(seen, (1u << FORMAT_COUNT) - 2);
        assert_int_equal(format_at((enum format_order)order, FORMAT_COUNT - 1), FORMAT_NONE);
        assert_int_equal(format_at((enum format_order)order, -1), FORMAT_NONE);
    }
    assert_true(format_before(FORMATS_PREFERRED, FORMAT_PNG, FORMAT_JPEG));
    assert_false(format_before(FORMATS_DESCRIBED, FORMAT_PNG, FORMAT_JPEG));
    assert_false(format_before(FORMATS_OFFERED, FORMAT_PNG, FORMAT_PNG));
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(format_name(FORMAT_JPEG), "jpeg");
    assert_string_equal(format_media_type(FORMAT_PNM), "image/x-portable-anymap");
    assert_string_equal(format_name(FORMAT_NONE), "none");
    assert_string_equal(format_name((enum format)77), "none");
    assert_string_equal(format_media_type((enum format) - 1), "application/octet-stream");
    static const char *const names[] = { "png", "jpeg", "JPG", "pnm", "ppm", "pgm" };
    static const enum format formats[] = { FORMAT_PNG, FORMAT_JPEG, FORMAT_JPEG,
                                           FORMAT_PNM, FORMAT_PNM,  FORMAT_PNM };
    for (int i = 0; i < 6; i++) assert_int_equal(format_from_name(names[i]), formats[i]);
    assert_int_equal(format_from_name("bmp"), FORMAT_NONE);
    assert_int_equal(format_from_name("none"), FORMAT_NONE);
    assert_int_equal(format_from_name(""), FORMAT_NONE);
}

static void check_list(enum format_words words, unsigned abilities, const char *begins) {
    char text[FORMAT_LIST_MAX];
    assert_ptr_equal(format_list(words, abilities, ", ", " or ", text), text);
    if (strncmp(text, begins, strlen(begins)) != 0) fail_msg("%s, not %s", text, begins);
}

/* Only the beginning: further formats come behind. */
static void test_lists(void **state) {
    (void)state;
    char text[FORMAT_LIST_MAX], between[FORMAT_LIST_MAX];
    check_list(FORMAT_NAMES, FORMAT_QUALITY, "jpeg, webp");
    check_list(FORMAT_TITLES, FORMAT_READ, "JPEG, PNG, WebP, GIF, BMP, PNM, AVIF, HEIC or TIFF");
    check_list(FORMAT_INPUTS, FORMAT_READ, "JPEG, PNG, WebP, GIF, BMP, PNM, AVIF, HEIC or TIFF");
    check_list(FORMAT_ENDINGS, FORMAT_WRITTEN, ".png, .jpg, .jpeg, .webp, .avif, .gif, .pnm");
    assert_string_equal(format_list(FORMAT_NAMES, ~0u, ", ", " or ", text), "");
    assert_non_null(strstr(format_list(FORMAT_NAMES, 0, ", ", " or ", text), " or "));
    memset(between, '-', sizeof between - 1);
    between[sizeof between - 1] = '\0';
    format_list(FORMAT_NAMES, 0, between, between, text);
    assert_int_equal(strlen(text), FORMAT_LIST_MAX - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_are_complete),
        cmocka_unit_test(test_kinds_have_costs),
        cmocka_unit_test(test_orders_have_each_format_once),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
