// SPDX-License-Identifier: Apache-2.0
/* How it works. `struct state` is filled from top to bottom: options, device, files with the sizes
 * in their headers, the shapes after each step, a lane with room for exactly these, pixels, the
 * encoded result. For several widths, the files are read and the lane is opened once, and the later
 * stages repeat. The first failure ends the run; state_release frees everything. The codecs are
 * chosen as in the daemon; a file that the device's codec refuses is coded by the CPU's. */
#include "server/cli/one_run.h"
#include "pipeline/animation.h"
#include "pipeline/aux_image.h"
#include "pipeline/run.h"
#include "server/cli/contained_run.h"
#include "server/cli/options.h"
#include "server/cli/progress_line.h"
#include "server/cli/run_report.h"
#include "server/files.h"
#include "server/jobs/codec_choice.h"

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
    FILE *lines;                         /* for results as JSON; NULL: as text */
    const struct one_run_place *of_many; /* NULL: this run has one file */
    size_t lane_bytes, written_bytes;    /* of the open lane, of all results */
    bool beyond_share;                   /* of one of many: it took much memory */
    uint32_t all_notes, width;           /* `width`: of --widths, for the name; 0: none */
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
        status =
            aux_image_probe(plan_aux_at(&state->options.plan, place)->kind, aux->bytes, aux->length,
                            &state->probe.shape, &state->limits.probe, &aux->probe, failure);
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

static void release_lane(struct state *state) {
    if (state->lane) state->driver->close(state->lane);
    pool_destroy(state->pool);
    state->lane = NULL;
    state->pool = NULL;
}

/* The threads of the CPU, for all of a file's work. */
static enum status start_pool(struct state *state, struct failure *failure) {
    int threads = state->options.threads;
    struct device_info facts = { .multiprocessors = 1 };
    if (!threads && device_cpu.describe(0, &facts, failure) == STATUS_OK)
        threads = facts.multiprocessors;
    state->pool = pool_create(threads > 0 ? threads : 1);
    if (state->pool) return STATUS_OK;
    return fail(failure, STATUS_NO_MEMORY, "cannot start %d threads", threads);
}

/* Opens a lane with room for this job, unless an open one has it: its memory is allocated before
 * the time is measured, as in the daemon. */
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
    const size_t bytes = options.arena_bytes + options.staging_bytes;
    if (state->lane && (state->driver == &device_cpu || bytes <= state->lane_bytes))
        return STATUS_OK;
    release_lane(state);
    state->lane_bytes = bytes;
    if (state->driver == &device_cpu && start_pool(state, failure)) return failure->status;
    options.pool = state->pool;
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
                fail_named(plan_aux_at(&state->options.plan, p)->name,
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
    if (state->driver == &device_cpu && contained_run_wanted(plan))
        return contained_run(state->lane, plan, &state->item, pool_threads(state->pool),
                             state->limits.probe.pixels_max, failure);
    return run_batch(state->lane, plan, &state->item, 1, failure);
}

/* Makes room for the file of IMAGE with the longest profile: before decoding, since the device may
 * write into it, and again where the result is larger because a step cut something off. */
static enum status make_room(struct state *state, const struct image *image,
                             struct failure *failure) {
    const struct metadata most = { .profile_length = state->limits.profile_max };
    const size_t room = codec_encode_bound(image, &most, state->options.encode.format);
    if (!state->options.output || (state->result && room <= state->result_room)) return STATUS_OK;
    free(state->result);
    state->result_room = room;
    state->result = malloc(room);
    if (state->result) return STATUS_OK;
    return fail(failure, STATUS_NO_MEMORY, "out of memory for the output");
}

static enum status encode(struct state *state, struct failure *failure) {
    const int64_t start = clock_ns();
    if (make_room(state, &state->item.out, failure)) return failure->status;
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
    enum status status = make_room(state, &state->shapes[state->options.plan.count], failure);
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

static void report(struct state *state, const char *output) {
    struct run_report report = {
        .plan = &state->options.plan,
        .driver = state->driver,
        .index = state->index,
        .shapes = state->shapes,
        .values = state->item.values,
        .source = state->options.input,
        .output = output,
        .input = timing_report_image(&state->probe.shape, state->probe.format, state->length),
        .result = timing_report_image(&state->item.out, state->options.encode.format,
                                      state->result_length),
        .timing = &state->timing,
        .notes = state->notes,
        .warning = state->metadata.warning,
    };
    report.result.fitting = state->fitting;
    state->all_notes |= state->notes;
    state->written_bytes += state->result_length;
    if (state->lines)
        run_report_line(&report, state->lines);
    else if (state->of_many)
        return;
    else if (state->options.timing)
        run_report_timing(&report);
    else
        run_report_text(&report, state->options.quiet);
}

/* ---- one result, or several */

/* Finds all shapes, and checks that they are within the limits and that additional images have the
 * size that their step needs. */
static enum status lay_out(struct state *state, struct failure *failure) {
    struct options *options = &state->options;
    uint32_t given = 0;
    enum status status = plan_settle(&options->plan, &state->probe.shape, true,
                                     state->limits.probe.pixels_max, state->shapes, failure);
    for (int i = 0; i < OP_AUX_MAX && status == STATUS_OK && options->aux[i].name; i++) {
        const char *name = options->aux[i].name;
        const int place = plan_aux(&options->plan, name);
        if (plan_knows_size(&options->plan, plan_aux_step(&options->plan)))
            status = plan_aux_fits(&options->plan, name, &state->aux[place].probe.shape,
                                   state->shapes, failure);
        state->item.aux[place] =
            aux_image_shape(plan_aux_at(&options->plan, place)->kind, &state->aux[place].probe);
        given |= UINT32_C(1) << place;
    }
    if (status == STATUS_OK) status = plan_aux_complete(&options->plan, given, true, failure);
    if (status == STATUS_OK && !options->encode.format)
        encode_options_as_input(
            &options->encode, &state->probe,
            codec_result_format(&state->probe, &state->shapes[options->plan.count]));
    return status;
}

/* Sets PATH of the result. One of many has a name that file_list.c has checked: with the width that
 * was asked for. */
static enum status write_result(struct state *state, char path[PATH_MAX], struct failure *failure) {
    if (state->width && !state->of_many) state->width = state->item.out.width;
    path[0] = '\0';
    if (!state->options.output) return STATUS_OK;
    progress_line_stage(&state->line, "writing");
    if (!options_path(state->options.output, state->width, path, PATH_MAX))
        return fail(failure, STATUS_BAD_PARAM, "OUTPUT's name is too long");
    if (state->of_many)
        return files_replace(path, state->of_many->temporary, state->result, state->result_length,
                             failure);
    return files_write(path, state->result, state->result_length, failure);
}

/* Waits until the other files leave room for one that takes more than its share of memory. */
static void admit(struct state *state) {
    size_t bytes = state->length + codec_memory_decode(&state->probe, state->limits.memory_max);
    for (int i = 0; i <= state->options.plan.count; i++)
        bytes += 2 * image_bytes(&state->shapes[i]); /* with scratch */
    if (bytes <= state->of_many->memory_bytes) return;
    state->beyond_share = true;
    state->of_many->wait_for_memory(state->of_many, bytes);
}

static enum status make_result(struct state *state, struct failure *failure) {
    char path[PATH_MAX];
    enum status status = lay_out(state, failure);
    if (status == STATUS_OK) progress_line_stage(&state->line, "starting");
    if (status == STATUS_OK && state->of_many) admit(state);
    if (status == STATUS_OK) status = open_lane(state, failure);
    if (status == STATUS_OK)
        status = state->probe.frames ? animate(state, failure) : process(state, failure);
    if (status == STATUS_OK) status = write_result(state, path, failure);
    progress_line_release(&state->line);
    if (status == STATUS_OK) report(state, *path ? path : NULL);
    return status;
}

static void start_line(struct state *state) {
    if (state->of_many || state->options.quiet) return;
    progress_line_start(&state->line, &state->options.plan, &state->progress);
}

/* Makes the result of width INDEX, which it sets in the last step. */
static enum status make_width(struct state *state, int index, struct failure *failure) {
    const struct plan plan = state->options.plan;
    char text[16];
    state->width = state->options.widths.widths[index];
    snprintf(text, sizeof text, "%u", state->width);
    enum status status = plan_set(&state->options.plan, "width", text, failure);
    if (status == STATUS_OK) status = make_result(state, failure);
    free(state->result);
    state->result = NULL;
    state->options.plan = plan;
    start_line(state);
    return status;
}

/* ---- the command */

static enum status work_through(struct state *state, struct failure *failure) {
    const int widths = state->options.widths.count;
    enum status status = STATUS_OK;
    start_line(state);
    if (!state->driver)
        status = device_choose(state->options.device, &state->driver, &state->index, failure);
    state->limits = codec_limits_default;
    state->limits.probe.pixels_max = (uint64_t)state->options.pixels_max;
    state->limits.accept_damage = state->options.accept_damage;
    if (status == STATUS_OK) progress_line_stage(&state->line, "reading");
    if (status == STATUS_OK) status = read_input(state, failure);
    if (!status) status = options_settle(&state->options, &state->probe, &state->limits, failure);
    for (int i = 0; i < widths && status == STATUS_OK; i++) status = make_width(state, i, failure);
    if (!widths && status == STATUS_OK) status = make_result(state, failure);
    progress_line_release(&state->line);
    return status;
}

static void release_file(struct state *state) {
    metadata_release(&state->metadata);
    free(state->result);
    for (int p = 0; p < OP_AUX_MAX; p++) free(state->aux[p].bytes);
    free(state->bytes);
}

/* ---- one of many files */

struct one_run {
    struct state state;
    const struct options *options;
};

struct one_run *one_run_open(const struct options *options, const struct one_run_place *place,
                             bool *on_gpu, struct failure *failure) {
    struct one_run *run = calloc(1, sizeof *run);
    if (!run) return fail(failure, STATUS_NO_MEMORY, "out of memory"), NULL;
    run->options = options;
    run->state.of_many = place;
    if (device_choose(options->device, &run->state.driver, &run->state.index, failure)) {
        free(run);
        return NULL;
    }
    *on_gpu = run->state.driver != &device_cpu;
    return run;
}

enum status one_run(struct one_run *run, const struct file_pair *pair, struct one_result *result,
                    struct failure *failure) {
    const struct state *kept = &run->state;
    run->state = (struct state){ .options = *run->options,
                                 .driver = kept->driver,
                                 .index = kept->index,
                                 .pool = kept->pool,
                                 .lane = kept->lane,
                                 .lane_bytes = kept->lane_bytes,
                                 .of_many = kept->of_many,
                                 .lines = result->lines };
    run->state.options.input = pair->source;
    run->state.options.output = pair->output;
    const enum status status = work_through(&run->state, failure);
    result->read_bytes = run->state.length;
    result->written_bytes = run->state.written_bytes;
    result->notes = run->state.all_notes;
    release_file(&run->state);
    if (run->state.beyond_share) release_lane(&run->state);
    return status;
}

/* ---- the only file */

enum status one_run_alone(const struct options *options, FILE *lines, struct failure *failure) {
    struct state state = { .options = *options, .lines = lines };
    const enum status status = work_through(&state, failure);
    release_lane(&state);
    release_file(&state);
    return status;
}
