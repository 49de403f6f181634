// SPDX-License-Identifier: Apache-2.0
/* The report is JSON that a parser reads back to the same numbers.
 *
 * covers: server/api/json_writer.c */
#include "server/api/timing_report.h"

#include "pipeline/codec.h"
#include "server/api/json_writer.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void milliseconds(void **state) {
    (void)state;
    static const struct {
        double ms;
        const char *text;
    } cases[] = { { 0, "0.000" },    { 0.0004, "0.000" },       { 0.0005, "0.001" },
                  { 1.25, "1.250" }, { 999.9996, "1000.000" },  { -3, "0.000" },
                  { NAN, "0.000" },  { 12345.678, "12345.678" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char memory[32];
        struct json_writer json = json_writer_in(memory, sizeof memory);
        json_writer_ms(&json, cases[i].ms);
        assert_string_equal(memory, cases[i].text);
    }
}

static void strange_words_stay_json(void **state) {
    (void)state;
    char memory[256];
    struct json_writer writer = json_writer_in(memory, sizeof memory);
    json_writer_string(&writer, "a\"b\\c\n\x1b\xff z");
    json_t *json = json_loads(memory, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    assert_string_equal(json_string_value(json), "a\"b\\c\n\x1b\xef\xbf\xbd z");
    json_decref(json);
}

static void full_is_reported_and_stays_text(void **state) {
    (void)state;
    char memory[8];
    struct json_writer json = json_writer_in(memory, sizeof memory);
    json_writer_add(&json, "12345");
    json_writer_number(&json, -1234567);
    assert_true(json.full);
    assert_string_equal(memory, "12345");
}

static struct timing_report example(struct timing *timing) {
    *timing = (struct timing){ .total_ms = 9.5 };
    for (int i = 0; i < STAGE_COUNT; i++) timing->stage_ms[i] = i + 0.125;
    timing_span(timing, "grayscale", 0, 1);
    timing_span(timing, "histeq", 0, 2.5);
    timing_span(timing, "histogram", 1, 0.5);
    timing_span(timing, "apply", 1, 2);
    return (struct timing_report){ .request_id = "id-1",
                                   .device = "cpu",
                                   .input = { "jpeg", 4, 3, 3, 8, 99 },
                                   .output = { "png", 4, 3, 1, 8, 77 },
                                   .timing = timing,
                                   .notes = 1 | NOTE_DAMAGED,
                                   .warning = "in the codec's words" };
}

static void reads_back(void **state) {
    (void)state;
    struct timing timing;
    const struct timing_report report = example(&timing);
    char memory[TIMING_REPORT_MAX];
    const size_t length = timing_report_write(&report, memory);
    assert_int_equal(length, strlen(memory));
    const char *name = NULL;
    double total = 0, apply = 0;
    int bytes = 0;
    json_t *operators = NULL, *notes = NULL;
    json_t *json = json_loads(memory, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    assert_int_equal(json_unpack(json, "{s:s, s:{s:i}, s:o, s:{s:F, s:o}}", "request_id", &name,
                                 "output", "bytes", &bytes, "notes", &notes, "ms", "total", &total,
                                 "operators", &operators),
                     0);
    assert_string_equal(name, "id-1");
    assert_int_equal(bytes, 77);
    assert_true(total == 9.5);
    assert_int_equal(json_array_size(notes), 3);
    assert_string_equal(json_string_value(json_array_get(notes, 2)), "in the codec's words");
    assert_int_equal(json_array_size(operators), 2);
    const json_t *kernels = json_object_get(json_array_get(operators, 1), "kernels");
    assert_int_equal(json_array_size(kernels), 2);
    apply = json_number_value(json_object_get(json_array_get(kernels, 1), "ms"));
    assert_true(apply == 2);
    json_decref(json);
}

/* A GPU codec's kernels are listed after their stage, apart from those of operators. */
static void kernels_of_a_codec(void **state) {
    (void)state;
    struct timing timing = { .total_ms = 1 };
    struct timing_report report = { .device = "cuda:0", .timing = &timing };
    char memory[TIMING_REPORT_MAX];
    timing_span(&timing, "walk", SPAN_DECODE, 0.25);
    timing_span(&timing, "pixels", SPAN_DECODE, 0.5);
    timing_span(&timing, "histeq", SPAN_OPERATOR, 1);
    timing_span(&timing, "equalize", SPAN_KERNEL, 1);
    timing_span(&timing, "tiles", SPAN_ENCODE, 2);
    timing_report_write(&report, memory);
    assert_non_null(strstr(memory, "\"decode\":0.000,\"decode_kernels\":[{\"name\":\"walk\",\"ms\":"
                                   "0.250},{\"name\":\"pixels\",\"ms\":0.500}],\"upload\""));
    assert_non_null(strstr(memory, "\"operators\":[{\"name\":\"histeq\",\"ms\":1.000,\"kernels\":[{"
                                   "\"name\":\"equalize\",\"ms\":1.000}]}],"));
    assert_non_null(strstr(memory,
                           "\"encode\":0.000,\"encode_kernels\":[{\"name\":\"tiles\",\"ms\":"
                           "2.000}],\"wait\""));
    timing.span_count = 0;
    timing_report_write(&report, memory);
    assert_null(strstr(memory, "code_kernels"));
}

/* The report has values of up to REPORT_VALUES_MAX bytes; longer ones are left out. */
static void values_are_the_last_member_while_they_are_short(void **state) {
    (void)state;
    struct timing timing;
    struct timing_report report = example(&timing);
    char values[REPORT_VALUES_MAX + 1], memory[TIMING_REPORT_MAX];
    memset(values, ' ', sizeof values);
    values[0] = '[', values[REPORT_VALUES_MAX - 1] = ']', values[REPORT_VALUES_MAX] = 'x';
    const size_t without = timing_report_write(&report, memory);
    assert_null(strstr(memory, "values"));
    report.values = values;
    report.values_length = REPORT_VALUES_MAX;
    const size_t with = timing_report_write(&report, memory);
    assert_int_equal(with, without + strlen(",\"values\":") + REPORT_VALUES_MAX);
    assert_string_equal(memory + with - 2, "]}");
    json_t *json = json_loads(memory, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_array(json_object_get(json, "values")));
    json_decref(json);
    report.values_length = REPORT_VALUES_MAX + 1;
    assert_int_equal(timing_report_write(&report, memory), without);
}

/* The longest there can be: every span, every note, escapes in every text, values. */
static void the_longest_fits(void **state) {
    (void)state;
    struct timing timing;
    struct timing_report report = example(&timing);
    for (int i = 0; i < STAGE_COUNT; i++) timing.stage_ms[i] = 1e9;
    while (timing.span_count < TIMING_SPANS_MAX)
        timing_span(&timing, "aaaaaaaaaaaaaaaaaaaaaaaaaaa", 1, 1e9);
    char id[64], device[64];
    memset(id, 'i', sizeof id - 1), id[63] = 0;
    memset(device, '\x01', sizeof device - 1), device[63] = 0;
    report.request_id = id;
    report.device = device;
    report.notes = ~0u;
    char warning[96]; /* the codecs' longest */
    memset(warning, '\x01', sizeof warning - 1), warning[95] = 0;
    report.warning = warning;
    char values[REPORT_VALUES_MAX];
    memset(values, '1', sizeof values);
    values[0] = values[sizeof values - 1] = '"';
    report.values = values;
    report.values_length = sizeof values;
    char memory[TIMING_REPORT_MAX];
    timing_report_write(&report, memory);
    json_t *json = json_loads(memory, 0, NULL);
    assert_non_null(json);
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(milliseconds),
        cmocka_unit_test(strange_words_stay_json),
        cmocka_unit_test(full_is_reported_and_stays_text),
        cmocka_unit_test(reads_back),
        cmocka_unit_test(kernels_of_a_codec),
        cmocka_unit_test(values_are_the_last_member_while_they_are_short),
        cmocka_unit_test(the_longest_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
