// SPDX-License-Identifier: Apache-2.0
/* How it works. A failure gives its message alone. A result must have the requested type and
 * the shape that the front has computed; values and results must lie behind the upload. Fields that
 * no request asks for, times and texts, are cleaned instead of refused. */
#include "server/jobs/answer.h"

#include "pipeline/run.h"
#include "server/api/values_json.h"

#include <stddef.h>
#include <string.h>

enum { QUALITY_MAX = 100, TRIES_MAX = 100 };

/* ---- cleaning */

void answer_clean_text(char *text, size_t size) {
    text[size - 1] = '\0';
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

static double clean_ms(double ms) {
    return ms >= 0 && ms < 1e9 ? ms : 0;
}

static float known_ms(float ms) {
    return ms >= 0 && ms < 1e9F ? ms : -1;
}

static void clean_timing(struct timing *timing) {
    for (int i = 0; i < STAGE_COUNT; i++) timing->stage_ms[i] = clean_ms(timing->stage_ms[i]);
    timing->total_ms = clean_ms(timing->total_ms);
    if (timing->span_count < 0 || timing->span_count > TIMING_SPANS_MAX) timing->span_count = 0;
    for (int i = 0; i < timing->span_count; i++) {
        struct span *span = &timing->spans[i];
        answer_clean_text(span->name, sizeof span->name);
        if (span->level < 0 || span->level >= SPAN_LEVELS) span->level = SPAN_KERNEL;
        span->ms = clean_ms(span->ms);
    }
}

static void clean_output(struct job_output *output) {
    const struct fitting *fitting = &output->fitting;
    output->image.pixels = NULL;
    if (fitting->tries <= 0 || fitting->tries > TRIES_MAX || fitting->quality < 0 ||
        fitting->quality > QUALITY_MAX)
        output->fitting = (struct fitting){ 0 };
    output->compute_ms = known_ms(output->compute_ms);
    output->encode_ms = known_ms(output->encode_ms);
    if (output->encoded_by >= CODEC_PLACES) output->encoded_by = CODEC_NOBODY;
}

static void clean(struct job *answer, int outputs) {
    answer_clean_text(answer->failure.message, sizeof answer->failure.message);
    answer_clean_text(answer->warning, sizeof answer->warning);
    answer_clean_text(answer->device_name, sizeof answer->device_name);
    clean_timing(&answer->timing);
    answer->cpu_ms = clean_ms(answer->cpu_ms);
    if (answer->batch < 1 || answer->batch > RUN_BATCH_MAX) answer->batch = 1;
    if (answer->decoded_by >= CODEC_PLACES) answer->decoded_by = CODEC_NOBODY;
    for (int o = 0; o < outputs; o++) clean_output(&answer->outputs[o]);
}

/* ---- checks against the request */

/* True behind the upload, which the front still reads. */
static bool lies_within(uint64_t offset, uint64_t length, const struct job *asked, size_t span) {
    return offset >= asked->body_length && offset <= span && length <= span - offset;
}

static bool check_notes(uint32_t notes, const struct job *asked) {
    return notes < 1u << NOTE_COUNT && (asked->accept_damage || !(notes & NOTE_DAMAGED));
}

/* A size that the pixels decide is the plan's run's to say. */
static bool check_shape(const struct image *image, const struct job *asked,
                        const struct job_output *wanted) {
    if (!wanted->cut || job_is_in_cell(asked)) return image_same_shape(image, &wanted->image);
    return image->channels == wanted->image.channels && image->depth == wanted->image.depth &&
           image->width - 1 < IMAGE_SIDE_MAX && image->height - 1 < IMAGE_SIDE_MAX &&
           (!asked->pixels_max || image_pixels(image) <= asked->pixels_max);
}

/* WANTED: as the front asks for it. */
static bool check_output(const struct job_output *output, const struct job *asked,
                         const struct job_output *wanted, size_t span) {
    if (!check_shape(&output->image, asked, wanted)) return false;
    if (output->type != job_output_type(asked, wanted)) return false;
    if (!check_notes(output->notes, asked)) return false;
    if (asked->json_only) return !output->length && !output->offset;
    if (wanted->apart && !job_is_in_cell(asked) &&
        output->length != job_pixels_bytes(&output->image))
        return false;
    return output->length && lies_within(output->offset, output->length, asked, span);
}

/* Values lie between the upload and the first result. */
static bool check_values_place(const struct job *answer, const struct job *asked, size_t span) {
    if (!asked->value_count) return !answer->values_length && !answer->values_offset;
    return lies_within(answer->values_offset, answer->values_length, asked, span) &&
           (asked->json_only ||
            answer->values_offset + answer->values_length <= answer->outputs[0].offset);
}

static bool check_profile(const struct job *answer, const struct job *asked, size_t span) {
    if (!answer->profile_length) return !answer->profile_offset;
    return lies_within(answer->profile_offset, answer->profile_length, asked, span);
}

/* The front knows where the pixels are, and where they end. No profile is longer than its file. */
static bool check_pixels(const struct job *answer, const struct job *asked, size_t span) {
    return check_notes(answer->notes, asked) && answer->profile_length <= asked->image_length &&
           check_profile(answer, asked, span) && asked->pixels_end <= span;
}

/* Whether the run that ASKED has now makes OUTPUT, which the front asks for. */
static bool is_made(const struct job *asked, const struct job_output *output) {
    return !job_is_in_cell(asked) || (asked->run == RUN_ENCODE && output->apart);
}

/* All results together must fit into the slot, which bounds what is copied. */
static bool check(const struct job *answer, const struct job *asked, size_t span) {
    uint64_t bytes = 0;
    if (asked->run == RUN_DECODE) return check_pixels(answer, asked, span);
    bool right = asked->run == RUN_ENCODE ||
                 (check_notes(answer->notes, asked) && check_values_place(answer, asked, span) &&
                  check_profile(answer, asked, span));
    for (int o = 0; right && o < job_output_count(asked); o++) {
        const struct job_output *output = &answer->outputs[o];
        if (!is_made(asked, &asked->outputs[o])) continue;
        right = check_output(output, asked, &asked->outputs[o], span);
        bytes += output->length;
    }
    return right && bytes <= span;
}

/* Copies WRITTEN and checks the copy against ASKED. SPAN: bytes of the slot. Afterwards all fields
 * of a success are valid; of a failure, its status and message. */
static bool copy(struct job *answer, const struct job *written, const struct job *asked,
                 size_t span) {
    const int outputs = job_output_count(asked);
    const size_t start = offsetof(struct job, received);
    const size_t end = offsetof(struct job, outputs) + (size_t)outputs * sizeof *answer->outputs;
    memcpy((char *)answer + start, (const char *)written + start, end - start);
    __asm__ volatile("" ::: "memory"); /* the compiler must not read WRITTEN again */
    clean(answer, outputs);
    if (answer->failure.status != STATUS_OK) return (unsigned)answer->failure.status < STATUS_COUNT;
    return check(answer, asked, span);
}

/* ---- taking over */

/* Takes the file of a result, or its pixels. */
static void apply_file(struct job_output *output, const struct job_output *answer) {
    output->notes |= answer->notes;
    output->fitting = answer->fitting;
    output->offset = answer->offset;
    output->length = answer->length;
    output->checksum = answer->checksum;
    output->encode_ms = answer->encode_ms;
}

/* Takes the image that the plan made. */
static void apply_result(struct job_output *output, const struct job_output *answer) {
    output->image = answer->image;
    output->type = answer->type;
    output->notes = 0;
    output->compute_ms = answer->compute_ms;
}

/* Copies the checked ANSWER into JOB, but for which codecs did the work, and when. Spans, device
 * and texts are those of the plan's run. */
static void apply(struct job *job, const struct job *answer) {
    const bool plan = !job_is_in_cell(job);
    if (plan) job->timing = answer->timing;
    memcpy(job->timing.stage_ms, answer->timing.stage_ms, sizeof job->timing.stage_ms);
    if (plan) memcpy(job->device_name, answer->device_name, sizeof job->device_name);
    job->failure = answer->failure;
    job->culprit = answer->culprit;
    if (job->failure.status) return;
    for (int o = 0; o < job_output_count(job); o++) {
        if (plan) apply_result(&job->outputs[o], &answer->outputs[o]);
        if (is_made(job, &job->outputs[o])) apply_file(&job->outputs[o], &answer->outputs[o]);
    }
    if (job->run == RUN_ENCODE) return;
    job->notes |= answer->notes;
    job->profile_offset = answer->profile_offset;
    job->profile_length = answer->profile_length;
    if (job->decodes_apart != plan) /* the run that decodes */
        memcpy(job->warning, answer->warning, sizeof job->warning);
    if (!plan) return;
    job->values_offset = answer->values_offset;
    job->values_length = answer->values_length;
}

/* Copies which codecs did the work, and when, bounded by the front's own clock. */
static void apply_facts(struct job *job, const struct job *answer, int64_t now) {
    const int64_t finished = answer->finished_ns;
    job->finished_ns = finished >= job->submitted_ns && finished <= now ? finished : now;
    if (job_is_in_cell(job)) return;
    job->batch = answer->batch;
    job->cpu_ms = answer->cpu_ms;
    job->decoded_by = job->engine_refused ? CODEC_REFUSED : answer->decoded_by;
    for (int o = 0; o < job_output_count(job); o++)
        job->outputs[o].encoded_by = answer->outputs[o].encoded_by;
}

/* Longer values go into a body, unchecked as a result's bytes. */
static bool take_short_values(const struct job *job, const struct job *answer, const uint8_t *bytes,
                              char *values) {
    if (answer->failure.status || job_is_in_cell(job) || !job->value_count ||
        answer->values_length > REPORT_VALUES_MAX)
        return true;
    memcpy(values, bytes + answer->values_offset, answer->values_length);
    return values_json_check(values, answer->values_length, job->value_count);
}

bool answer_take(const struct slots *slots, int slot, int64_t now) {
    struct job *job = slot_job(slots, slot);
    const struct job *written = slot_shared_job(slots, slot);
    struct job answer;
    if (!copy(&answer, written, job, slot_span(slots)) ||
        !take_short_values(job, &answer, slot_bytes(slots, slot), slot_short_values(slots, slot)))
        return false;
    apply(job, &answer);
    apply_facts(job, &answer, now);
    job->progress.done = __atomic_load_n(&written->progress.done, __ATOMIC_RELAXED);
    job->progress.total = __atomic_load_n(&written->progress.total, __ATOMIC_RELAXED);
    return true;
}

/* ---- a sandbox's answer, whose slot an operator may still write to */

/* Copies results and values. The values must be JSON as values_json_write makes it, with as many
 * numbers as were asked for; they are checked in the front's slot, out of the sandbox's reach. */
static bool take_bytes(uint8_t *to, const uint8_t *from, const struct job *answer,
                       const struct job *asked) {
    if (asked->run == RUN_DECODE)
        memcpy(to + asked->pixels_offset, from + asked->pixels_offset,
               asked->pixels_end - asked->pixels_offset);
    if (asked->run != RUN_ENCODE)
        memcpy(to + answer->profile_offset, from + answer->profile_offset, answer->profile_length);
    for (int o = 0; o < job_output_count(asked); o++) {
        const struct job_output *output = &answer->outputs[o];
        if (is_made(asked, &asked->outputs[o]))
            memcpy(to + output->offset, from + output->offset, output->length);
    }
    if (job_is_in_cell(asked)) return true;
    memcpy(to + answer->values_offset, from + answer->values_offset, answer->values_length);
    return !asked->value_count || values_json_check((const char *)to + answer->values_offset,
                                                    answer->values_length, asked->value_count);
}

bool answer_take_from_sandbox(const struct slots *front, int to, const struct slots *own,
                              int from) {
    struct job *job = slot_job(front, to);
    struct job answer;
    job->batch = 1; /* a sandbox runs one job at a time */
    if (copy(&answer, slot_shared_job(own, from), job, slot_span(front)) &&
        (answer.failure.status ||
         take_bytes(slot_bytes(front, to), slot_bytes(own, from), &answer, job))) {
        apply(job, &answer);
        return true;
    }
    fail(&job->failure, STATUS_INTERNAL,
         "the process that did this in a sandbox returned an invalid answer");
    return false;
}
