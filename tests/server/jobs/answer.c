// SPDX-License-Identifier: Apache-2.0
/* One valid answer in shared memory, and each of its fields made invalid: the front cleans the
 * field or refuses the answer. */
#include "server/jobs/answer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SPAN = 1 << 20, BODY = 5000, RESULT = 2 * SLOT_PAGE, RESULT_LENGTH = 3000 };
enum { VALUES = SLOT_PAGE + SLOT_PAGE / 2 };

static const char values[] =
    "[{\"operation\":\"tally\",\"step\":1,\"value\":[[-1,2.5e+300],[3,4]]}]";

struct scene {
    struct slots *slots;
    int slot;
    struct job *job, *answer;
    int64_t now;
};

static struct slots *make_slots(void) {
    const struct slot_options options = { .count = 1, .base_bytes = 64 << 10, .span_bytes = SPAN };
    struct failure failure = { 0 };
    struct slots *slots = slots_create(&options, &failure);
    assert_non_null(slots);
    return slots;
}

/* The request sent a JPEG of 40 x 30 and wants four numbers and a PNG. */
static void ask(struct job *job) {
    job->probe.format = FORMAT_JPEG;
    job->probe.shape = image_shape(40, 30, 3, 8);
    job->body_length = job->image_length = BODY;
    job->outputs[0].encode.format = FORMAT_PNG;
    job->outputs[0].image = image_shape(20, 10, 1, 16);
    job->value_count = 4;
    job->submitted_ns = 1000;
}

static void give(struct job *answer, uint8_t *bytes) {
    answer->outputs[0].image = image_shape(20, 10, 1, 16);
    answer->outputs[0].type = FORMAT_PNG;
    answer->outputs[0].offset = RESULT;
    answer->outputs[0].length = RESULT_LENGTH;
    memset(bytes + RESULT, 7, RESULT_LENGTH);
    answer->values_offset = VALUES;
    answer->values_length = strlen(values);
    memcpy(bytes + VALUES, values, strlen(values));
    answer->notes = NOTE_PROFILE_DROPPED;
    answer->timing.stage_ms[STAGE_COMPUTE] = 1.5;
    timing_span(&answer->timing, "tally", 0, 1.25);
    strcpy(answer->device_name, "cpu");
    answer->outputs[0].encoded_by = CODEC_FORMAT;
    answer->batch = 3;
    answer->finished_ns = 4000;
    answer->progress.done = 7;
}

static struct scene begin(void) {
    struct scene scene = { .slots = make_slots(), .now = 5000 };
    scene.slot = slot_take(scene.slots, 0, NULL);
    scene.job = slot_job(scene.slots, scene.slot);
    scene.answer = slot_shared_job(scene.slots, scene.slot);
    ask(scene.job);
    *scene.answer = *scene.job;
    give(scene.answer, slot_bytes(scene.slots, scene.slot));
    return scene;
}

static void end(struct scene *scene) {
    slots_destroy(scene->slots);
}

static char *values_of(const struct scene *scene) {
    return (char *)slot_bytes(scene->slots, scene->slot) + VALUES;
}

static bool take(struct scene *scene) {
    return answer_take(scene->slots, scene->slot, scene->now);
}

/* ---- tests */

/* Later writes of the worker change nothing. */
static void a_right_one(void **state) {
    (void)state;
    struct scene scene = begin();
    const struct job *job = scene.job;
    assert_true(take(&scene));
    memset(scene.answer, 0xff, sizeof *scene.answer);
    memset(values_of(&scene), '\n', strlen(values));
    assert_int_equal(job->failure.status, STATUS_OK);
    assert_int_equal(job->outputs[0].image.width, 20);
    assert_int_equal(job->outputs[0].image.depth, 16);
    assert_int_equal(job->outputs[0].type, FORMAT_PNG);
    assert_int_equal(job->outputs[0].offset, RESULT);
    assert_int_equal(job->outputs[0].length, RESULT_LENGTH);
    assert_int_equal(job->outputs[0].encoded_by, CODEC_FORMAT);
    assert_int_equal(job->notes, NOTE_PROFILE_DROPPED);
    assert_string_equal(job->device_name, "cpu");
    assert_int_equal(job->timing.span_count, 1);
    assert_int_equal(job->values_length, strlen(values));
    assert_memory_equal(slot_short_values(scene.slots, scene.slot), values, strlen(values));
    assert_int_equal(job->batch, 3);
    assert_int_equal(job->finished_ns, 4000);
    assert_int_equal(job->progress.done, 7);
    end(&scene);
}

/* Any size that an image may have is right, if the pixels decide it; within the job's limit. */
static void one_of_any_size(void **state) {
    (void)state;
    static const struct {
        uint32_t width, height;
        unsigned channels, depth;
        bool right;
    } shapes[] = { { 1, 1, 1, 16, true },       { 65535, 65535, 1, 16, true },
                   { 0, 10, 1, 16, false },     { 20, 0, 1, 16, false },
                   { 65536, 10, 1, 16, false }, { 20, 65536, 1, 16, false },
                   { 20, 10, 3, 16, false },    { 20, 10, 1, 8, false } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct scene scene = begin();
        scene.job->outputs[0].cut = true;
        scene.answer->outputs[0].image =
            image_shape(shapes[i].width, shapes[i].height, shapes[i].channels, shapes[i].depth);
        assert_int_equal(take(&scene), shapes[i].right);
        if (shapes[i].right) assert_int_equal(scene.job->outputs[0].image.width, shapes[i].width);
        end(&scene);
    }
    for (uint64_t most = 199; most <= 200; most++) {
        struct scene scene = begin();
        scene.job->outputs[0].cut = true;
        scene.job->pixels_max = most;
        scene.answer->outputs[0].image = image_shape(20, 10, 1, 16);
        assert_int_equal(take(&scene), most == 200);
        end(&scene);
    }
}

static void one_of_numbers_alone(void **state) {
    (void)state;
    struct scene scene = begin();
    scene.job->json_only = 1;
    scene.job->outputs[0].encode.format = FORMAT_NONE;
    scene.answer->outputs[0].type = FORMAT_PNG; /* a JPEG holds no 16 bits */
    scene.answer->outputs[0].offset = scene.answer->outputs[0].length = 0;
    assert_true(take(&scene));
    assert_int_equal(scene.job->values_length, strlen(values));
    end(&scene);
}

/* A failed answer contributes its status and message, and nothing else. */
static void a_failure(void **state) {
    (void)state;
    struct scene scene = begin();
    scene.answer->failure.status = STATUS_DEADLINE;
    strcpy(scene.answer->failure.message, "too slow\r\nSet-Cookie: a=b");
    scene.answer->outputs[0].offset = UINT64_MAX;
    assert_true(take(&scene));
    assert_int_equal(scene.job->failure.status, STATUS_DEADLINE);
    assert_string_equal(scene.job->failure.message, "too slow??Set-Cookie: a=b");
    assert_int_equal(job_bytes_end(scene.job), BODY);
    end(&scene);
}

/* The front keeps the request and the completion pipe to itself. */
static void the_request_is_not_read_again(void **state) {
    (void)state;
    struct scene scene = begin();
    const struct job before = *scene.job;
    memset(scene.answer, 0xff, offsetof(struct job, received));
    assert_true(take(&scene));
    assert_memory_equal(scene.job, &before, offsetof(struct job, progress));
    assert_int_equal(scene.job->progress.deadline_ns, before.progress.deadline_ns);
    assert_int_equal(scene.job->further, 0);
    end(&scene);
}

static void texts_are_cleaned(void **state) {
    (void)state;
    struct scene scene = begin();
    struct timing *timing = &scene.answer->timing;
    memset(scene.answer->device_name, '\n', sizeof scene.answer->device_name);
    memset(scene.answer->warning, '\x80', sizeof scene.answer->warning);
    memset(timing->spans[0].name, 'x', sizeof timing->spans[0].name);
    assert_true(take(&scene));
    assert_int_equal(strlen(scene.job->device_name), DEVICE_NAME_MAX - 1);
    assert_null(strchr(scene.job->device_name, '\n'));
    assert_int_equal(strlen(scene.job->warning), WARNING_MAX - 1);
    assert_int_equal(scene.job->warning[0], '?');
    assert_int_equal(strlen(scene.job->timing.spans[0].name), sizeof timing->spans[0].name - 1);
    end(&scene);
}

static void numbers_are_cleaned(void **state) {
    (void)state;
    struct scene scene = begin();
    struct job *answer = scene.answer;
    answer->timing.spans[0].level = 77;
    answer->timing.spans[0].ms = NAN;
    answer->timing.stage_ms[STAGE_ENCODE] = -INFINITY;
    answer->timing.stage_ms[STAGE_QUEUE] = NAN;
    answer->cpu_ms = INFINITY;
    answer->batch = UINT32_MAX;
    answer->decoded_by = answer->outputs[0].encoded_by = 255;
    answer->outputs[0].fitting = (struct fitting){ .quality = INT32_MIN, .tries = INT32_MAX };
    answer->outputs[0].compute_ms = NAN;
    assert_true(take(&scene));
    const struct timing *timing = &scene.job->timing;
    assert_int_equal(timing->spans[0].level, SPAN_KERNEL);
    assert_true(timing->spans[0].ms == 0 && timing->stage_ms[STAGE_ENCODE] == 0);
    assert_true(timing->stage_ms[STAGE_QUEUE] == 0 && scene.job->cpu_ms == 0);
    assert_int_equal(scene.job->batch, 1);
    assert_int_equal(scene.job->decoded_by + scene.job->outputs[0].encoded_by, CODEC_NOBODY);
    assert_int_equal(scene.job->outputs[0].fitting.tries, 0);
    assert_true(scene.job->outputs[0].compute_ms < 0);
    end(&scene);
}

/* Batches of four that took 4, 8, 16, 32 and 64 ms from decode to encode. Cores decode and encode
 * each image of its own. */
static void a_job_has_its_part_of_a_batch(void **state) {
    (void)state;
    static const struct {
        uint32_t batch;
        uint8_t decoded_by, encoded_by;
        double cpu_ms, device_ms;
    } rows[] = {
        { 4, CODEC_DEVICE, CODEC_DEVICE, 0, 31 },      /* (4 + 8 + 16 + 32 + 64) / 4 */
        { 4, CODEC_FORMAT, CODEC_DEVICE, 0, 4 + 30 },  /* 4 + (8 + 16 + 32 + 64) / 4 */
        { 4, CODEC_DEVICE, CODEC_KIND, 0, 64 + 15 },   /* 64 + (4 + 8 + 16 + 32) / 4 */
        { 4, CODEC_NOBODY, CODEC_NOBODY, 0, 68 + 14 }, /* 4 + 64 + (8 + 16 + 32) / 4 */
        { 1, CODEC_NOBODY, CODEC_NOBODY, 0, 124 },     { 0, CODEC_NOBODY, CODEC_NOBODY, 0, 124 },
        { 1, CODEC_NOBODY, CODEC_NOBODY, 77, 77 }, /* on a core, by its thread's time */
    };
    static struct job job;
    for (int s = STAGE_RECEIVE; s < STAGE_COUNT; s++)
        job.timing.stage_ms[s] =
            s >= STAGE_DECODE && s <= STAGE_ENCODE ? 4 << (s - STAGE_DECODE) : 1000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        job.batch = rows[i].batch;
        job.decoded_by = rows[i].decoded_by;
        job.outputs[0].encoded_by = rows[i].encoded_by;
        job.cpu_ms = rows[i].cpu_ms;
        assert_float_equal((float)job_device_ms(&job), (float)rows[i].device_ms, 1e-6F);
    }
}

static void counts_and_times_are_cleaned(void **state) {
    (void)state;
    static const int32_t counts[] = { INT32_MIN, -1, TIMING_SPANS_MAX + 1, 1 << 28 };
    static const int64_t times[] = { INT64_MIN, 999, 5001, INT64_MAX };
    for (int i = 0; i < 4; i++) {
        struct scene scene = begin();
        scene.answer->timing.span_count = counts[i];
        scene.answer->finished_ns = times[i];
        assert_true(take(&scene));
        assert_int_equal(scene.job->timing.span_count, 0);
        assert_int_equal(scene.job->finished_ns, scene.now);
        end(&scene);
    }
}

/* ---- invalid answers */

static void status_unknown(struct scene *s) {
    s->answer->failure.status = STATUS_COUNT;
}
static void status_negative(struct scene *s) {
    s->answer->failure.status = (enum status) - 1;
}
static void type_unknown(struct scene *s) {
    s->answer->outputs[0].type = FORMAT_COUNT;
}
static void type_not_asked(struct scene *s) {
    s->answer->outputs[0].type = FORMAT_JPEG;
}
static void no_result(struct scene *s) {
    s->answer->outputs[0].length = 0;
}
static void result_beyond(struct scene *s) {
    s->answer->outputs[0].length = SPAN - RESULT + 1;
}
static void result_around(struct scene *s) {
    s->answer->outputs[0].offset = UINT64_MAX - 100;
}
static void result_in_upload(struct scene *s) {
    s->answer->outputs[0].offset = BODY - 1;
}
static void result_not_asked(struct scene *s) {
    s->job->json_only = 1;
}
static void wider(struct scene *s) {
    s->answer->outputs[0].image.width++;
}
static void lower(struct scene *s) {
    s->answer->outputs[0].image.height--;
}
static void channels(struct scene *s) {
    s->answer->outputs[0].image.channels = 2;
}
static void depth(struct scene *s) {
    s->answer->outputs[0].image.depth = 8;
}
static void turned(struct scene *s) {
    s->answer->outputs[0].image = image_shape(10, 20, 1, 16);
}
static void note_unknown(struct scene *s) {
    s->answer->notes = 1u << NOTE_COUNT;
}
static void note_of_the_result_unknown(struct scene *s) {
    s->answer->outputs[0].notes = 1u << NOTE_COUNT;
}
static void note_high(struct scene *s) {
    s->answer->notes = 1u << 31;
}
static void damage_not_accepted(struct scene *s) {
    s->answer->notes = NOTE_DAMAGED;
}
static void no_values(struct scene *s) {
    s->answer->values_length = 0;
}
static void values_not_asked(struct scene *s) {
    s->job->value_count = 0;
}
static void values_too_few(struct scene *s) {
    s->job->value_count = 5;
}
static void values_too_many(struct scene *s) {
    s->job->value_count = 3;
}
static void values_beyond(struct scene *s) {
    s->answer->values_offset = SPAN - 8;
}
static void values_in_upload(struct scene *s) {
    memcpy(slot_bytes(s->slots, s->slot), values, strlen(values));
    s->answer->values_offset = 0;
}
static void values_cut(struct scene *s) {
    s->answer->values_length--;
}
static void values_longer(struct scene *s) {
    s->answer->values_length++;
}
static void values_end_a_header(struct scene *s) {
    memcpy(values_of(s), "\r\nX: y\r\n\r\n<b>", 14);
}
static void values_another_member(struct scene *s) {
    const char *text = "[{\"operation\":\"a\",\"step\":1,\"value\":[1,2,3,4]}],\"device\":[]";
    strcpy(values_of(s), text);
    s->answer->values_length = strlen(text);
}
static void values_over_the_result(struct scene *s) {
    s->answer->outputs[0].offset = VALUES - 10;
}

#define CASE(name)                                                                                 \
    { #name, name }
static const struct {
    const char *name;
    void (*spoil)(struct scene *scene);
} cases[] = {
    CASE(status_unknown),
    CASE(status_negative),
    CASE(type_unknown),
    CASE(type_not_asked),
    CASE(no_result),
    CASE(result_beyond),
    CASE(result_around),
    CASE(result_in_upload),
    CASE(result_not_asked),
    CASE(wider),
    CASE(lower),
    CASE(channels),
    CASE(depth),
    CASE(turned),
    CASE(note_unknown),
    CASE(note_of_the_result_unknown),
    CASE(note_high),
    CASE(damage_not_accepted),
    CASE(no_values),
    CASE(values_not_asked),
    CASE(values_too_few),
    CASE(values_too_many),
    CASE(values_beyond),
    CASE(values_in_upload),
    CASE(values_cut),
    CASE(values_longer),
    CASE(values_end_a_header),
    CASE(values_another_member),
    CASE(values_over_the_result),
};

static void invalid_fields_refuse(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene = begin();
        cases[i].spoil(&scene);
        const bool taken = take(&scene);
        if (taken || scene.job->failure.status || job_bytes_end(scene.job) != BODY) {
            print_error("%s is taken\n", cases[i].name);
            wrong++;
        }
        end(&scene);
    }
    assert_int_equal(wrong, 0);
}

/* ---- random answers */

static uint32_t random_bits(void) {
    static uint32_t state = 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static bool ends(const char *text, size_t size) {
    const size_t length = strnlen(text, size);
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~') return false;
    return length < size;
}

static void check_taken(const struct job *job) {
    assert_true(job_bytes_end(job) <= SPAN && job->further == 0);
    assert_true((unsigned)job->failure.status < STATUS_COUNT);
    assert_true(ends(job->failure.message, sizeof job->failure.message));
    assert_true(ends(job->device_name, sizeof job->device_name));
    assert_true(ends(job->warning, sizeof job->warning));
    assert_in_range(job->timing.span_count, 0, TIMING_SPANS_MAX);
    for (int i = 0; i < STAGE_COUNT; i++)
        assert_true(job->timing.stage_ms[i] >= 0 && job->timing.stage_ms[i] < 1e9);
    for (int i = 0; i < job->timing.span_count; i++)
        assert_true(ends(job->timing.spans[i].name, sizeof job->timing.spans[i].name));
}

/* Some words of the answer become noise, or many of a success. */
static void noise_is_refused_or_cleaned(void **state) {
    (void)state;
    const size_t start = offsetof(struct job, received), words = (sizeof(struct job) - start) / 4;
    struct scene scene = begin();
    const struct job asked = *scene.job, right = *scene.answer;
    int taken = 0;
    for (int i = 0; i < 20000; i++) {
        *scene.job = asked;
        *scene.answer = right;
        uint32_t *at = (uint32_t *)(void *)((char *)scene.answer + start);
        for (int change = 0; change < 1 << i % 12; change++)
            at[random_bits() % words] = random_bits() % 3 ? random_bits() : UINT32_MAX;
        if (i % 2) scene.answer->failure.status = STATUS_OK;
        if (take(&scene)) {
            check_taken(scene.job);
            taken++;
        }
    }
    assert_in_range(taken, 100, 19900);
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_one),
        cmocka_unit_test(one_of_any_size),
        cmocka_unit_test(one_of_numbers_alone),
        cmocka_unit_test(a_failure),
        cmocka_unit_test(the_request_is_not_read_again),
        cmocka_unit_test(texts_are_cleaned),
        cmocka_unit_test(numbers_are_cleaned),
        cmocka_unit_test(a_job_has_its_part_of_a_batch),
        cmocka_unit_test(counts_and_times_are_cleaned),
        cmocka_unit_test(invalid_fields_refuse),
        cmocka_unit_test(noise_is_refused_or_cleaned),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
