// SPDX-License-Identifier: Apache-2.0
/* burin run: the pipeline of the daemon on one file, in this process.
 *
 * How it works. `struct work` is filled from top to bottom: options, device, files with the sizes
 * in their headers, the shapes after each step, a lane with room for just that, pixels, the encoded
 * result. The first failure ends it; work_release frees whatever there is. Who decodes and encodes
 * is chosen as in the daemon; what the device's codec refuses is done again by the CPU's. On stderr
 * a line tells how far it is. */
#include "pipeline/aux_image.h"
#include "pipeline/registry.h"
#include "pipeline/run.h"
#include "server/command.h"
#include "server/files.h"
#include "server/jobs/codec_choice.h"
#include "server/progress_line.h"
#include "server/run_options.h"
#include "server/timing_report.h"
#include "server/values_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that a step wants beside the image. */
struct aux_file {
    uint8_t *bytes; /* heap */
    size_t length;
    struct probe probe;
};

/* Everything that one run holds; zeroed, then filled from top to bottom. */
struct work {
    struct run_options options;
    struct codec_limits limits;
    const struct device_driver *driver;
    int index;
    uint8_t *bytes; /* of the input, heap */
    size_t length;
    struct probe probe;
    struct aux_file aux[OP_AUX_MAX];         /* by their place in the operator's record */
    struct image shapes[PLAN_STEPS_MAX + 1]; /* before the first step and after each */
    struct pool *pool;
    struct lane *lane;
    struct run_item item;
    struct progress progress;
    struct progress_line line;
    struct codec_choice choice;
    struct metadata metadata;
    uint8_t *result; /* encoded, heap */
    size_t result_length, result_room;
    uint32_t notes;
    struct timing timing;
};

/* --mask FILE and the like, from the operators' records. */
static void usage_aux(void) {
    for (int i = 0; i < registry_count(); i++) {
        const struct op *op = registry_at(i);
        for (int p = 0; p < OP_AUX_MAX && op->aux[p].name; p++) {
            char option[48];
            snprintf(option, sizeof option, "--%s FILE", op->aux[p].name);
            printf("  %-31s for %s: %s\n", option, op->name, op->aux[p].summary);
        }
    }
}

static int usage(void) {
    fputs("usage: burin run [OPTION]... STEP... INPUT OUTPUT\n"
          "       burin run [OPTION]... STEP... INPUT          where every step tells values\n\n"
          "A step is an operator, with its parameters after a colon: histeq, or\n"
          "histeq:bins=64,scale=maxabs; `burin ops` lists them. Without a step the image is\n"
          "converted. INPUT and OUTPUT are files, or - for standard input and output.\n"
          "What steps tell (histogram, minimum...) goes to standard output, or to standard\n"
          "error where OUTPUT is -: a line a step with a number for each channel, of a list\n"
          "a line a channel. With --timing it is in the JSON instead.\n\n"
          "  --device auto|cpu|cuda|cuda:N   default auto: the first GPU, else the CPU\n"
          "  --type png|jpeg|pnm             default by OUTPUT's extension; without one the\n"
          "                                  input's type\n"
          "  --quality 1..100                of a JPEG, default 85\n"
          "  --compression 0..3              of a PNG, default 1\n"
          "  --background RRGGBB             under transparency, default ffffff\n"
          "  --damaged refuse|accept         accept: what can be read of a damaged image, with\n"
          "                                  a note; default refuse\n"
          "  --timing                        where the time went, as JSON: to standard output,\n"
          "                                  or to standard error where OUTPUT is -\n"
          "  --threads N                     on the CPU, default one per core\n"
          "  --operators-dir DIR             operators in C, to be used like built-in ones:\n"
          "                                  `burin check` tells what is wrong with a file\n"
          "  --pixels-max N                  the largest image in and out, default 67108864\n",
          stdout);
    usage_aux();
    return 0;
}

/* ---- files */

static enum status read_aux(struct work *work, const struct run_aux *option,
                            struct failure *failure) {
    const int place = plan_aux(&work->options.plan, option->name);
    if (place < 0)
        return fail(failure, STATUS_BAD_PARAM, "none of the steps takes --%s", option->name);
    struct aux_file *aux = &work->aux[place];
    enum status status = files_read(option->path, &aux->bytes, &aux->length, failure);
    if (status == STATUS_OK)
        status = fail_named(
            option->name,
            probe_image(aux->bytes, aux->length, &work->limits.probe, &aux->probe, failure),
            failure);
    if (status == STATUS_OK)
        status = plan_aux_fits(&work->options.plan, option->name, &aux->probe.shape, work->shapes,
                               failure);
    if (status == STATUS_OK) work->item.aux[place] = aux_image_shape(&aux->probe);
    return status;
}

/* The image and what its steps want beside it; what comes of it is within the limits. */
static enum status read_input(struct work *work, struct failure *failure) {
    struct run_options *options = &work->options;
    const int64_t start = clock_ns();
    enum status status = files_read(options->input, &work->bytes, &work->length, failure);
    if (status == STATUS_OK)
        status = probe_image(work->bytes, work->length, &work->limits.probe, &work->probe, failure);
    if (status == STATUS_OK)
        status = plan_shapes(&options->plan, &work->probe.shape, work->limits.probe.pixels_max,
                             work->shapes, failure);
    if (!options->encode.format) options->encode.format = work->probe.format;
    for (int i = 0; i < OP_AUX_MAX && status == STATUS_OK && options->aux[i].name; i++)
        status = read_aux(work, &options->aux[i], failure);
    work->timing.stage_ms[STAGE_RECEIVE] = ns_to_ms(clock_ns() - start);
    return status;
}

/* ---- pixels */

/* A lane with room for this one job: memory is allocated before the clock runs, as in the
 * daemon. */
static enum status open_lane(struct work *work, struct failure *failure) {
    const struct plan *plan = &work->options.plan;
    struct lane_options options = { .staging_bytes = 1 << 20, .arena_bytes = 64 << 20 };
    for (int i = 0; i <= plan->count; i++) {
        const size_t bytes = image_bytes(&work->shapes[i]);
        if (bytes > options.staging_bytes) options.staging_bytes = bytes;
        options.arena_bytes += bytes;
    }
    if (work->driver->codec) options.arena_bytes += 2 * options.staging_bytes + 32 * work->length;
    for (int p = 0; p < OP_AUX_MAX; p++) {
        options.staging_bytes += image_bytes(&work->item.aux[p]);
        options.arena_bytes += image_bytes(&work->item.aux[p]);
    }
    if (work->driver == &device_cpu) {
        int threads = work->options.threads;
        struct device_info facts = { .multiprocessors = 1 };
        if (!threads && device_cpu.describe(0, &facts, failure) == STATUS_OK)
            threads = facts.multiprocessors;
        work->pool = pool_create(threads > 0 ? threads : 1);
        if (!work->pool) return fail(failure, STATUS_NO_MEMORY, "cannot start %d threads", threads);
        options.pool = work->pool;
    }
    return work->driver->open(work->index, &options, &work->lane, failure);
}

static enum status decode(struct work *work, struct failure *failure) {
    const int64_t start = clock_ns();
    progress_line_stage(&work->line, "decoding");
    enum status status = STATUS_OK;
    if (!work->item.jpeg)
        status =
            codec_decode(work->bytes, work->length, &work->probe, &work->limits, &work->progress,
                         &work->item.in, &work->metadata, &work->notes, failure);
    for (int p = 0; p < OP_AUX_MAX && status == STATUS_OK; p++) {
        const struct aux_file *aux = &work->aux[p];
        if (aux->length)
            status =
                fail_named(plan_aux_name(&work->options.plan, p),
                           aux_image_decode(aux->bytes, aux->length, &aux->probe, &work->limits,
                                            &work->progress, &work->item.aux[p], failure),
                           failure);
    }
    work->timing.stage_ms[STAGE_DECODE] = ns_to_ms(clock_ns() - start);
    return status;
}

/* A GPU is given all steps at once, and which of several it is at is not told. */
static enum status compute(struct work *work, struct failure *failure) {
    const struct plan *plan = &work->options.plan;
    const bool told = plan->count == 1 || work->driver == &device_cpu;
    if (plan->count) progress_line_stage(&work->line, told ? NULL : "computing");
    return run_batch(work->lane, plan, &work->item, 1, failure);
}

/* Before the pixels are there, so that the device may write into it: with the longest profile. */
static enum status allocate_result(struct work *work, struct failure *failure) {
    const struct metadata most = { .profile_length = work->limits.profile_max };
    if (!work->options.output) return STATUS_OK;
    work->result_room = codec_encode_bound(&work->shapes[work->options.plan.count], &most,
                                           work->options.encode.format);
    work->result = malloc(work->result_room);
    if (work->result) return STATUS_OK;
    return fail(failure, STATUS_NO_MEMORY, "out of memory for the output");
}

static enum status encode(struct work *work, struct failure *failure) {
    const int64_t start = clock_ns();
    progress_line_stage(&work->line, "encoding");
    const enum status status =
        codec_encode(&work->item.out, &work->metadata, &work->options.encode, &work->progress,
                     work->result, work->result_room, &work->result_length, &work->notes, failure);
    work->timing.stage_ms[STAGE_ENCODE] = ns_to_ms(clock_ns() - start);
    return status;
}

/* CODEC: the device's; NULL: the CPU's does all. */
static void choose_codecs(struct work *work, const struct device_codec *codec) {
    const struct codec_request request = {
        .bytes = work->bytes,
        .length = work->length,
        .probe = &work->probe,
        .type = work->options.output ? work->options.encode.format : FORMAT_NONE,
        .quality = work->options.encode.quality,
        .room = work->result,
        .room_bytes = work->result_room,
    };
    metadata_release(&work->metadata);
    codec_choose(codec, CODEC_NOBODY, &work->limits, &work->options.plan, &request, &work->choice,
                 &work->item);
    work->metadata = work->choice.metadata;
    work->notes = work->choice.notes;
}

static enum status recode(struct work *work, const struct device_codec *codec,
                          struct failure *failure) {
    const double receive_ms = work->timing.stage_ms[STAGE_RECEIVE];
    work->timing = (struct timing){ .span_count = 0 };
    work->timing.stage_ms[STAGE_RECEIVE] = receive_ms;
    work->item.in = work->probe.shape;
    work->item.progress = &work->progress;
    work->item.timing = &work->timing;
    choose_codecs(work, codec);
    enum status status = run_reserve(work->lane, &work->options.plan, &work->item, 1,
                                     work->limits.probe.pixels_max, failure);
    if (status == STATUS_OK) status = decode(work, failure);
    if (status == STATUS_OK) status = compute(work, failure);
    if (status != STATUS_OK || work->item.refused) return status;
    work->result_length = work->item.file.length;
    return work->item.want == RUN_PIXELS ? encode(work, failure) : STATUS_OK;
}

static enum status process(struct work *work, struct failure *failure) {
    const int64_t start = clock_ns();
    enum status status = allocate_result(work, failure);
    if (status == STATUS_OK) status = recode(work, work->driver->codec, failure);
    if (work->item.refused || (status == STATUS_INTERNAL && work->driver->codec))
        status = recode(work, NULL, failure);
    timing_close(&work->timing,
                 work->timing.stage_ms[STAGE_RECEIVE] + ns_to_ms(clock_ns() - start));
    return status;
}

/* ---- what steps tell, and the timing report */

/* Not where the image goes. */
static FILE *text_out(const struct work *work) {
    const char *output = work->options.output;
    return output && strcmp(output, "-") == 0 ? stderr : stdout;
}

static void print_number(FILE *out, const struct values *values, size_t index, char after) {
    char text[VALUES_NUMBER_MAX];
    struct json_writer json = json_writer_in(text, sizeof text);
    values_json_number(&json, values, index);
    fprintf(out, "%s%c", text, after);
}

static void print_values(const struct work *work) {
    FILE *out = text_out(work);
    for (int s = 0; s < work->options.plan.count; s++) {
        const struct values *values = &work->item.values[s];
        const uint64_t count = values_count(&values->shape);
        const uint64_t line = values->shape.is_list ? values->shape.length : count;
        for (uint64_t i = 0; i < count; i++)
            print_number(out, values, i, (i + 1) % line ? ' ' : '\n');
    }
}

static void name_device(const struct work *work, char *text, size_t size) {
    struct device_info facts = { 0 };
    if (work->driver == &device_cpu)
        snprintf(text, size, "cpu");
    else if (work->driver->describe(work->index, &facts, NULL) == STATUS_OK)
        snprintf(text, size, "%s:%d (%s)", work->driver->kind, work->index, facts.name);
    else
        snprintf(text, size, "%s:%d", work->driver->kind, work->index);
}

/* In one line: a histogram of a number a line would be nothing to look at. */
static void print_values_member(const struct work *work, FILE *out) {
    const struct plan *plan = &work->options.plan;
    const uint64_t count = plan_value_count(plan, work->shapes);
    const size_t size = values_json_bound(count);
    char *text = count ? malloc(size) : NULL;
    if (text && values_json_write(plan, work->item.values, text, size))
        fprintf(out, ",\n  \"values\": %s", text);
    free(text);
}

static void print_timing(const struct work *work) {
    char device[128];
    name_device(work, device, sizeof device);
    const struct timing_report report = {
        .device = device,
        .input = timing_report_image(&work->probe.shape, work->probe.format, work->length),
        .output =
            timing_report_image(&work->item.out, work->options.encode.format, work->result_length),
        .timing = &work->timing,
        .notes = work->notes,
        .warning = work->metadata.warning,
    };
    FILE *out = text_out(work);
    char text[TIMING_REPORT_MAX];
    timing_report_write(&report, text);
    json_t *json = json_loads(text, 0, NULL); /* for its indentation */
    char *shown = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9) | JSON_PRESERVE_ORDER);
    const size_t length = shown ? strlen(shown) - strlen("\n}") : 0;
    fprintf(out, "%.*s", (int)length, shown ? shown : "");
    print_values_member(work, out);
    fputs("\n}\n", out);
    free(shown);
    json_decref(json);
}

/* With --timing they stand in the JSON. */
static void print_notes(uint32_t notes, const char *warning) {
    for (int i = 0; i < NOTE_COUNT; i++)
        if (notes >> i & 1) fprintf(stderr, "burin: note: %s\n", note_text(i));
    if (notes & NOTE_DAMAGED) fprintf(stderr, "burin: note: %s\n", warning);
}

static void print_results(const struct work *work) {
    print_values(work);
    print_notes(work->notes, work->metadata.warning);
}

/* ---- the command */

static enum status work_through(struct work *work, struct failure *failure) {
    progress_line_init(&work->line, &work->progress, &work->options.plan, "starting");
    enum status status = device_choose(work->options.device, &work->driver, &work->index, failure);
    work->limits = codec_limits_default;
    work->limits.probe.pixels_max = (uint64_t)work->options.pixels_max;
    work->limits.accept_damage = work->options.accept_damage;
    if (status == STATUS_OK) progress_line_stage(&work->line, "reading");
    if (status == STATUS_OK) status = read_input(work, failure);
    if (status == STATUS_OK) progress_line_stage(&work->line, "starting");
    if (status == STATUS_OK) status = open_lane(work, failure);
    if (status == STATUS_OK) status = process(work, failure);
    if (status == STATUS_OK && work->options.output) {
        progress_line_stage(&work->line, "writing");
        status = files_write(work->options.output, work->result, work->result_length, failure);
    }
    progress_line_release(&work->line);
    return status;
}

static void work_release(struct work *work) {
    if (work->lane) work->driver->close(work->lane);
    pool_destroy(work->pool);
    metadata_release(&work->metadata);
    free(work->result);
    for (int p = 0; p < OP_AUX_MAX; p++) free(work->aux[p].bytes);
    free(work->bytes);
}

int command_run(int argc, char **argv) {
    struct work work = { .driver = NULL };
    struct failure failure = { 0 };
    enum status status = run_options_read(&work.options, argc, argv, &failure);
    if (status == STATUS_OK && work.options.help) return usage();
    if (status == STATUS_OK) status = work_through(&work, &failure);
    if (status == STATUS_OK && work.options.timing)
        print_timing(&work);
    else if (status == STATUS_OK)
        print_results(&work);
    else
        fprintf(stderr, "burin: %s\n", *failure.message ? failure.message : status_name(status));
    work_release(&work);
    return status == STATUS_OK ? 0 : status == STATUS_BAD_PARAM ? 2 : 1;
}
