// SPDX-License-Identifier: Apache-2.0
/* burin bench jpeg: JPEGs decoded, encoded, and both with an operator between, by size, sampling,
 * quality and batch: the CPU codec on one core and on all, each GPU with files and pixels in its
 * memory, and nvJPEG.
 *
 * How it works. For each size scenes are drawn or cut once; of them subjects are made for each
 * sampling and quality, with everything that the CPU codec makes of them. jpeg_cores.c and
 * jpeg_batches.cu do the same work with the same subjects and give no time unless the result is
 * right. Rows are added as they come. */
#include "pipeline/registry.h"
#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/jpeg_choice.h"
#include "tests/bench/burin-bench/jpeg_cores.h"
#include "tests/bench/burin-bench/nvjpeg_batches.h"

#include <stdio.h>
#include <string.h>

enum { CORE_ROUNDS_MAX = 5, QUICK_ROUNDS = 5, MANY_STREAMS = 3 };

static const char *const work_names[] = { "decode", "encode", "both" };

/* Common to all rows of one kind of picture. */
struct scope {
    const struct bench_options *options;
    const struct lanes *lanes;
    struct report *report;
    struct jpeg_size size;
    enum jpeg_kind kind;
    int quality;
    struct jpeg_batches batches; /* but for device, batch and streams */
};

/* ---- rows */

static void print_head(void) {
    printf("%-6s %-11s %-6s %3s %-18s %-13s %5s %7s %-10s %10s %11s %9s\n", "work", "size",
           "sample", "q", "codec", "device", "batch", "streams", "timing", "us/image", "images/s",
           "KB/file");
}

static void print_row(const json_t *row) {
    printf("%-6s %5.0fx%-5.0f %-6s %3.0f %-18s %-13.13s %5.0f %7.0f %-10s %10.2f %11.0f %9.1f\n",
           report_text(row, "work"), report_number(row, "width"), report_number(row, "height"),
           report_text(row, "sampling"), report_number(row, "quality"), report_text(row, "codec"),
           report_text(row, "device"), report_number(row, "batch"), report_number(row, "streams"),
           report_text(row, "timing"), report_number(row, "us"), report_number(row, "images_s"),
           report_number(row, "file_bytes") / 1e3);
}

struct way {
    const char *codec, *device, *timing;
    int batch, streams;
};

/* US: of a picture. */
static void add_row(const struct scope *scope, const struct way *way, double us,
                    const struct jpeg_batches_times *times) {
    report_add(scope->report,
               json_pack("{s:s, s:i, s:i, s:s, s:i, s:s, s:s, s:i, s:i, s:s, s:f, s:f, s:f, s:f}",
                         "work", work_names[scope->batches.work], "width", (int)scope->size.width,
                         "height", (int)scope->size.height, "sampling",
                         jpeg_kind_names[scope->kind], "quality", scope->quality, "codec",
                         way->codec, "device", way->device, "batch", way->batch, "streams",
                         way->streams, "timing", way->timing, "us", us, "images_s", 1e6 / us,
                         "file_bytes", times->file_bytes, "difference", times->difference),
               print_row);
}

static bool warn(const struct scope *scope, const struct way *way, const struct failure *failure) {
    fprintf(stderr, "%s: %s of %ux%u, %s, quality %d, %s on %s, batches of %d: %s\n",
            scope->options->program, work_names[scope->batches.work], scope->size.width,
            scope->size.height, jpeg_kind_names[scope->kind], scope->quality, way->codec,
            way->device, way->batch, failure->message);
    return false;
}

/* ---- one work on every lane */

static bool measure_cores(const struct scope *scope, const struct bench_lane *lane) {
    const int cores = pool_threads(lane->pool);
    const struct way way = { "libjpeg-turbo", lane->name, "throughput", 1, cores };
    struct jpeg_batches batches = scope->batches;
    struct jpeg_batches_times times = { .difference = 0 };
    struct failure failure = { 0 };
    double us = 0;
    if (batches.rounds > CORE_ROUNDS_MAX) batches.rounds = CORE_ROUNDS_MAX;
    for (int s = 0; s < batches.subject_count; s++)
        times.file_bytes +=
            (double)(batches.work == JPEG_WORK_ENCODE ? batches.subjects[s].encoded.length
                                                      : batches.subjects[s].file.length) /
            batches.subject_count;
    if (jpeg_cores_measure(&batches, lane->pool, &us, &failure)) return warn(scope, &way, &failure);
    add_row(scope, &way, us, &times);
    return true;
}

static bool measure_batch(const struct scope *scope, const struct bench_lane *lane, int batch,
                          int streams) {
    const struct way way = { "burin", lane->name, "throughput", batch, streams };
    const struct way alone = { "burin", lane->name, "latency", batch, streams };
    struct jpeg_batches batches = scope->batches;
    struct jpeg_batches_times times;
    struct failure failure = { 0 };
    batches.device = lane->index;
    batches.batch = batch;
    batches.streams = streams;
    if (jpeg_batches_measure(&batches, &times, &failure)) return warn(scope, &way, &failure);
    add_row(scope, &way, times.batch_us / batch, &times);
    if (batch == 1 && streams == 1) add_row(scope, &alone, times.alone_us, &times);
    return true;
}

/* Gray pictures are not encoded: that is no failure. */
static bool measure_nvjpeg(const struct scope *scope, const struct bench_lane *lane, int batch) {
    const char *codec = nvjpeg_backend();
    const bool gray = scope->kind == JPEG_KIND_GRAY;
    if (!codec || (gray && scope->batches.work != JPEG_WORK_DECODE)) return true;
    const struct way way = { codec, lane->name, "throughput", batch, 1 };
    const struct way alone = { codec, lane->name, "latency", batch, 1 };
    struct jpeg_batches batches = scope->batches;
    struct jpeg_batches_times times;
    struct failure failure = { 0 };
    batches.device = lane->index;
    batches.batch = batch;
    batches.streams = 1;
    if (batches.rounds > CORE_ROUNDS_MAX) batches.rounds = CORE_ROUNDS_MAX;
    if (nvjpeg_batches_measure(&batches, &times, &failure)) return warn(scope, &way, &failure);
    add_row(scope, &way, times.batch_us / batch, &times);
    if (batch == 1) add_row(scope, &alone, times.alone_us, &times);
    return true;
}

static bool measure_gpu(const struct scope *scope, const struct bench_lane *lane) {
    int sizes[JPEG_CHOICES_MAX];
    const int count = jpeg_choice_batches(&scope->size, scope->kind, scope->quality, sizes);
    bool complete = true;
    for (int i = 0; i < count; i++) {
        complete &= measure_batch(scope, lane, sizes[i], 1);
        complete &= measure_batch(scope, lane, sizes[i], MANY_STREAMS);
        complete &= measure_nvjpeg(scope, lane, sizes[i]);
    }
    return complete;
}

static bool measure_work(const struct scope *scope) {
    const struct lanes *lanes = scope->lanes;
    bool complete = true;
    for (const struct bench_lane *lane = lanes->all; lane < lanes->all + lanes->count; lane++)
        complete &= lane->gpu ? measure_gpu(scope, lane) : measure_cores(scope, lane);
    return complete;
}

/* ---- all of a size */

/* Whether the CPU codec can be asked to do WORK in that way. */
static bool is_possible(const struct scope *scope, enum jpeg_work work) {
    if (!jpeg_choice_work(work)) return false;
    if (work == JPEG_WORK_BOTH) return scope->batches.op;
    return work == JPEG_WORK_DECODE ||
           jpeg_kind_written(scope->kind, (unsigned)scope->quality) == scope->kind;
}

static bool measure_kind(struct scope *scope, const struct jpeg_scenes *scenes) {
    static struct jpeg_subjects subjects;
    struct failure failure = { 0 };
    struct jpeg_batches *batches = &scope->batches;
    bool complete = jpeg_subjects_make(&subjects, scenes, scope->kind, (unsigned)scope->quality,
                                       batches->op, batches->params, &failure) == STATUS_OK;
    if (!complete) fprintf(stderr, "%s: %s\n", scope->options->program, failure.message);
    batches->subjects = subjects.all;
    batches->subject_count = subjects.count;
    batches->quality = (unsigned)scope->quality;
    for (int work = 0; complete && work <= JPEG_WORK_BOTH; work++) {
        batches->work = (enum jpeg_work)work;
        if (is_possible(scope, batches->work)) complete &= measure_work(scope);
    }
    jpeg_subjects_release(&subjects);
    return complete;
}

static bool measure_size(struct scope *scope) {
    int qualities[JPEG_CHOICES_MAX];
    const int count = jpeg_choice_qualities(qualities);
    struct jpeg_scenes scenes;
    struct failure failure = { 0 };
    bool complete = jpeg_scenes_make(&scenes, jpeg_choice.photos, scope->size.width,
                                     scope->size.height, &failure) == STATUS_OK;
    if (!complete) fprintf(stderr, "%s: %s\n", scope->options->program, failure.message);
    for (int kind = 0; complete && kind < JPEG_KINDS; kind++)
        for (int q = 0; q < count; q++) {
            scope->kind = (enum jpeg_kind)kind;
            scope->quality = qualities[q];
            if (jpeg_choice_pair(scope->kind, scope->quality))
                complete &= measure_kind(scope, &scenes);
        }
    jpeg_scenes_release(&scenes);
    return complete;
}

/* ---- all */

/* Says once what is left out because it is not on this machine: that is no failure. */
static void tell_what_is_missing(const struct scope *scope) {
    const struct lanes *lanes = scope->lanes;
    const bool gpu = lanes->all[lanes->count - 1].gpu;
    const char *program = scope->options->program;
    if (!gpu && strcmp(scope->options->device, "all") == 0)
        fprintf(stderr, "%s: there is no GPU here: its rows are left out\n", program);
    if (gpu && !nvjpeg_backend())
        fprintf(stderr, "%s: there is no libnvjpeg here: its rows are left out\n", program);
    if (!scope->batches.op && jpeg_choice_work(JPEG_WORK_BOTH))
        fprintf(stderr, "%s: there is no histeq here: rows of both are left out\n", program);
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    struct jpeg_size sizes[JPEG_CHOICES_MAX];
    const int count = jpeg_choice_sizes(sizes);
    struct params params;
    struct scope scope = { .options = options, .lanes = lanes, .report = report };
    bool complete = true;
    scope.batches.op = registry_find("histeq");
    scope.batches.params = &params;
    scope.batches.rounds =
        jpeg_choice.quick && options->repeats > QUICK_ROUNDS ? QUICK_ROUNDS : options->repeats;
    if (scope.batches.op) params_init(&params, scope.batches.op->params);
    tell_what_is_missing(&scope);
    if (!options->json) print_head();
    for (int i = 0; i < count; i++) {
        scope.size = sizes[i];
        if (!bench_options_skip(options, sizes[i].width, sizes[i].height))
            complete &= measure_size(&scope);
    }
    return complete;
}

const struct bench bench_jpeg = {
    .name = "jpeg",
    .summary = "JPEG decoding, encoding, and both with histeq between, beside libjpeg-turbo and "
               "nvJPEG",
    .notes =
        "            on a GPU files and pixels are in its memory; by batch, with one stream and\n"
        "            with three; by events, inputs rotating over 400 MB; burin's results are\n"
        "            equal to libjpeg-turbo's in every byte, else there is a message and no row\n"
        "            latency: one picture alone, from its launch until the host knows it is done\n"
        "            nvJPEG: where libnvjpeg is installed; its files are in pinned host memory,\n"
        "            its times by the clock; its results are other ones, by `difference` a sample\n"
        "            both: what was decoded is encoded as our codec does, in 4:4:4 from quality\n"
        "            95 on, in 4:2:0 below; encode: of the samplings that our codec writes\n"
        "            its own options, lists with commas between:\n" JPEG_CHOICE_HELP,
    .options = jpeg_choice_options,
    .measure = measure,
};
