// SPDX-License-Identifier: Apache-2.0
/* burin bench histeq: histogram equalization by size - histogram, table, apply, copies - on the
 * CPU and on every GPU.
 *
 * How it works. case_measure takes noise of each size, gray and RGB, or the pixels of each FILE, on
 * every lane. The three steps are the kernels that the operator names; where one kernel does all,
 * they are null and their time is under compute. */
#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/case.h"
#include "tests/bench/burin-bench/picture.h"
#include "tests/bench/burin-bench/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t width, height;
} sizes[] = { { "1080p", 1920, 1080 },
              { "4K", 3840, 2160 },
              { "8K", 7680, 4320 },
              { "64 MP", 8192, 8192 },
              { "263 MP", 20000, 13176 } };

struct row_context {
    struct report *report;
    const char *name;
    const struct image *shape;
};

/* ---- rows */

/* Null where no kernel does that step alone. */
static json_t *step_json(const struct measurement *times, const char *name) {
    for (int i = 0; i < times->span_count; i++)
        if (strcmp(times->spans[i].name, name) == 0) return json_real(times->spans[i].ms);
    return json_null();
}

/* The kernel for 16 bit on a GPU is called "histogram". */
static json_t *histogram_json(const struct measurement *times) {
    json_t *count = step_json(times, "count");
    return json_is_null(count) ? step_json(times, "histogram") : count;
}

/* Each byte is read twice and written once. */
static double gigabytes_a_second(const struct image *shape, double ms) {
    return 3 * (double)image_row_bytes(shape) * shape->height / (ms * 1e6);
}

static void print_step(const json_t *ms, int width) {
    if (json_is_null(ms))
        printf(" %*s", width, "-");
    else
        printf(" %*.3f", width, json_number_value(ms));
}

static void print_row(const json_t *row) {
    printf("%-14.14s %5.0fx%-5.0f %1.0f %-13.13s", report_text(row, "picture"),
           report_number(row, "width"), report_number(row, "height"),
           report_number(row, "channels"), report_text(row, "device"));
    print_step(json_object_get(row, "histogram_ms"), 9);
    print_step(json_object_get(row, "table_ms"), 8);
    print_step(json_object_get(row, "apply_ms"), 9);
    printf(" %9.3f %9.3f %9.3f %9.3f %7.1f %7.2f %6.1f\n", report_number(row, "compute_ms"),
           report_number(row, "upload_ms"), report_number(row, "download_ms"),
           report_number(row, "total_ms"), report_number(row, "gb_s"), report_number(row, "gpx_s"),
           report_number(row, "ratio"));
}

static void add_row(void *context, const struct bench_lane *lane, const struct measurement *times,
                    const struct measurement *core) {
    const struct row_context *row = context;
    const struct image *shape = row->shape;
    const double total = measurement_total_ms(times), pixels = (double)image_pixels(shape);
    report_add(
        row->report,
        json_pack(
            "{s:s, s:i, s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
            "picture", row->name, "width", (int)shape->width, "height", (int)shape->height,
            "channels", shape->channels, "depth", shape->depth, "device", lane->name,
            "histogram_ms", histogram_json(times), "table_ms", step_json(times, "table"),
            "apply_ms", step_json(times, "apply"), "compute_ms", times->compute_ms, "upload_ms",
            times->upload_ms, "download_ms", times->download_ms, "total_ms", total, "gpx_s",
            pixels / (times->compute_ms * 1e6), "gb_s",
            gigabytes_a_second(shape, times->compute_ms), "ratio",
            core ? measurement_total_ms(core) / total : 1.0),
        print_row);
}

static void print_head(void) {
    printf("%-14s %-11s %s %-13s %9s %8s %9s %9s %9s %9s %9s %7s %7s %6s\n", "picture", "size", "c",
           "device", "histogram", "table", "apply", "compute", "upload", "download", "total ms",
           "GB/s", "Gpx/s", "ratio");
}

static void print_legend(const struct report *report) {
    size_t i;
    const json_t *row;
    json_array_foreach (report->rows, i, row) {
        if (!json_is_null(json_object_get(row, "histogram_ms"))) continue;
        printf("-: one kernel does histogram, table and apply; its time is under compute\n");
        return;
    }
}

/* ---- pictures */

static bool measure_file(const struct bench_options *options, const struct lanes *lanes,
                         const char *path, struct report *report) {
    struct image pixels;
    struct failure failure = { 0 };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool complete = picture_load(&pixels, path, &failure) == STATUS_OK;
    if (complete) {
        struct image shape = pixels;
        shape.pixels = NULL;
        const struct bench_case one = { .name = name,
                                        .plan = "histeq",
                                        .in = shape,
                                        .out = shape,
                                        .repeats = options->repeats,
                                        .draw = picture_copy,
                                        .context = &pixels,
                                        .plain = plain_histeq };
        struct row_context row = { report, name, &shape };
        complete = case_measure(&one, options, lanes, add_row, &row);
    } else {
        fprintf(stderr, "%s: %s: %s\n", options->program, path, failure.message);
    }
    free(pixels.pixels);
    return complete;
}

static bool measure_files(const struct bench_options *options, const struct lanes *lanes,
                          struct report *report) {
    bool complete = true;
    for (int f = 0; f < options->word_count; f++)
        complete &= measure_file(options, lanes, options->words[f], report);
    return complete;
}

static bool measure_sizes(const struct bench_options *options, const struct lanes *lanes,
                          struct report *report) {
    bool complete = true;
    for (unsigned channels = 1; channels <= 3; channels += 2)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const struct image shape = image_shape(sizes[s].width, sizes[s].height, channels, 8);
            const struct bench_case one = { .name = sizes[s].name,
                                            .plan = "histeq",
                                            .in = shape,
                                            .out = shape,
                                            .repeats = options->repeats,
                                            .draw = picture_noise,
                                            .plain = plain_histeq };
            struct row_context row = { report, sizes[s].name, &shape };
            if (bench_options_skip(options, shape.width, shape.height)) continue;
            complete &= case_measure(&one, options, lanes, add_row, &row);
        }
    return complete;
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    if (!options->json) print_head();
    const bool complete =
        (options->word_count ? measure_files : measure_sizes)(options, lanes, report);
    if (!options->json) print_legend(report);
    return complete;
}

static bool takes_files(const struct bench_options *options) {
    (void)options;
    return true;
}

const struct bench bench_histeq = {
    .name = "histeq",
    .summary = "histogram equalization, gray and RGB, 1080p to 263 megapixels, or of each FILE",
    .notes = "            histogram, table, apply: the steps, where a kernel does one alone\n"
             "            ratio: times as fast as one core of the CPU, copies included\n",
    .words = takes_files,
    .measure = measure,
};
