// SPDX-License-Identifier: Apache-2.0
/* burin bench carve: seam carving by width, height, side of a square and number of seams, as the
 * thesis of 2010 has it: the share of each step, and the CPU against each GPU.
 *
 * How it works. A series is a figure of that thesis: cases that differ in one thing. case_measure
 * takes each case on every lane. The steps are the kernels that the operator names; each time is a
 * median of its own, so they may sum to a little more than the total: "other" is then 0. */
#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/case.h"
#include "tests/bench/burin-bench/picture.h"
#include "tests/bench/burin-bench/plain.h"

#include <stdio.h>
#include <string.h>

enum { CASES_MAX = 16, REPEATS_MAX = 5 };

struct carve_case {
    uint32_t width, height;
    int columns, rows; /* seams to take out */
};

/* One figure: its cases differ in one thing. */
struct series {
    const char *name, *summary;
    struct carve_case cases[CASES_MAX]; /* width 0 ends them */
};

static const struct series all_series[] = {
    { "width",
      "height 2048, by width (figures 5.8, 5.9, 5.12)",
      { { 64, 2048, 16, 0 },
        { 128, 2048, 16, 0 },
        { 256, 2048, 16, 0 },
        { 512, 2048, 16, 0 },
        { 1024, 2048, 16, 0 },
        { 2048, 2048, 16, 0 },
        { 4096, 2048, 16, 0 },
        { 8192, 2048, 16, 0 } } },
    { "height",
      "width 2048, by height (figures 5.10, 5.11, 5.13)",
      { { 2048, 32, 16, 0 },
        { 2048, 64, 16, 0 },
        { 2048, 128, 16, 0 },
        { 2048, 256, 16, 0 },
        { 2048, 512, 16, 0 },
        { 2048, 1024, 16, 0 },
        { 2048, 2048, 16, 0 },
        { 2048, 4096, 16, 0 },
        { 2048, 8192, 16, 0 } } },
    { "square",
      "squares, by side (figures 5.14, 5.15)",
      { { 128, 128, 16, 0 },
        { 256, 256, 16, 0 },
        { 512, 512, 16, 0 },
        { 1024, 1024, 16, 0 },
        { 2048, 2048, 16, 0 },
        { 4096, 4096, 16, 0 },
        { 8192, 8192, 16, 0 } } },
    { "seams",
      "1024 x 1024, by the number of seams (figure 5.16)",
      { { 1024, 1024, 1, 0 },
        { 1024, 1024, 5, 0 },
        { 1024, 1024, 10, 0 },
        { 1024, 1024, 15, 0 },
        { 1024, 1024, 20, 0 },
        { 1024, 1024, 25, 0 },
        { 1024, 1024, 30, 0 },
        { 1024, 1024, 35, 0 },
        { 1024, 1024, 100, 0 },
        { 1024, 1024, 300, 0 } } },
    { "screen",
      "1080p, 4K and 8K, and both directions weighed",
      { { 1920, 1080, 480, 0 },
        { 1920, 1080, 0, 270 },
        { 1920, 1080, 50, 50 },
        { 3840, 2160, 100, 0 },
        { 3840, 2160, 25, 25 },
        { 7680, 4320, 50, 0 } } },
};
enum { SERIES_COUNT = sizeof all_series / sizeof *all_series };

struct row_context {
    struct report *report;
    const struct series *series;
    const struct carve_case *one;
};

/* ---- rows */

/* Computing that is in no step: work before the first seam, gaps between kernels. */
static double other_ms(const struct measurement *times) {
    double other = times->compute_ms;
    for (int i = 0; i < times->span_count; i++) other -= times->spans[i].ms;
    return other > 0 ? other : 0;
}

static json_t *steps_json(const struct measurement *times) {
    json_t *steps = json_object();
    for (int i = 0; i < times->span_count; i++)
        json_object_set_new(steps, times->spans[i].name, json_real(times->spans[i].ms));
    return steps;
}

/* Steps, what is in none, and copies: they sum to the total. */
static void print_shares(const json_t *row) {
    json_t *steps = json_object_get(row, "steps_ms");
    const double other = report_number(row, "other_ms"), copies = report_number(row, "copies_ms");
    const char *name;
    json_t *ms;
    double sum = other + copies;
    json_object_foreach (steps, name, ms) {
        sum += json_number_value(ms);
    }
    json_object_foreach (steps, name, ms) {
        printf(" %s %2.0f %%", name, 100 * json_number_value(ms) / sum);
    }
    printf(" other %2.0f %% copies %2.0f %%\n", 100 * other / sum, 100 * copies / sum);
}

static void print_row(const json_t *row) {
    printf("%5.0fx%-5.0f %4.0f+%-4.0f %-13.13s %10.3f %10.3f %9.1f %7.1f ",
           report_number(row, "width"), report_number(row, "height"), report_number(row, "columns"),
           report_number(row, "rows"), report_text(row, "device"), report_number(row, "compute_ms"),
           report_number(row, "total_ms"), report_number(row, "us_a_seam"),
           report_number(row, "ratio"));
    print_shares(row);
}

static void add_row(void *context, const struct bench_lane *lane, const struct measurement *times,
                    const struct measurement *core) {
    const struct row_context *row = context;
    const struct carve_case *one = row->one;
    const int seams = one->columns + one->rows;
    report_add(
        row->report,
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:f, s:f}",
                  "series", row->series->name, "width", (int)one->width, "height", (int)one->height,
                  "columns", one->columns, "rows", one->rows, "device", lane->name, "upload_ms",
                  times->upload_ms, "compute_ms", times->compute_ms, "download_ms",
                  times->download_ms, "total_ms", measurement_total_ms(times), "us_a_seam",
                  1e3 * times->compute_ms / seams, "steps_ms", steps_json(times), "other_ms",
                  other_ms(times), "copies_ms", times->upload_ms + times->download_ms, "ratio",
                  core ? core->compute_ms / times->compute_ms : 1.0),
        print_row);
}

/* ---- series */

static bool measure_case(const struct bench_options *options, const struct lanes *lanes,
                         const struct series *series, const struct carve_case *one,
                         struct report *report) {
    char name[32], plan[64];
    snprintf(name, sizeof name, "%u x %u", one->width, one->height);
    snprintf(plan, sizeof plan, "carve:dx=-%d,dy=-%d", one->columns, one->rows);
    const struct bench_case timed = {
        .name = name,
        .plan = plan,
        .in = image_shape(one->width, one->height, 3, 8),
        .out = image_shape(one->width - (uint32_t)one->columns, one->height - (uint32_t)one->rows,
                           3, 8),
        .repeats = options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX,
        .draw = picture_waves,
        .plain = plain_carve,
    };
    struct row_context row = { report, series, one };
    return case_measure(&timed, options, lanes, add_row, &row);
}

static bool measure_series(const struct bench_options *options, const struct lanes *lanes,
                           const struct series *series, struct report *report) {
    bool complete = true;
    if (!options->json)
        printf("%s\n%-11s %-9s %-13s %10s %10s %9s %7s  shares\n", series->summary, "size", "seams",
               "device", "compute ms", "with copies", "us/seam", "ratio");
    for (const struct carve_case *one = series->cases; one->width; one++)
        if (!bench_options_skip(options, one->width, one->height))
            complete &= measure_case(options, lanes, series, one, report);
    if (!options->json) putchar('\n');
    return complete;
}

static bool is_wanted(const struct bench_options *options, const char *name) {
    for (int i = 0; i < options->word_count; i++)
        if (strcmp(options->words[i], name) == 0) return true;
    return options->word_count == 0;
}

static bool is_series(const char *name) {
    for (int s = 0; s < SERIES_COUNT; s++)
        if (strcmp(all_series[s].name, name) == 0) return true;
    return false;
}

static bool takes_series(const struct bench_options *options) {
    for (int i = 0; i < options->word_count; i++)
        if (!is_series(options->words[i])) {
            fprintf(stderr,
                    "%s: there is no series \"%s\"; there are width, height, square, seams, "
                    "screen\n",
                    options->program, options->words[i]);
            return false;
        }
    return true;
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    bool complete = true;
    if (!options->json)
        printf(
            "us/seam: compute, energies before the first seam and the moving of pixels included,\n"
            "by the number of seams; shares: of the total with copies\n\n");
    for (int s = 0; s < SERIES_COUNT; s++)
        if (is_wanted(options, all_series[s].name))
            complete &= measure_series(options, lanes, &all_series[s], report);
    return complete;
}

const struct bench bench_carve = {
    .name = "carve",
    .summary = "seam carving of RGB, every SERIES or those named",
    .notes =
        "            width, height, square, seams: as the figures 5.8 to 5.16 of the thesis of\n"
        "            2010 vary them; screen: 1080p, 4K, 8K, also with both directions weighed\n"
        "            us/seam: compute by the number of seams; shares: of the total with copies\n"
        "            ratio: times as fast as one core of the CPU; median of at most 5 runs\n",
    .words = takes_series,
    .measure = measure,
};
