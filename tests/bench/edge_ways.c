// SPDX-License-Identifier: Apache-2.0
/* edge_ways - Sobel edges the ways that textbooks show them, beside the operator: plain C on a
 * core, two plain kernels and the shipped one on each GPU. Sizes are those of figure 3 of a course
 * project of 2022, which plot.py draws from the JSON. */
#include "tests/bench/edge_ways.h"

#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/edge.h"
#include "tests/bench/burin-bench/picture.h"
#include "tests/bench/burin-bench/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_REPEATS = 3 };

/* Common to all ways of one size. */
struct subject {
    const struct bench_options *options;
    const struct edge_size *size;
    struct image picture, expected; /* heap; the latter by plain C */
    struct measurement plain;
    struct report *report;
};

static struct measurement time_plain(const struct subject *subject) {
    double ms[PLAIN_REPEATS];
    for (int i = 0; i < PLAIN_REPEATS; i++) {
        const int64_t start = clock_ns();
        plain_edge(&subject->picture, &subject->expected);
        ms[i] = ns_to_ms(clock_ns() - start);
    }
    return (struct measurement){ .compute_ms = measurement_median(ms, PLAIN_REPEATS) };
}

static bool add_way(const struct subject *subject, const char *way, enum status status,
                    const struct measurement *times, const struct failure *failure) {
    if (status)
        fprintf(stderr, "%s: %s, %s: %s\n", subject->options->program, subject->size->name, way,
                failure->message);
    else
        edge_add(subject->report, subject->size, way, times, &subject->plain);
    return !status;
}

static bool measure_operator(const struct subject *subject, const struct bench_lane *lane) {
    struct plan plan;
    struct measurement times;
    struct failure failure = { 0 };
    const struct image shape = image_shape(subject->size->width, subject->size->height, 1, 8);
    enum status status = plan_parse(&plan, "edge", &failure);
    if (!status)
        status = measurement_take(&times, lane->lane, &plan, shape, picture_noise, NULL,
                                  subject->options->repeats, &failure);
    if (!status) status = measurement_check(lane->lane, &subject->expected, &failure);
    return add_way(subject, lane->name, status, &times, &failure);
}

static bool measure_kernels(const struct subject *subject, const struct bench_lane *lane) {
    static const char *const names[] = { [EDGE_WAY_PLAIN] = "plain",
                                         [EDGE_WAY_SHARED] = "shared memory",
                                         [EDGE_WAY_SHIPPED] = "shipped" };
    bool complete = true;
    for (int way = EDGE_WAY_PLAIN; way <= EDGE_WAY_SHIPPED; way++) {
        char name[96];
        struct failure failure = { 0 };
        struct edge_way_times ms;
        struct measurement times = { 0 };
        snprintf(name, sizeof name, "%.63s %s", lane->name, names[way]);
        const enum status status =
            edge_way_measure(lane->index, (enum edge_way)way, &subject->picture, &subject->expected,
                             subject->options->repeats, &ms, &failure);
        if (!status) {
            times.upload_ms = ms.upload_ms;
            times.compute_ms = ms.compute_ms;
            times.download_ms = ms.download_ms;
        }
        complete &= add_way(subject, name, status, &times, &failure);
    }
    return complete;
}

static bool measure_size(struct subject *subject, const struct lanes *lanes) {
    bool complete = true;
    picture_noise(&subject->picture, NULL);
    subject->plain = time_plain(subject);
    edge_add(subject->report, subject->size, "cpu, plain C", &subject->plain, NULL);
    for (const struct bench_lane *lane = lanes->all; lane < lanes->all + lanes->count; lane++) {
        if (lane->gpu) complete &= measure_kernels(subject, lane);
        complete &= measure_operator(subject, lane);
    }
    return complete;
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    bool complete = true;
    if (!options->json) edge_print_head();
    for (const struct edge_size *size = edge_sizes; size->name; size++) {
        struct subject subject = { .options = options, .size = size, .report = report };
        if (bench_options_skip(options, size->width, size->height)) continue;
        subject.picture = subject.expected = image_shape(size->width, size->height, 1, 8);
        subject.picture.pixels = malloc(image_bytes(&subject.picture));
        subject.expected.pixels = malloc(image_bytes(&subject.expected));
        if (!subject.picture.pixels || !subject.expected.pixels) {
            fprintf(stderr, "%s: no memory for %s\n", options->program, size->name);
            complete = false;
        } else {
            complete &= measure_size(&subject, lanes);
        }
        free(subject.picture.pixels);
        free(subject.expected.pixels);
    }
    return complete;
}

static const char help[] =
    "usage: edge_ways [OPTION]...\n\n"
    "Sobel edges of 8-bit gray by size, 0.35 to 263 megapixels: straightforward C on a\n"
    "core, the operator on the CPU and on every GPU; on a GPU also two textbook kernels\n"
    "and the shipped one alone, launched before the clock runs.\n"
    "\n"
    "Milliseconds: compute in the device's memory, upload, download, total of the three.\n"
    "GB/s: each pixel read once and written once. x compute, x total: times as fast as\n"
    "plain C. Medians of 15 runs (--repeats; kernels at most 100, plain C 3). Every\n"
    "result is compared with that of plain C before its time is printed.\n"
    "\noptions:\n" BENCH_OPTIONS_HELP;

int main(int argc, char **argv) {
    static const struct bench ways = { .program = "edge_ways", .name = "edge", .measure = measure };
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    return bench_run(&ways, argc, argv);
}
