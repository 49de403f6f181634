// SPDX-License-Identifier: Apache-2.0
/* How it works. Of a failure only the sentence is taken. A result must be of the type that was
 * asked for, with a shape that an image can have; the values must be the JSON that
 * values_json_write makes of as many numbers as were asked for; both must lie behind the upload.
 * What no request asks for, times and texts, is put in order instead: that refuses no job. */
#include "server/jobs/sandbox_answer.h"

#include "server/values_json.h"

#include <string.h>

void sandbox_answer_clean(char *text, size_t size) {
    text[size - 1] = '\0';
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

static double clean_ms(double ms) {
    return ms >= 0 && ms < 1e9 ? ms : 0;
}

/* Below 0: not known. */
static double known_ms(double ms) {
    return ms >= 0 && ms < 1e9 ? ms : -1;
}

static void clean_timing(struct timing *timing) {
    for (int i = 0; i < STAGE_COUNT; i++) timing->stage_ms[i] = clean_ms(timing->stage_ms[i]);
    timing->total_ms = clean_ms(timing->total_ms);
    if (timing->span_count < 0 || timing->span_count > TIMING_SPANS_MAX) timing->span_count = 0;
    for (int i = 0; i < timing->span_count; i++) {
        struct span *span = &timing->spans[i];
        sandbox_answer_clean(span->name, sizeof span->name);
        if (span->level < 0 || span->level >= SPAN_LEVELS) span->level = SPAN_KERNEL;
        span->ms = clean_ms(span->ms);
    }
}

/* Texts and times, which nobody asked for in particular. */
static void clean(struct job *answer) {
    sandbox_answer_clean(answer->failure.message, sizeof answer->failure.message);
    sandbox_answer_clean(answer->warning, sizeof answer->warning);
    sandbox_answer_clean(answer->device_name, sizeof answer->device_name);
    clean_timing(&answer->timing);
}

/* ---- what was asked for */

/* Behind the upload, which the front reads still. */
static bool lies_within(uint64_t offset, uint64_t length, const struct job *asked, size_t span) {
    return offset >= asked->body_length && offset <= span && length <= span - offset;
}

static bool is_shape(const struct image *image) {
    return image->width >= 1 && image->width <= IMAGE_SIDE_MAX && image->height >= 1 &&
           image->height <= IMAGE_SIDE_MAX && image->channels >= 1 && image->channels <= 4 &&
           (image->depth == 8 || image->depth == 16);
}

static bool check_notes(uint32_t notes, const struct job *asked) {
    return notes < 1u << NOTE_COUNT && (asked->accept_damage || !(notes & NOTE_DAMAGED));
}

static bool check_output(const struct job_output *output, const struct job *asked,
                         enum format wanted, size_t span) {
    if (!is_shape(&output->image) || output->type != wanted) return false;
    if (!check_notes(output->notes, asked)) return false;
    if (asked->json_only) return !output->length && !output->offset;
    return output->length && lies_within(output->offset, output->length, asked, span);
}

/* Between the upload and the result. */
static bool check_values_place(const struct job *answer, const struct job *asked, size_t span) {
    if (!asked->value_count) return !answer->values_length && !answer->values_offset;
    return lies_within(answer->values_offset, answer->values_length, asked, span) &&
           (asked->json_only ||
            answer->values_offset + answer->values_length <= answer->outputs[0].offset);
}

/* All results together fit into the slot: what is copied is bounded. */
static bool check(const struct job *answer, const struct job *asked, size_t span) {
    uint64_t bytes = 0;
    bool right = check_notes(answer->notes, asked) && check_values_place(answer, asked, span);
    for (int o = 0; right && o < job_output_count(asked); o++) {
        const struct job_output *output = &answer->outputs[o];
        right = check_output(output, asked, job_output_type(asked, &asked->outputs[o]), span);
        bytes += output->length;
    }
    return right && bytes <= span;
}

/* ---- all of it */

static void take_output(struct job_output *output, const struct job_output *answer) {
    output->image = answer->image;
    output->image.pixels = NULL;
    output->type = answer->type;
    output->notes = answer->notes;
    output->fitting = answer->fitting;
    output->offset = answer->offset;
    output->length = answer->length;
    output->checksum = answer->checksum;
    output->compute_ms = known_ms(answer->compute_ms);
    output->encode_ms = known_ms(answer->encode_ms);
}

static void take_fields(struct job *job, const struct job *answer) {
    for (int o = 0; o < job_output_count(job); o++)
        take_output(&job->outputs[o], &answer->outputs[o]);
    job->values_offset = answer->values_offset;
    job->values_length = answer->values_length;
    job->notes = answer->notes;
    memcpy(job->warning, answer->warning, sizeof job->warning);
}

/* The values are checked where nobody else can write: in the front's slot. */
static bool take_bytes(uint8_t *to, const uint8_t *from, const struct job *answer,
                       const struct job *asked) {
    for (int o = 0; o < job_output_count(asked); o++) {
        const struct job_output *output = &answer->outputs[o];
        memcpy(to + output->offset, from + output->offset, output->length);
    }
    memcpy(to + answer->values_offset, from + answer->values_offset, answer->values_length);
    return !asked->value_count || values_json_check((const char *)to + answer->values_offset,
                                                    answer->values_length, asked->value_count);
}

bool sandbox_answer_take(const struct slots *front, int to, const struct slots *own, int from) {
    struct job *job = slot_job(front, to);
    struct job answer = *slot_job(own, from);
    const bool failed = answer.failure.status != STATUS_OK;
    clean(&answer);
    job->timing = answer.timing;
    job->batch = 1; /* a sandbox runs one job at a time */
    memcpy(job->device_name, answer.device_name, sizeof job->device_name);
    if (failed && (unsigned)answer.failure.status < STATUS_COUNT) {
        job->failure = answer.failure;
    } else if (!failed && check(&answer, job, slot_span(front)) &&
               take_bytes(slot_bytes(front, to), slot_bytes(own, from), &answer, job)) {
        take_fields(job, &answer);
    } else {
        fail(&job->failure, STATUS_INTERNAL,
             "the process that runs users' operators gave an answer that cannot be one");
        return false;
    }
    return true;
}
