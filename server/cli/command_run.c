// SPDX-License-Identifier: Apache-2.0
/* burin run: the pipeline of the daemon on one file, in this process.
 *
 * How it works. `struct state` is filled from top to bottom: options, device, files with the sizes
 * in their headers, the shapes after each step, a lane with room for exactly these, pixels, the
 * encoded result. For several widths, the files are read and the lane is opened once, and the later
 * stages repeat. The first failure ends the run; state_release frees everything. The codecs are
 * chosen as in the daemon; a file that the device's codec refuses is coded by the CPU's. */
#include "pipeline/animation.h"
#include "pipeline/aux_image.h"
#include "pipeline/run.h"
#include "server/api/timing_report.h"
#include "server/api/values_json.h"
#include "server/cli/command.h"
#include "server/cli/options.h"
#include "server/cli/progress_line.h"
#include "server/files.h"
#include "server/jobs/codec_choice.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 65535, GROUP_BYTES = 64 << 20 };

/* An additional image for a step. */
struct aux_file {
    uint8_t *bytes; /* heap */
    size_t length;
    struct probe probe;
};

/* Everything that one run holds; zeroed, then filled from top to bottom. */
struct state {
    struct options options;
    struct codec_limits limits;
    const struct device_driver *driver;
    int index;
    uint8_t *bytes; /* of the input, heap */
    size_t length;
    struct probe probe;
    struct aux_file aux[OP_AUX_MAX];         /* by their index in the operator's record */
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
    struct fitting fitting;
    uint32_t notes;
    struct timing timing;
};

/* ---- files */

static enum status read_aux(struct state *state, const struct aux_option *option,
                            struct failure *failure) {
    const int place = plan_aux(&state->options.plan, option->name);
    if (place < 0)
        return fail(failure, STATUS_BAD_PARAM, "none of the steps takes --%s", option->name);
    struct aux_file *aux = &state->aux[place];
    enum status status = files_read(option->path, &aux->bytes, &aux->length, failure);
    if (status == STATUS_OK)
        status = probe_image(aux->bytes, aux->length, &state->limits.probe, &aux->probe, failure);
    if (status == STATUS_OK) status = probe_check_data(&aux->probe, false, failure);
    return fail_named(option->name, status, failure);
}

/* Counts the frames of an animation that are all wanted. */
static enum status count_frames(struct state *state, struct failure *failure) {
    const struct options *options = &state->options;
    const struct format_record *input = format_record(state->probe.format);
    const struct format_record *output =
        options->encode.format ? format_record(options->encode.format) : input;
    if (!options->encode.animated || !state->probe.animated || !input->decode_frames ||
        !output->begin_animation)
        return STATUS_OK;
    return probe_frames(state->bytes, state->length, FRAMES_MAX, &state->limits.probe,
                        &state->probe, failure);
}

/* Reads the image and the additional images of its steps. */
static enum status read_input(struct state *state, struct failure *failure) {
    struct options *options = &state->options;
    const int64_t start = clock_ns();
    enum status status = files_read(options->input, &state->bytes, &state->length, failure);
    if (status == STATUS_OK)
        status =
            probe_image(state->bytes, state->length, &state->limits.probe, &state->probe, failure);
    if (status == STATUS_OK)
        status = probe_check_data(&state->probe, state->limits.accept_damage, failure);
    if (status == STATUS_OK) status = count_frames(state, failure);
    for (int i = 0; i < OP_AUX_MAX && status == STATUS_OK && options->aux[i].name; i++)
        status = read_aux(state, &options->aux[i], failure);
    state->timing.stage_ms[STAGE_RECEIVE] = ns_to_ms(clock_ns() - start);
    return status;
}

/* ---- pixels */

/* Opens a lane with room for this job: its memory is allocated before the time is measured, as in
 * the daemon. */
static enum status open_lane(struct state *state, struct failure *failure) {
    const struct plan *plan = &state->options.plan;
    struct lane_options options = { .staging_bytes = 1 << 20, .arena_bytes = 64 << 20 };
    for (int i = 0; i <= plan->count; i++) {
        const size_t bytes = image_bytes(&state->shapes[i]);
        if (bytes > options.staging_bytes) options.staging_bytes = bytes;
        options.arena_bytes += bytes;
    }
    if (state->driver->codec) options.arena_bytes += 2 * options.staging_bytes + 32 * state->length;
    for (int p = 0; p < OP_AUX_MAX; p++) {
        options.staging_bytes += image_bytes(&state->item.aux[p]);
        options.arena_bytes += image_bytes(&state->item.aux[p]);
    }
    if (state->driver == &device_cpu) {
        int threads = state->options.threads;
        struct device_info facts = { .multiprocessors = 1 };
        if (!threads && device_cpu.describe(0, &facts, failure) == STATUS_OK)
            threads = facts.multiprocessors;
        state->pool = pool_create(threads > 0 ? threads : 1);
        if (!state->pool)
            return fail(failure, STATUS_NO_MEMORY, "cannot start %d threads", threads);
        options.pool = state->pool;
    }
    return state->driver->open(state->index, &options, &state->lane, failure);
}

static enum status decode(struct state *state, struct failure *failure) {
    const int64_t start = clock_ns();
    progress_line_stage(&state->line, "decoding");
    enum status status = STATUS_OK;
    if (!run_is_file(&state->item))
        status = codec_decode(state->bytes, state->length, &state->probe, &state->limits,
                              &state->progress, &state->item.in, &state->metadata, &state->notes,
                              failure);
    codec_make_table(&state->metadata, &state->probe, &state->item, &state->notes);
    if (state->metadata.profile_length && plan_assumes_srgb(&state->options.plan))
        state->notes |= NOTE_SRGB_ASSUMED;
    for (int p = 0; p < OP_AUX_MAX && status == STATUS_OK; p++) {
        const struct aux_file *aux = &state->aux[p];
        if (aux->length)
            status =
                fail_named(plan_aux_name(&state->options.plan, p),
                           aux_image_decode(aux->bytes, aux->length, &aux->probe, &state->limits,
                                            &state->progress, &state->item.aux[p], failure),
                           failure);
    }
    state->timing.stage_ms[STAGE_DECODE] = ns_to_ms(clock_ns() - start);
    return status;
}

/* A GPU gets all steps at once, and does not report which of several it runs. */
static enum status compute(struct state *state, struct failure *failure) {
    const struct plan *plan = &state->options.plan;
    const bool reported = plan->count == 1 || state->driver == &device_cpu;
    if (plan->count) progress_line_stage(&state->line, reported ? NULL : "computing");
    return run_batch(state->lane, plan, &state->item, 1, failure);
}

/* Allocates the result, with room for the longest profile, before decoding: the device may write
 * into it. */
static enum status allocate_result(struct state *state, struct failure *failure) {
    const struct metadata most = { .profile_length = state->limits.profile_max };
    if (!state->options.output) return STATUS_OK;
    state->result_room = codec_encode_bound(&state->shapes[state->options.plan.count], &most,
                                            state->options.encode.format);
    state->result = malloc(state->result_room);
    if (state->result) return STATUS_OK;
    return fail(failure, STATUS_NO_MEMORY, "out of memory for the output");
}

/* Makes the room enough for a result that is larger because something was cut off before. */
static enum status enlarge_result(struct state *state, struct failure *failure) {
    const size_t room =
        codec_encode_bound(&state->item.out, &state->metadata, state->options.encode.format);
    if (room <= state->result_room) return STATUS_OK;
    free(state->result);
    state->result_room = room;
    state->result = malloc(room);
    if (state->result) return STATUS_OK;
    return fail(failure, STATUS_NO_MEMORY, "out of memory for the output");
}

static enum status encode(struct state *state, struct failure *failure) {
    const int64_t start = clock_ns();
    if (enlarge_result(state, failure)) return failure->status;
    progress_line_stage(&state->line, "encoding");
    const enum status status = codec_encode_fitting(
        &state->item.out, &state->metadata, &state->options.encode, &state->progress, state->result,
        state->result_room, &state->result_length, &state->fitting, &state->notes, failure);
    state->timing.stage_ms[STAGE_ENCODE] = ns_to_ms(clock_ns() - start);
    return status;
}

/* CODEC: the device's; NULL: the CPU's decodes and encodes. */
static void choose_codecs(struct state *state, const struct device_codec *codec) {
    struct codec_request request = {
        .bytes = state->bytes,
        .length = state->length,
        .probe = &state->probe,
        .encode = state->options.encode,
        .room = state->result,
        .room_bytes = state->result_room,
    };
    if (!state->options.output) request.encode.format = FORMAT_NONE;
    metadata_release(&state->metadata);
    codec_choose(codec, CODEC_NOBODY, &state->limits, &state->options.plan, &request,
                 &state->choice, &state->item);
    state->metadata = state->choice.metadata;
    state->notes = state->choice.notes;
}

static enum status recode(struct state *state, const struct device_codec *codec,
                          struct failure *failure) {
    const double receive_ms = state->timing.stage_ms[STAGE_RECEIVE];
    state->timing = (struct timing){ .span_count = 0 };
    state->timing.stage_ms[STAGE_RECEIVE] = receive_ms;
    state->item.in = state->probe.shape;
    state->item.progress = &state->progress;
    state->item.timing = &state->timing;
    choose_codecs(state, codec);
    enum status status = run_reserve(state->lane, &state->options.plan, &state->item, 1,
                                     state->limits.probe.pixels_max, failure);
    if (status == STATUS_OK) status = decode(state, failure);
    if (status == STATUS_OK) status = compute(state, failure);
    if (status != STATUS_OK || state->item.refused) return status;
    if (state->item.failure.status) return *failure = state->item.failure, failure->status;
    state->result_length = state->item.file.length;
    state->fitting = state->item.fitting;
    codec_note_colour(&state->metadata, &state->options.encode, &state->notes);
    return state->item.want == RUN_PIXELS ? encode(state, failure) : STATUS_OK;
}

static enum status process(struct state *state, struct failure *failure) {
    const int64_t start = clock_ns();
    enum status status = allocate_result(state, failure);
    if (status == STATUS_OK) status = recode(state, state->driver->codec, failure);
    const bool failed = status == STATUS_INTERNAL || status == STATUS_NO_MEMORY;
    if (state->item.refused || (failed && state->driver->codec))
        status = recode(state, NULL, failure);
    timing_close(&state->timing,
                 state->timing.stage_ms[STAGE_RECEIVE] + ns_to_ms(clock_ns() - start));
    return status;
}

/* All frames of an animation, in the place of `process`. */
static enum status animate(struct state *state, struct failure *failure) {
    const struct options *options = &state->options;
    const struct image *result = &state->shapes[state->options.plan.count];
    const int64_t start = clock_ns();
    if (options->widths.count || options->aux[0].name || !options->output ||
        plan_reports(&options->plan) || !format_record(options->encode.format)->begin_animation)
        return fail(failure, STATUS_BAD_PARAM,
                    "--animation keep is for one GIF or WebP, without values and further images");
    state->result_room = state->limits.profile_max +
                         (size_t)state->probe.frames *
                             codec_encode_bound(result, NULL, state->options.encode.format);
    state->result = malloc(state->result_room);
    if (!state->result) return fail(failure, STATUS_NO_MEMORY, "out of memory for the output");
    struct animation animation = { .file = state->bytes,
                                   .length = state->length,
                                   .probe = &state->probe,
                                   .limits = &state->limits,
                                   .plan = &state->options.plan,
                                   .encode = &state->options.encode,
                                   .pool = state->pool,
                                   .group_bytes = GROUP_BYTES,
                                   .bytes = state->result,
                                   .capacity = state->result_room,
                                   .progress = &state->progress,
                                   .timing = &state->timing };
    progress_line_stage(&state->line, "working on the frames");
    const enum status status = animation_run(state->lane, &animation, failure);
    state->result_length = animation.result_length;
    state->item.out = animation.result;
    memcpy(state->item.cuts, animation.cuts, sizeof animation.cuts);
    for (int s = 0; s < options->plan.count; s++)
        state->item.values[s] = (struct values){ plan_step_values(&options->plan, s, state->shapes),
                                                 &state->item.cuts[s] };
    state->notes = animation.notes;
    memcpy(state->metadata.warning, animation.warning, sizeof animation.warning);
    timing_close(&state->timing,
                 state->timing.stage_ms[STAGE_RECEIVE] + ns_to_ms(clock_ns() - start));
    return status;
}

/* ---- the report */

/* The report goes to standard output unless the image does. */
static FILE *text_out(const struct state *state) {
    const char *output = state->options.output;
    return output && strcmp(output, "-") == 0 ? stderr : stdout;
}

static void print_values(const struct state *state) {
    FILE *out = text_out(state);
    for (int s = 0; s < state->options.plan.count; s++) {
        const struct step *step = &state->options.plan.steps[s];
        const struct values *values = &state->item.values[s];
        if (step->op->text) {
            char text[VALUES_TEXT_MAX];
            const size_t length = step->op->text(&step->params, values, text);
            fprintf(out, "%.*s\n", (int)length, text);
            continue;
        }
        const uint64_t count = values_count(&values->shape);
        const uint64_t line = values->shape.is_list ? values->shape.length : count;
        for (uint64_t i = 0; i < count; i++) {
            char text[VALUES_NUMBER_MAX];
            struct json_writer json = json_writer_in(text, sizeof text);
            values_json_number(&json, values, i);
            fprintf(out, "%s%c", text, (i + 1) % line ? ' ' : '\n');
        }
    }
}

static void name_device(const struct state *state, char *text, size_t size) {
    struct device_info facts = { 0 };
    if (state->driver == &device_cpu)
        snprintf(text, size, "cpu");
    else if (state->driver->describe(state->index, &facts, NULL) == STATUS_OK)
        snprintf(text, size, "%s:%d (%s)", state->driver->kind, state->index, facts.name);
    else
        snprintf(text, size, "%s:%d", state->driver->kind, state->index);
}

/* Prints the values in one line, not one line per number. */
static void print_values_member(const struct state *state, FILE *out) {
    const struct plan *plan = &state->options.plan;
    const uint64_t count = plan_value_count(plan, state->shapes);
    const size_t size = values_json_bound(count);
    char *text = count ? malloc(size) : NULL;
    if (text && values_json_write(plan, state->item.values, text, size))
        fprintf(out, ",\n  \"values\": %s", text);
    free(text);
}

static void print_timing(const struct state *state) {
    char device[128];
    name_device(state, device, sizeof device);
    struct timing_report report = {
        .device = device,
        .input = timing_report_image(&state->probe.shape, state->probe.format, state->length),
        .output = timing_report_image(&state->item.out, state->options.encode.format,
                                      state->result_length),
        .timing = &state->timing,
        .notes = state->notes,
        .warning = state->metadata.warning,
    };
    FILE *out = text_out(state);
    char text[TIMING_REPORT_MAX];
    report.output.fitting = state->fitting;
    timing_report_write(&report, text);
    json_t *json = json_loads(text, 0, NULL); /* to indent it */
    char *shown = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9) | JSON_PRESERVE_ORDER);
    const size_t length = shown ? strlen(shown) - strlen("\n}") : 0;
    fprintf(out, "%.*s", (int)length, shown ? shown : "");
    print_values_member(state, out);
    fputs("\n}\n", out);
    free(shown);
    json_decref(json);
}

static void report(const struct state *state) {
    if (state->options.timing) {
        print_timing(state);
        return;
    }
    print_values(state);
    for (int i = 0; i < NOTE_COUNT; i++)
        if (state->notes >> i & 1) fprintf(stderr, "burin: note: %s\n", note_text(i));
    if (state->notes & NOTE_DAMAGED) fprintf(stderr, "burin: note: %s\n", state->metadata.warning);
}

/* ---- one result, or several */

/* Finds all shapes, and checks that they are within the limits and that additional images have the
 * size that their step needs. */
static enum status lay_out(struct state *state, struct failure *failure) {
    struct options *options = &state->options;
    enum status status = plan_shapes(&options->plan, &state->probe.shape,
                                     state->limits.probe.pixels_max, state->shapes, failure);
    for (int i = 0; i < OP_AUX_MAX && status == STATUS_OK && options->aux[i].name; i++) {
        const char *name = options->aux[i].name;
        const int place = plan_aux(&options->plan, name);
        if (plan_knows_size(&options->plan, plan_aux_step(&options->plan)))
            status = plan_aux_fits(&options->plan, name, &state->aux[place].probe.shape,
                                   state->shapes, failure);
        state->item.aux[place] = aux_image_shape(&state->aux[place].probe);
    }
    if (status == STATUS_OK && !options->encode.format)
        encode_options_as_input(
            &options->encode, &state->probe,
            codec_result_format(&state->probe, &state->shapes[options->plan.count]));
    return status;
}

static enum status write_result(struct state *state, struct failure *failure) {
    char path[PATH_MAX];
    const uint32_t width = state->item.out.width;
    if (!state->options.output) return STATUS_OK;
    progress_line_stage(&state->line, "writing");
    if (!state->options.widths.count)
        return files_write(state->options.output, state->result, state->result_length, failure);
    if (!options_path(state->options.output, width, path, sizeof path))
        return fail(failure, STATUS_BAD_PARAM, "OUTPUT's name is too long");
    return files_write(path, state->result, state->result_length, failure);
}

static enum status make_result(struct state *state, struct failure *failure) {
    enum status status = lay_out(state, failure);
    if (status == STATUS_OK) progress_line_stage(&state->line, "starting");
    if (status == STATUS_OK && !state->lane) status = open_lane(state, failure);
    if (status == STATUS_OK)
        status = state->probe.frames ? animate(state, failure) : process(state, failure);
    return status ? status : write_result(state, failure);
}

/* Makes the result of width INDEX, which it sets in the last step. */
static enum status make_width(struct state *state, int index, struct failure *failure) {
    const struct plan plan = state->options.plan;
    char text[16];
    snprintf(text, sizeof text, "%u", state->options.widths.widths[index]);
    enum status status = plan_set(&state->options.plan, "width", text, failure);
    if (status == STATUS_OK) status = make_result(state, failure);
    progress_line_release(&state->line);
    if (status == STATUS_OK) report(state);
    free(state->result);
    state->result = NULL;
    state->options.plan = plan;
    progress_line_start(&state->line, &state->options.plan, &state->progress);
    return status;
}

/* ---- the command */

static enum status work_through(struct state *state, struct failure *failure) {
    const int widths = state->options.widths.count;
    progress_line_start(&state->line, &state->options.plan, &state->progress);
    enum status status =
        device_choose(state->options.device, &state->driver, &state->index, failure);
    state->limits = codec_limits_default;
    state->limits.probe.pixels_max = (uint64_t)state->options.pixels_max;
    state->limits.accept_damage = state->options.accept_damage;
    if (status == STATUS_OK) progress_line_stage(&state->line, "reading");
    if (status == STATUS_OK) status = read_input(state, failure);
    if (!status) status = options_settle(&state->options, &state->probe, &state->limits, failure);
    for (int i = 0; i < widths && status == STATUS_OK; i++) status = make_width(state, i, failure);
    if (!widths && status == STATUS_OK) status = make_result(state, failure);
    progress_line_release(&state->line);
    if (!widths && status == STATUS_OK) report(state);
    return status;
}

static void state_release(struct state *state) {
    if (state->lane) state->driver->close(state->lane);
    pool_destroy(state->pool);
    metadata_release(&state->metadata);
    free(state->result);
    for (int p = 0; p < OP_AUX_MAX; p++) free(state->aux[p].bytes);
    free(state->bytes);
}

int command_run(int argc, char **argv) {
    struct state state = { .driver = NULL };
    struct failure failure = { 0 };
    enum status status = options_read(&state.options, argc, argv, &failure);
    if (status == STATUS_OK && state.options.help) return options_usage();
    if (status == STATUS_OK) status = work_through(&state, &failure);
    if (status != STATUS_OK)
        fprintf(stderr, "burin: %s\n", *failure.message ? failure.message : status_name(status));
    state_release(&state);
    return status == STATUS_OK ? 0 : status == STATUS_BAD_PARAM ? 2 : 1;
}
