// SPDX-License-Identifier: Apache-2.0
/* burin bench edge: Sobel edges by size, on the CPU and on every GPU, with and without copies. */
#include "tests/bench/burin-bench/edge.h"

#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/case.h"
#include "tests/bench/burin-bench/picture.h"
#include "tests/bench/burin-bench/plain.h"

#include <stdio.h>

const struct edge_size edge_sizes[] = { { "S", 729, 480 },      { "M", 1166, 768 },
                                        { "L", 1639, 1080 },    { "X", 7881, 5192 },
                                        { "XX", 20000, 13176 }, { NULL, 0, 0 } };

void edge_print_head(void) {
    printf("%-15s %-22s %10s %9s %9s %10s %8s %8s %9s %8s\n", "picture", "way", "compute", "upload",
           "download", "total ms", "GB/s", "Gpx/s", "x compute", "x total");
}

static void print_row(const json_t *row) {
    printf("%-3s %5.0fx%-5.0f %-22s %10.3f %9.3f %9.3f %10.3f %8.1f %8.2f %9.1f %8.1f\n",
           report_text(row, "picture"), report_number(row, "width"), report_number(row, "height"),
           report_text(row, "way"), report_number(row, "compute_ms"),
           report_number(row, "upload_ms"), report_number(row, "download_ms"),
           report_number(row, "total_ms"), report_number(row, "gb_s"), report_number(row, "gpx_s"),
           report_number(row, "compute_ratio"), report_number(row, "total_ratio"));
}

/* Bytes: each pixel is read once and written once. */
void edge_add(struct report *report, const struct edge_size *size, const char *way,
              const struct measurement *times, const struct measurement *base) {
    const double pixels = (double)size->width * size->height;
    const double total = measurement_total_ms(times);
    if (!base) base = times;
    json_t *row = json_pack(
        "{s:s, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "picture", size->name,
        "width", (int)size->width, "height", (int)size->height, "way", way, "compute_ms",
        times->compute_ms, "upload_ms", times->upload_ms, "download_ms", times->download_ms,
        "total_ms", total, "gb_s", 2 * pixels / (times->compute_ms * 1e6), "gpx_s",
        pixels / (times->compute_ms * 1e6), "compute_ratio", base->compute_ms / times->compute_ms,
        "total_ratio", measurement_total_ms(base) / total);
    report_add(report, row, print_row);
}

struct row_context {
    struct report *report;
    const struct edge_size *size;
};

static void add_row(void *context, const struct bench_lane *lane, const struct measurement *times,
                    const struct measurement *core) {
    const struct row_context *row = context;
    edge_add(row->report, row->size, lane->name, times, core);
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    bool complete = true;
    if (!options->json) edge_print_head();
    for (const struct edge_size *size = edge_sizes; size->name; size++) {
        const struct image shape = image_shape(size->width, size->height, 1, 8);
        const struct bench_case one = { .name = size->name,
                                        .plan = "edge",
                                        .in = shape,
                                        .out = shape,
                                        .repeats = options->repeats,
                                        .draw = picture_noise,
                                        .plain = plain_edge };
        struct row_context row = { report, size };
        if (bench_options_skip(options, size->width, size->height)) continue;
        complete &= case_measure(&one, options, lanes, add_row, &row);
    }
    return complete;
}

const struct bench bench_edge = {
    .name = "edge",
    .summary = "Sobel edges of 8-bit gray by size, 0.35 to 263 megapixels",
    .notes = "            x compute, x total: times as fast as one core of the CPU\n",
    .measure = measure,
};
