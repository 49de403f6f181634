// SPDX-License-Identifier: Apache-2.0
/* carve_widths - several widths of one picture: a carving alone, the map of as many seams, and each
 * width from that map, on the CPU with one core and with all, and on each GPU.
 *
 * How it works. On every lane: the carving and the map as plans of one step; then one tree whose
 * branches are the widths (run.h), with a time for every part; on a GPU also one batch of
 * all the widths, whose calls share the map. Before a time is printed each result is compared
 * with what carving to that width alone gives on the first lane. */
#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/measurement.h"
#include "tests/bench/burin-bench/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 5, CHANGES = 7, RESULTS = CHANGES + 1, MAP = CHANGES };

/* Eighths of the seams: less and more columns. */
static const int changes[CHANGES] = { -8, -7, -4, -1, 1, 4, 8 };

struct subject {
    const struct bench_options *options;
    struct report *report;
    uint32_t width, height;
    int seams; /* half of the width at most */
    int repeats;
    struct image expected[RESULTS]; /* heap: every width, and the map */
};

static const struct subject sizes[] = { { .width = 320, .height = 240, .seams = 80 },
                                        { .width = 1920, .height = 1080, .seams = 480 } };

static int change_of(const struct subject *subject, int i) {
    return subject->seams * changes[i] / 8;
}

static struct image picture_of(const struct subject *subject) {
    return image_shape(subject->width, subject->height, 3, 8);
}

static enum status parse_single(const struct subject *subject, int result, struct plan *plan,
                                struct failure *failure) {
    char text[64];
    if (result == MAP)
        snprintf(text, sizeof text, "carve:dx=-%d,show=map", subject->seams);
    else
        snprintf(text, sizeof text, "carve:dx=%d", change_of(subject, result));
    return plan_parse(plan, text, failure);
}

/* ---- rows */

static void print_row(const json_t *row) {
    printf("%4.0fx%-4.0f  %-14.14s %-16.16s %10.4f %8.3f\n", report_number(row, "width"),
           report_number(row, "height"), report_text(row, "device"), report_text(row, "what"),
           report_number(row, "ms"), report_number(row, "of_carving"));
}

/* CARVING: what the seams and the pixels take without a map. */
static void add_row(const struct subject *subject, const struct bench_lane *lane, const char *what,
                    double ms, double carving) {
    report_add(subject->report,
               json_pack("{s:i, s:i, s:s, s:s, s:f, s:f}", "width", (int)subject->width, "height",
                         (int)subject->height, "device", lane->name, "what", what, "ms", ms,
                         "of_carving", ms / carving),
               print_row);
}

/* ---- alone */

static enum status measure_single(const struct subject *subject, const struct bench_lane *lane,
                                  int result, int repeats, double *ms, struct failure *failure) {
    struct plan plan;
    struct measurement times;
    enum status status = parse_single(subject, result, &plan, failure);
    if (!status)
        status = measurement_take(&times, lane->lane, &plan, picture_of(subject), picture_waves,
                                  NULL, repeats, failure);
    if (!status) status = measurement_check(lane->lane, &subject->expected[result], failure);
    if (!status) *ms = times.compute_ms;
    return status;
}

/* On the first lane, kept. */
static enum status expect(struct subject *subject, const struct bench_lane *lane,
                          struct failure *failure) {
    enum status status = STATUS_OK;
    double ms;
    for (int r = 0; !status && r < RESULTS; r++) {
        struct image *expected = &subject->expected[r];
        const uint32_t width =
            r == MAP ? subject->width : subject->width + (uint32_t)change_of(subject, r);
        *expected = image_shape(width, subject->height, r == MAP ? 1 : 3, r == MAP ? 16 : 8);
        status = measure_single(subject, lane, r, 1, &ms, failure);
        if (status) return status;
        expected->pixels = malloc(image_bytes(expected));
        if (!expected->pixels) return fail(failure, STATUS_NO_MEMORY, "no memory for the results");
        memcpy(expected->pixels, lane->lane->host_out, image_bytes(expected));
    }
    return status;
}

/* ---- several */

struct tree {
    struct plan plans[1 + CHANGES];
    struct run_item items[1 + CHANGES];
    struct run_tree run;
};

static enum status plant(const struct subject *subject, struct tree *tree,
                         struct failure *failure) {
    enum status status = plan_parse(&tree->plans[0], "", failure);
    tree->run.count = 1;
    tree->run.part_count = 1 + CHANGES;
    for (int p = 0; !status && p <= CHANGES; p++) {
        if (p) status = parse_single(subject, p - 1, &tree->plans[p], failure);
        tree->items[p] = (struct run_item){ .want = p ? RUN_PIXELS : RUN_NOTHING };
        tree->run.parts[p] = (struct run_part){ .plan = &tree->plans[p], .items = &tree->items[p] };
    }
    tree->items[0].in = picture_of(subject);
    return status;
}

static enum status check_width(const struct image *got, const struct image *expected,
                               struct failure *failure) {
    for (uint32_t y = 0; y < expected->height; y++)
        if (memcmp(image_row(got, y), image_row(expected, y), image_row_bytes(expected)) != 0)
            return fail(failure, STATUS_INTERNAL, "%u columns are wrong in row %u", expected->width,
                        y);
    return STATUS_OK;
}

static enum status check_tree(const struct subject *subject, const struct tree *tree,
                              struct failure *failure) {
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < CHANGES; i++)
        status = check_width(&tree->items[1 + i].out, &subject->expected[i], failure);
    return status;
}

/* Milliseconds of the map and of every width, medians. */
static enum status measure_tree(const struct subject *subject, const struct bench_lane *lane,
                                double ms[1 + CHANGES], struct failure *failure) {
    static struct tree tree;
    double runs[1 + CHANGES][REPEATS_MAX];
    enum status status = plant(subject, &tree, failure);
    if (!status) status = run_reserve_tree(lane->lane, &tree.run, UINT64_MAX, failure);
    if (!status) picture_waves(&tree.items[0].in, NULL);
    for (int i = -1; !status && i < subject->repeats; i++) {
        status = run_batch_tree(lane->lane, &tree.run, failure);
        if (!status) status = check_tree(subject, &tree, failure);
        for (int p = 0; i >= 0 && p <= CHANGES; p++) runs[p][i] = tree.run.parts[p].compute_ms;
    }
    for (int p = 0; !status && p <= CHANGES; p++)
        ms[p] = measurement_median(runs[p], subject->repeats);
    return status;
}

/* ---- all at once */

/* Every width as a call of one batch, all with the map that is known already. */
struct together {
    struct params params[CHANGES];
    struct op_call calls[CHANGES];
    struct image in, map, out[CHANGES];
    size_t in_bytes, out_bytes;
};

/* BASE of what lies behind the COUNT images, each at a place that any load may read. */
static size_t place(struct image *images, int count, uint8_t *base, size_t offset) {
    for (int i = 0; i < count; i++) {
        images[i].pixels = base + offset;
        offset += (image_bytes(&images[i]) + 255) / 256 * 256;
    }
    return offset;
}

static void place_inputs(struct together *together, uint8_t *base) {
    const size_t behind = place(&together->in, 1, base, 0);
    together->in_bytes = place(&together->map, 1, base, behind);
}

static enum status gather(const struct subject *subject, struct together *together,
                          struct lane *lane, struct failure *failure) {
    enum status status = STATUS_OK;
    together->in = picture_of(subject);
    together->map = subject->expected[MAP];
    for (int i = 0; i < CHANGES; i++) together->out[i] = subject->expected[i];
    place_inputs(together, NULL);
    together->out_bytes = place(together->out, CHANGES, NULL, 0);
    const struct lane_need need = { .in = together->in_bytes, .out = together->out_bytes };
    status = lane->driver->reserve(lane, &need, failure);
    if (status) return status;
    place_inputs(together, lane->host_in);
    picture_waves(&together->in, NULL);
    memcpy(together->map.pixels, subject->expected[MAP].pixels, image_bytes(&together->map));
    place_inputs(together, lane->in);
    place(together->out, CHANGES, lane->out, 0);
    for (int i = 0; !status && i < CHANGES; i++) {
        struct plan plan;
        status = parse_single(subject, i, &plan, failure);
        together->params[i] = plan.steps[0].params;
        together->calls[i] = (struct op_call){ .op = plan.steps[0].op,
                                               .params = &together->params[i],
                                               .in = together->in,
                                               .out = together->out[i],
                                               .common = together->map,
                                               .failure = failure };
    }
    return status;
}

static enum status run_together(struct together *together, struct lane *lane, double *ms,
                                struct failure *failure) {
    struct lane_times times;
    enum status status = lane->driver->upload(lane, together->in_bytes, failure);
    if (!status) status = lane->driver->run(lane, together->calls[0].op, together->calls, CHANGES);
    if (!status) status = lane->driver->download(lane, together->out_bytes, failure);
    if (!status) status = lane->driver->finish(lane, &times, NULL, failure);
    if (!status) *ms = times.compute_ms / CHANGES;
    return status;
}

/* Milliseconds of one width. */
static enum status measure_together(const struct subject *subject, struct lane *lane, double *ms,
                                    struct failure *failure) {
    static struct together together;
    double runs[REPEATS_MAX], ignored;
    enum status status = gather(subject, &together, lane, failure);
    if (!status) status = run_together(&together, lane, &ignored, failure);
    for (int i = 0; !status && i < subject->repeats; i++)
        status = run_together(&together, lane, &runs[i], failure);
    if (status) return status;
    place(together.out, CHANGES, lane->host_out, 0);
    for (int i = 0; !status && i < CHANGES; i++)
        status = check_width(&together.out[i], &subject->expected[i], failure);
    *ms = measurement_median(runs, subject->repeats);
    return status;
}

/* ---- all of it */

static enum status measure_lane(const struct subject *subject, const struct bench_lane *lane,
                                struct failure *failure) {
    double carving = 0, map = 0, together = 0, ms[1 + CHANGES];
    enum status status = measure_single(subject, lane, 0, subject->repeats, &carving, failure);
    if (!status) status = measure_single(subject, lane, MAP, subject->repeats, &map, failure);
    if (!status) status = measure_tree(subject, lane, ms, failure);
    if (!status && lane->gpu) status = measure_together(subject, lane->lane, &together, failure);
    if (status) return status;
    add_row(subject, lane, "carving", carving, carving);
    add_row(subject, lane, "map", map, carving);
    add_row(subject, lane, "map, for all", ms[0], carving);
    for (int i = 0; i < CHANGES; i++) {
        char what[32];
        snprintf(what, sizeof what, "to %u columns", subject->expected[i].width);
        add_row(subject, lane, what, ms[1 + i], carving);
    }
    if (lane->gpu) add_row(subject, lane, "in a batch, each", together, carving);
    return STATUS_OK;
}

static bool measure_size(struct subject *subject, const struct lanes *lanes) {
    struct failure failure = { 0 };
    bool complete = !expect(subject, &lanes->all[0], &failure);
    if (!complete) fprintf(stderr, "%s: %s\n", subject->options->program, failure.message);
    for (int l = 0; complete && l < lanes->count; l++)
        if (measure_lane(subject, &lanes->all[l], &failure)) {
            fprintf(stderr, "%s: %s: %s\n", subject->options->program, lanes->all[l].name,
                    failure.message);
            complete = false;
        }
    for (int r = 0; r < RESULTS; r++) free(subject->expected[r].pixels);
    return complete;
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    bool complete = true;
    if (!options->json)
        printf("%-10s %-14s %-16s %10s %8s\n", "size", "device", "what", "ms", "of carving");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct subject subject = sizes[s];
        subject.options = options;
        subject.report = report;
        subject.repeats = options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX;
        if (!bench_options_skip(options, subject.width, subject.height))
            complete &= measure_size(&subject, lanes);
    }
    return complete;
}

static const char help[] =
    "usage: carve_widths [OPTION]...\n\n"
    "Several widths of one RGB picture: carving a quarter of the columns out, the map of\n"
    "these seams, and every width from the map, on the CPU and on every GPU.\n"
    "\n"
    "Milliseconds of computing, medians of at most 5 runs; beside them, by what carving\n"
    "alone takes. Every result is compared with that of carving to its width alone.\n"
    "\noptions:\n" BENCH_OPTIONS_HELP;

int main(int argc, char **argv) {
    static const struct bench widths = { .program = "carve_widths",
                                         .name = "carve_widths",
                                         .measure = measure };
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    return bench_run(&widths, argc, argv);
}
