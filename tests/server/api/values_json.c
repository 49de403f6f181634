// SPDX-License-Identifier: Apache-2.0
/* A JSON parser reads back the values that steps report: every type at its extremes, lists and
 * numbers, the steps' numbers. values_json_bound() is large enough. */
#include "server/api/values_json.h"
#include "pipeline/registry.h"
#include "server/api/timing_report.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The text is as long as the first number says. */
static size_t write_letters(const struct params *params, const struct values *values,
                            char text[VALUES_TEXT_MAX]) {
    const size_t length = ((const uint8_t *)values->numbers)[0];
    (void)params;
    memset(text, '~', length);
    return length;
}

static const struct op plain = { .name = "plain" }, counts = { .name = "counts" },
                       extreme = { .name = "extreme" },
                       letters = { .name = "letters", .text = write_letters };

static void as_designed(void **state) {
    (void)state;
    uint32_t six[] = { 1, 2, 3, 4, 5, 4294967295 };
    int32_t three[] = { INT32_MIN, 0, INT32_MAX };
    const struct plan plan = {
        .count = 3, .steps = { { .op = &counts }, { .op = &plain }, { .op = &extreme } }
    };
    const struct values values[] = { { { VALUE_UINT32, 3, 2, true, 0 }, six },
                                     { .shape = { .type = VALUE_NONE } },
                                     { { VALUE_INT32, 3, 1, false, 0 }, three } };
    char text[512];
    const size_t length = values_json_write(&plan, values, text, sizeof text);
    assert_string_equal(text, "[{\"operation\":\"counts\",\"step\":0,\"value\":[[1,2],[3,4],[5,"
                              "4294967295]]},{\"operation\":\"extreme\",\"step\":2,\"value\":["
                              "-2147483648,0,2147483647]}]");
    assert_int_equal(length, strlen(text));
    assert_int_equal(values_json_write(&plan, values, text, length), 0);
    assert_int_equal(values_json_write(&plan, values, text, length + 1), length);
}

static void a_list_of_one_is_a_list(void **state) {
    (void)state;
    int64_t one[] = { INT64_MIN };
    const struct plan plan = { .count = 1, .steps = { { .op = &counts } } };
    const struct values values[] = { { { VALUE_INT64, 1, 1, true, 0 }, one } };
    char text[128];
    assert_true(values_json_write(&plan, values, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"value\":[[-9223372036854775808]]"));
}

static struct values text_of(uint8_t *numbers) {
    return (struct values){ { VALUE_UINT8, 3, 8, false, 4 }, numbers };
}

static void a_text_is_a_text(void **state) {
    (void)state;
    uint8_t picture[24] = { 5 };
    int32_t number[] = { 7 };
    const struct plan plan = {
        .count = 3, .steps = { { .op = &letters }, { .op = &counts }, { .op = &letters } }
    };
    const struct values values[] = { text_of(picture),
                                     { { VALUE_INT32, 1, 1, false, 0 }, number },
                                     text_of(picture) };
    char text[512];
    const size_t length = values_json_write(&plan, values, text, sizeof text);
    assert_string_equal(text, "[{\"operation\":\"letters\",\"step\":0,\"value\":\"~~~~~\"},"
                              "{\"operation\":\"counts\",\"step\":1,\"value\":[7]},"
                              "{\"operation\":\"letters\",\"step\":2,\"value\":\"~~~~~\"}]");
    assert_true(values_json_check(text, length, 3));
    assert_false(values_json_check(text, length, 2));
    assert_false(values_json_check(text, length, 4));
    for (size_t cut = 0; cut < length; cut++) assert_false(values_json_check(text, cut, 3));
}

static void named_numbers_are_an_object(void **state) {
    (void)state;
    static const char *const names[] = { "left", "top", "right", "bottom" };
    const struct op finder = { .name = "finder", .value_names = names },
                    cuts = { .name = "cuts", .finder = &finder };
    uint32_t numbers[] = { 1, 20, 0, 65535 };
    const struct plan plan = { .count = 2, .steps = { { .op = &cuts }, { .op = &finder } } };
    const struct values one = { { VALUE_UINT32, 1, 4, true, 0 }, numbers };
    const struct values values[] = { one, one };
    char text[512];
    const size_t length = values_json_write(&plan, values, text, sizeof text);
    assert_string_equal(text,
                        "[{\"operation\":\"cuts\",\"step\":0,\"value\":{\"left\":1,\"top\":20,"
                        "\"right\":0,\"bottom\":65535}},{\"operation\":\"finder\",\"step\":1,"
                        "\"value\":{\"left\":1,\"top\":20,\"right\":0,\"bottom\":65535}}]");
    assert_true(values_json_check(text, length, 8));
    assert_false(values_json_check(text, length, 7));
    assert_false(values_json_check(text, length, 9));
    for (size_t cut = 0; cut < length; cut++) assert_false(values_json_check(text, cut, 8));
}

/* The operator `trim` in every step, each with the largest numbers: the bound is enough, and the
 * header has them. */
static void the_longest_cuts_fit(void **state) {
    (void)state;
    const struct op *trim = registry_find("trim");
    const struct image in = image_shape(65535, 1, 1, 8);
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct plan plan = { .count = PLAN_STEPS_MAX };
    struct values values[PLAN_STEPS_MAX];
    uint32_t numbers[] = { 65535, 65535, 65535, 65535 };
    if (!trim) return;
    for (int s = 0; s < PLAN_STEPS_MAX; s++) {
        plan.steps[s].op = trim;
        shapes[s] = in;
        values[s] = (struct values){ plan_step_values(&plan, s, shapes), numbers };
    }
    const uint64_t count = plan_value_count(&plan, shapes);
    assert_int_equal(count, 4 * PLAN_STEPS_MAX);
    char text[REPORT_VALUES_MAX + 1];
    assert_true(values_json_bound(count) > sizeof text);
    const size_t length = values_json_write(&plan, values, text, sizeof text);
    assert_true(length > 800 && length <= REPORT_VALUES_MAX);
    assert_true(values_json_check(text, length, count));
}

/* Each is one value, and there is room for it. */
static void the_longest_texts_fit(void **state) {
    (void)state;
    uint8_t picture[24] = { VALUES_TEXT_MAX - 1 };
    struct plan plan = { .count = PLAN_STEPS_MAX };
    struct values values[PLAN_STEPS_MAX];
    for (int s = 0; s < PLAN_STEPS_MAX; s++) {
        plan.steps[s].op = &letters;
        values[s] = text_of(picture);
    }
    assert_int_equal(values_results(&values[0].shape), 1);
    assert_int_equal(values_bytes(&values[0].shape), 24);
    const size_t size = values_json_bound(PLAN_STEPS_MAX);
    char *text = malloc(size);
    const size_t used = values_json_write(&plan, values, text, size);
    assert_true(used > (size_t)PLAN_STEPS_MAX * VALUES_TEXT_MAX);
    assert_true(values_json_check(text, used, PLAN_STEPS_MAX));
    free(text);
}

static void check_number(enum value_type type, void *number, const char *expected) {
    char text[VALUES_NUMBER_MAX];
    struct json_writer json = json_writer_in(text, sizeof text);
    const struct values values = { { type, 1, 1, false, 0 }, number };
    values_json_number(&json, &values, 0);
    assert_false(json.full);
    assert_string_equal(text, expected);
    assert_true(strlen(text) + 1 < VALUES_NUMBER_MAX); /* a comma behind it */
}

static void every_type_at_its_ends(void **state) {
    (void)state;
    check_number(VALUE_UINT64, &(uint64_t){ UINT64_MAX }, "18446744073709551615");
    check_number(VALUE_INT64, &(int64_t){ INT64_MIN }, "-9223372036854775808");
    check_number(VALUE_DOUBLE, &(double){ 127 }, "127.0");
    check_number(VALUE_DOUBLE, &(double){ 0.1 }, "0.1");
    check_number(VALUE_DOUBLE, &(double){ 7.0 / 3 }, "2.3333333333333335");
    check_number(VALUE_DOUBLE, &(double){ -1.7976931348623157e308 }, "-1.7976931348623157e+308");
    check_number(VALUE_DOUBLE, &(double){ -1.2345678901234567e100 }, "-1.2345678901234567e+100");
    check_number(VALUE_DOUBLE, &(double){ 1e20 }, "1e+20");
    check_number(VALUE_DOUBLE, &(double){ 0.0 / 1 }, "0.0");
}

/* Writes a 16th of the numbers that a plan may report, each of the longest form.
 * what_passes_is_json() shows that a text which passes the check is JSON. */
static void the_longest_fits(void **state) {
    (void)state;
    const uint32_t length = PLAN_VALUES_MAX / PLAN_STEPS_MAX / 16;
    const size_t size = values_json_bound((uint64_t)length * PLAN_STEPS_MAX);
    assert_true(values_json_bound(PLAN_VALUES_MAX) <= VALUES_JSON_MAX);
    double *numbers = malloc(length * sizeof *numbers);
    for (uint32_t i = 0; i < length; i++) numbers[i] = -1.2345678901234567e100; /* as long as any */
    struct plan plan = { .count = PLAN_STEPS_MAX };
    struct values values[PLAN_STEPS_MAX];
    for (int s = 0; s < PLAN_STEPS_MAX; s++) {
        plan.steps[s].op = &extreme;
        values[s] = (struct values){ { VALUE_DOUBLE, 1, length, true, 0 }, numbers };
    }
    char *text = malloc(size);
    const size_t used = values_json_write(&plan, values, text, size);
    assert_true(used > (size_t)length * PLAN_STEPS_MAX * 25);
    assert_true(values_json_check(text, used, (uint64_t)length * PLAN_STEPS_MAX));
    free(text);
    free(numbers);
}

static bool check_text(const char *text, uint64_t count) {
    return values_json_check(text, strlen(text), count);
}

#define STEP(name, number, value)                                                                  \
    "{\"operation\":\"" name "\",\"step\":" number ",\"value\":[" value "]}"
#define TEXT_STEP(value) "{\"operation\":\"a\",\"step\":0,\"value\":" value "}"

/* All that is written passes the check, also extreme numbers, infinity and NaN. */
static void what_is_written_passes(void **state) {
    (void)state;
    double reals[] = { -0.0, 1e-310, 1.7976931348623157e308, -2.5, 1e17, 3, INFINITY, NAN };
    int64_t ends[] = { INT64_MIN, INT64_MAX, 0, 10 };
    const struct plan plan = { .count = 2, .steps = { { .op = &counts }, { .op = &extreme } } };
    const struct values values[] = { { { VALUE_DOUBLE, 4, 2, true, 0 }, reals },
                                     { { VALUE_INT64, 4, 1, false, 0 }, ends } };
    char text[1024];
    const size_t length = values_json_write(&plan, values, text, sizeof text);
    assert_true(values_json_check(text, length, 12));
    assert_false(values_json_check(text, length, 11));
    assert_false(values_json_check(text, length, 13));
    for (size_t cut = 0; cut < length; cut++) assert_false(values_json_check(text, cut, 12));
}

static void what_was_not_written_does_not_pass(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",
        "[]",
        "1",
        "[1]",
        "[{}]",
        "[" STEP("a", "0", "") "]",
        "[" STEP("a", "0", "1,") "]",
        "[" STEP("a", "0", "[]") "]",
        "[" STEP("a", "0", "[[1]]") "]",
        "[" STEP("a", "0", "[1],1") "]",
        "[" STEP("a", "0", "[1") "]",
        "[" STEP("a", "0", "01") "]",
        "[" STEP("a", "0", "+1") "]",
        "[" STEP("a", "0", "1.") "]",
        "[" STEP("a", "0", ".5") "]",
        "[" STEP("a", "0", "1e") "]",
        "[" STEP("a", "0", "nan") "]",
        "[" STEP("a", "0", "1 ") "]",
        "[" STEP("a", "0", "1\r\n") "]",
        "[" STEP("a", "-1", "1") "]",
        "[" STEP("", "0", "1") "]",
        "[" STEP("a\\\"", "0", "1") "]",
        "[" STEP("a\r\nX: y", "0", "1") "]",
        "[" STEP("\xc3\xa4", "0", "1") "]",
        "[" STEP("a", "0", "1") ",]",
        "[" STEP("a", "0", "1") "]]",
        "[" STEP("a", "0", "1") "],\"device\":\"x\"",
        " [" STEP("a", "0", "1") "]",
        "[" STEP("a", "0", "\"x\"") "]",
        "[" TEXT_STEP("\"\"") "]",
        "[" TEXT_STEP("{}") "]",
        "[" TEXT_STEP("{\"\":1}") "]",
        "[" TEXT_STEP("{\"a\":}") "]",
        "[" TEXT_STEP("{\"a\":1,}") "]",
        "[" TEXT_STEP("{\"a\":1") "]",
        "[" TEXT_STEP("{\"a b\":1}") "]",
        "[" TEXT_STEP("{\"a\":\"x\"}") "]",
        "[" TEXT_STEP("{\"a\":[1]}") "]",
        "[" TEXT_STEP("[{\"a\":1}]") "]",
        "[" TEXT_STEP("\"x") "]",
        "[" TEXT_STEP("x") "]",
        "[" TEXT_STEP("\"x\",\"y\"") "]",
        "[" TEXT_STEP("\"x\\\\y\"") "]",
        "[" TEXT_STEP("\"x\\\"y\"") "]",
        "[" TEXT_STEP("\"x y\"") "]",
        "[" TEXT_STEP("\"x\n\"") "]",
        "[" TEXT_STEP("\"<b>\"") "]",
        "[" TEXT_STEP("\"\xc3\xa4\"") "]",
    };
    assert_true(check_text("[" STEP("a", "0", "1") "]", 1));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (uint64_t count = 0; count < 3; count++)
            if (check_text(wrong[i], count)) fail_msg("%s passes", wrong[i]);
    char longest[256];
    assert_true(check_text("[" TEXT_STEP("\"x\"") "]", 1));
    snprintf(longest, sizeof longest, "[" TEXT_STEP("\"%0*d\"") "]", VALUES_TEXT_MAX - 1, 0);
    assert_true(check_text(longest, 1));
    snprintf(longest, sizeof longest, "[" TEXT_STEP("\"%0*d\"") "]", VALUES_TEXT_MAX, 0);
    assert_false(check_text(longest, 1));
    const char zero[] = "[" STEP("a", "0", "1\0") "]";
    assert_false(values_json_check(zero, sizeof zero - 1, 1));
}

/* With any one byte changed, a text that passes is JSON in characters that a header may have. */
static void what_passes_is_json(void **state) {
    (void)state;
    char text[] = "[" STEP("a", "0", "-1.5e+3,null") "," STEP(
        "b", "12", "[1,2],[0,7]") "," TEXT_STEP("\"a/+~\"") "," TEXT_STEP("{\"a\":1,\"b\":2}") "]";
    const size_t length = strlen(text);
    int passed = 0;
    for (size_t i = 0; i < length; i++)
        for (int byte = 0; byte < 256; byte++) {
            const char was = text[i];
            text[i] = (char)byte;
            if (values_json_check(text, length, 9)) {
                json_t *parsed = json_loadb(text, length, 0, NULL);
                if (!parsed) fail_msg("%s passes", text);
                json_decref(parsed);
                assert_true(byte > ' ' && byte <= '~');
                passed++;
            }
            text[i] = was;
        }
    assert_true(passed > (int)length); /* changed letters and digits pass */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_designed),
        cmocka_unit_test(a_list_of_one_is_a_list),
        cmocka_unit_test(a_text_is_a_text),
        cmocka_unit_test(named_numbers_are_an_object),
        cmocka_unit_test(the_longest_cuts_fit),
        cmocka_unit_test(the_longest_texts_fit),
        cmocka_unit_test(every_type_at_its_ends),
        cmocka_unit_test(the_longest_fits),
        cmocka_unit_test(what_is_written_passes),
        cmocka_unit_test(what_was_not_written_does_not_pass),
        cmocka_unit_test(what_passes_is_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
