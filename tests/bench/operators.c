// SPDX-License-Identifier: Apache-2.0
/* operators - any plan on one picture: milliseconds of computing, on the CPU with one core and with
 * all, and on each GPU, there in a batch too.
 *
  * How it works. A run on one core of the CPU gives the expected images and values, whichever
  * devices are measured; every lane's results, those of a batch one by one, are compared with them
  * before their times are printed. */
#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/measurement.h"
#include "tests/bench/burin-bench/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, REPEATS_MAX = 1000 };

static const char *const plans[] = {
    "blur:sigma=1", "blur:sigma=3",    "blur:sigma=16",   "sharpen",
    "gamma",        "rotate:angle=90", "rotate:angle=17", "flip",
    "flop",         "dominant",        "contrast",        "levels:black=16,white=235,channel=green",
    "normalize",    "sepia",           "median",
};

enum { FIXED = sizeof plans / sizeof *plans, PARTS = 2 }; /* those that the size decides */

/* Set by --size, --channels and --depth. */
static struct image chosen = { .width = 1920, .height = 1080, .channels = 3, .depth = 8 };

/* The picture that composite lays over it, set by --overlay. */
static struct image overlay = { .width = 200, .height = 100 };

struct subject {
    const struct bench_options *options;
    struct report *report;
    const char *text; /* of the plan */
    struct plan plan;
    struct image in;
    size_t result_bytes;
    uint8_t *expected, *got; /* heap; packed results */
};

/* Plan number I of those that are measured by default. A part begins at no multiple of 16 bytes. */
static const char *default_plan(int i) {
    static char text[96];
    const uint32_t width = chosen.width, height = chosen.height;
    if (i < FIXED) return plans[i];
    if (i == FIXED)
        snprintf(text, sizeof text, "extract:left=%u,top=%u,width=%u,height=%u", width / 19,
                 height / 19, width - width / 10, height - height / 10);
    else
        snprintf(text, sizeof text, "smartcrop:width=%u,height=%u", (width + 1) / 2,
                 (height + 1) / 2);
    return text;
}

/* ---- options */

static bool set_sides(struct image *image, const char *value) {
    uint32_t width, height;
    char rest;
    if (sscanf(value, "%5ux%5u%c", &width, &height, &rest) != 2) return false;
    image->width = width, image->height = height;
    return width && height && width <= 65535 && height <= 65535;
}

static bool set_size(const char *value) {
    return set_sides(&chosen, value);
}

static bool set_overlay(const char *value) {
    return set_sides(&overlay, value);
}

/* A figure alone. */
static bool set_channels(const char *value) {
    chosen.channels = (uint8_t)(*value - '0');
    return *value >= '1' && *value <= '4' && !value[1];
}

static bool set_depth(const char *value) {
    chosen.depth = strcmp(value, "16") == 0 ? 16 : 8;
    return chosen.depth == 16 || strcmp(value, "8") == 0;
}

static const struct bench_option own[] = {
    { "--size", "WIDTHxHEIGHT, each 1..65535", set_size },
    { "--overlay", "WIDTHxHEIGHT, each 1..65535", set_overlay },
    { "--channels", "1..4", set_channels },
    { "--depth", "8 or 16", set_depth },
    { NULL, NULL, NULL },
};

static bool understands(const struct bench_options *options) {
    for (int i = 0; i < options->word_count; i++) {
        struct plan plan;
        struct failure failure = { 0 };
        if (plan_parse(&plan, options->words[i], &failure) == STATUS_OK) continue;
        fprintf(stderr, "%s: %s: %s\n", options->program, options->words[i], failure.message);
        return false;
    }
    return true;
}

/* ---- results */

/* Packs ITEM's image and values into TO; returns the bytes. TO may be NULL. */
static size_t pack_result(const struct plan *plan, const struct run_item *item, uint8_t *to) {
    size_t offset = 0;
    if (run_last_maker(plan) >= 0)
        for (uint32_t y = 0; y < item->out.height; y++, offset += image_row_bytes(&item->out))
            if (to) memcpy(to + offset, image_row(&item->out, y), image_row_bytes(&item->out));
    for (int s = 0; s < plan->count; s++) {
        const size_t bytes = values_bytes(&item->values[s].shape);
        if (to && bytes) memcpy(to + offset, item->values[s].numbers, bytes);
        offset += bytes;
    }
    return offset;
}

static enum status check(const struct subject *subject, const struct run_item *items, int count,
                         struct failure *failure) {
    for (int i = 0; i < count; i++) {
        size_t at = 0;
        pack_result(&subject->plan, &items[i], subject->got);
        if (memcmp(subject->got, subject->expected, subject->result_bytes) == 0) continue;
        while (subject->got[at] == subject->expected[at]) at++;
        return fail(failure, STATUS_INTERNAL, "byte %zu of result %d is wrong", at, i);
    }
    return STATUS_OK;
}

static struct run_item item_of(const struct subject *subject) {
    struct run_item item = { .in = subject->in };
    const int step = plan_aux_step(&subject->plan);
    if (step >= 0 && subject->plan.steps[step].op->aux[0].kind == AUX_PICTURE)
        item.aux[0] = image_shape(overlay.width, overlay.height, 4, 8);
    return item;
}

static void draw(const struct run_item *item) {
    (item->in.depth == 8 ? picture_waves : picture_noise)(&item->in, NULL);
    if (item->aux[0].width) picture_noise(&item->aux[0], NULL);
}

/* Keeps what a core of the CPU makes of the picture. */
static enum status run_expected(struct subject *subject, struct lane *lane,
                                struct failure *failure) {
    struct run_item item = item_of(subject);
    enum status status = run_reserve(lane, &subject->plan, &item, 1, UINT64_MAX, failure);
    if (status) return status;
    draw(&item);
    status = run_batch(lane, &subject->plan, &item, 1, failure);
    if (status) return status;
    subject->result_bytes = pack_result(&subject->plan, &item, NULL);
    subject->expected = malloc(subject->result_bytes + 1);
    subject->got = malloc(subject->result_bytes + 1);
    if (!subject->expected || !subject->got)
        return fail(failure, STATUS_NO_MEMORY, "no memory for the results");
    pack_result(&subject->plan, &item, subject->expected);
    return STATUS_OK;
}

static enum status expect(struct subject *subject, struct failure *failure) {
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    struct lane *lane;
    enum status status = plan_parse(&subject->plan, subject->text, failure);
    if (!status) status = device_cpu.open(0, &options, &lane, failure);
    if (status) return status;
    status = run_expected(subject, lane, failure);
    device_cpu.close(lane);
    return status;
}

/* ---- rows */

static void print_row(const json_t *row) {
    printf("%-46.46s %-14.14s %5.0f %10.4f %8.2f\n", report_text(row, "plan"),
           report_text(row, "device"), report_number(row, "batch"), report_number(row, "ms"),
           report_number(row, "gpx_s"));
}

static void add_row(const struct subject *subject, const struct bench_lane *lane, int count,
                    double ms) {
    const double pixels = (double)image_pixels(&subject->in);
    const double rate = ms > 0 ? pixels / (ms * 1e6) : 0;
    report_add(subject->report,
               json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:i, s:f, s:f}", "plan", subject->text,
                         "width", (int)subject->in.width, "height", (int)subject->in.height,
                         "channels", (int)subject->in.channels, "depth", (int)subject->in.depth,
                         "device", lane->name, "batch", count, "ms", ms, "gpx_s", rate),
               print_row);
}

/* ---- times */

static enum status warm_up(const struct subject *subject, struct lane *lane, struct run_item *items,
                           int count, struct failure *failure) {
    const int64_t until = measurement_warm_until(subject->options->repeats);
    enum status status;
    do status = run_batch(lane, &subject->plan, items, count, failure);
    while (!status && clock_ns() < until);
    return status;
}

/* Milliseconds of one picture of COUNT, the median. */
static enum status measure_batch(const struct subject *subject, struct lane *lane, int count,
                                 double *ms, struct failure *failure) {
    static double runs[REPEATS_MAX];
    static struct run_item items[BATCH];
    static struct timing timing;
    const int repeats = subject->options->repeats;
    for (int i = 0; i < count; i++) items[i] = item_of(subject);
    enum status status = run_reserve(lane, &subject->plan, items, count, UINT64_MAX, failure);
    if (!status) draw(&items[0]);
    for (int i = 1; !status && i < count; i++) {
        picture_copy(&items[i].in, &items[0].in);
        if (items[i].aux[0].width) picture_copy(&items[i].aux[0], &items[0].aux[0]);
    }
    if (!status) status = warm_up(subject, lane, items, count, failure);
    items[0].timing = &timing;
    for (int i = 0; !status && i < repeats; i++) {
        timing = (struct timing){ 0 };
        status = run_batch(lane, &subject->plan, items, count, failure);
        runs[i] = timing.stage_ms[STAGE_COMPUTE] / count;
    }
    if (!status) status = check(subject, items, count, failure);
    if (!status) *ms = measurement_median(runs, repeats);
    return status;
}

static bool measure_lane(const struct subject *subject, const struct bench_lane *lane, int count) {
    struct failure failure = { 0 };
    double ms;
    if (measure_batch(subject, lane->lane, count, &ms, &failure)) {
        fprintf(stderr, "%s: %s on %s, %d at a time: %s\n", subject->options->program,
                subject->text, lane->name, count, failure.message);
        return false;
    }
    add_row(subject, lane, count, ms);
    return true;
}

static bool measure_plan(struct subject *subject, const struct lanes *lanes) {
    struct failure failure = { 0 };
    const bool ready = expect(subject, &failure) == STATUS_OK;
    bool complete = ready;
    if (!ready)
        fprintf(stderr, "%s: %s: %s\n", subject->options->program, subject->text, failure.message);
    for (int l = 0; ready && l < lanes->count; l++) {
        complete &= measure_lane(subject, &lanes->all[l], 1);
        if (lanes->all[l].gpu) complete &= measure_lane(subject, &lanes->all[l], BATCH);
    }
    free(subject->expected);
    free(subject->got);
    return complete;
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    const int given = options->word_count, count = given ? given : FIXED + PARTS;
    bool complete = true;
    if (bench_options_skip(options, chosen.width, chosen.height)) return true;
    if (!options->json) {
        printf("%ux%u, %u x %u bit\n", chosen.width, chosen.height, chosen.channels, chosen.depth);
        printf("%-46s %-14s %5s %10s %8s\n", "plan", "device", "batch", "ms", "Gpx/s");
    }
    for (int i = 0; i < count; i++) {
        struct subject subject = { .options = options, .report = report };
        subject.text = given ? options->words[i] : default_plan(i);
        subject.in = image_shape(chosen.width, chosen.height, chosen.channels, chosen.depth);
        complete &= measure_plan(&subject, lanes);
    }
    return complete;
}

static const char help[] =
    "usage: operators [OPTION]... [PLAN]...\n\n"
    "Milliseconds of computing that a plan takes, such as blur:sigma=3, on a made picture:\n"
    "medians, on one core of the CPU, on all, on each GPU, there also of one picture of a\n"
    "batch of 32. Copies are not in them. Without a PLAN: some operators, each by itself.\n"
    "Results are compared with those of one core before a time is printed.\n"
    "\noptions:\n"
    "  --size WxH      of the picture (default 1920x1080)\n"
    "  --overlay WxH   of composite's second picture, RGBA of 8 bits (default 200x100)\n"
    "  --channels N    1..4 (default 3)\n"
    "  --depth N       8 (default) or 16 bit\n" BENCH_OPTIONS_HELP;

int main(int argc, char **argv) {
    static const struct bench operators = { .program = "operators",
                                            .name = "operators",
                                            .options = own,
                                            .words = understands,
                                            .measure = measure };
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    return bench_run(&operators, argc, argv);
}
