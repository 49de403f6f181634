// SPDX-License-Identifier: Apache-2.0
/* One valid answer of a sandbox, and its bytes and values made invalid. answer.c tests the other
 * fields. */
#include "server/jobs/answer.h"

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
    struct slots *front, *own;
    int to, from;
    struct job *job, *answer;
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
}

static struct scene begin(void) {
    struct scene scene = { .front = make_slots(), .own = make_slots() };
    scene.to = slot_take(scene.front, 0, NULL);
    scene.from = slot_take(scene.own, 0, NULL);
    scene.job = slot_job(scene.front, scene.to);
    scene.answer = slot_shared_job(scene.own, scene.from);
    ask(scene.job);
    *scene.answer = *scene.job;
    give(scene.answer, slot_bytes(scene.own, scene.from));
    return scene;
}

static void end(struct scene *scene) {
    slots_destroy(scene->front);
    slots_destroy(scene->own);
}

static char *values_of(const struct scene *scene) {
    return (char *)slot_bytes(scene->own, scene->from) + VALUES;
}

static enum status take(struct scene *scene) {
    answer_take_from_sandbox(scene->front, scene->to, scene->own, scene->from);
    return scene->job->failure.status;
}

/* ---- tests */

static void a_right_one(void **state) {
    (void)state;
    struct scene scene = begin();
    assert_int_equal(take(&scene), STATUS_OK);
    const uint8_t *bytes = slot_bytes(scene.front, scene.to);
    assert_int_equal(scene.job->outputs[0].image.width, 20);
    assert_int_equal(scene.job->outputs[0].image.depth, 16);
    assert_int_equal(scene.job->outputs[0].type, FORMAT_PNG);
    assert_int_equal(scene.job->notes, NOTE_PROFILE_DROPPED);
    assert_string_equal(scene.job->device_name, "cpu");
    assert_int_equal(scene.job->timing.span_count, 1);
    assert_int_equal(scene.job->outputs[0].length, RESULT_LENGTH);
    for (int i = 0; i < RESULT_LENGTH; i++)
        assert_int_equal(bytes[scene.job->outputs[0].offset + i], 7);
    assert_int_equal(scene.job->values_length, strlen(values));
    assert_memory_equal(bytes + scene.job->values_offset, values, strlen(values));
    end(&scene);
}

static void one_of_numbers_alone(void **state) {
    (void)state;
    struct scene scene = begin();
    scene.job->json_only = 1;
    scene.job->outputs[0].encode.format = FORMAT_NONE;
    scene.answer->outputs[0].type = FORMAT_PNG; /* a JPEG holds no 16 bits */
    scene.answer->outputs[0].offset = scene.answer->outputs[0].length = 0;
    assert_int_equal(take(&scene), STATUS_OK);
    assert_int_equal(scene.job->values_length, strlen(values));
    end(&scene);
}

/* ---- pixels of a decoding cell */

enum { PIXELS = 40 * 30 * 3, PIXELS_AT = RESULT, PROFILE = 200 };

static struct scene begin_pixels(void) {
    struct scene scene = begin();
    scene.job->decodes_apart = true;
    scene.job->run = RUN_DECODE;
    scene.job->pixels_offset = PIXELS_AT;
    scene.job->pixels_end = PIXELS_AT + PIXELS;
    *scene.answer = *scene.job;
    scene.answer->profile_offset = PIXELS_AT + PIXELS;
    scene.answer->profile_length = PROFILE;
    scene.answer->notes = NOTE_FIRST_FRAME;
    scene.answer->outputs[0].offset = 5; /* no output is looked at */
    memset(slot_bytes(scene.own, scene.from) + PIXELS_AT, 9, PIXELS + PROFILE + 1);
    return scene;
}

static void right_pixels(void **state) {
    (void)state;
    struct scene scene = begin_pixels();
    assert_int_equal(take(&scene), STATUS_OK);
    const uint8_t *bytes = slot_bytes(scene.front, scene.to);
    for (int i = 0; i < PIXELS + PROFILE; i++) assert_int_equal(bytes[PIXELS_AT + i], 9);
    assert_int_equal(bytes[PIXELS_AT + PIXELS + PROFILE], 0);
    assert_int_equal(bytes[PIXELS_AT - 1], 0);
    assert_int_equal(scene.job->profile_length, PROFILE);
    assert_int_equal(scene.job->notes, NOTE_FIRST_FRAME);
    assert_int_equal(scene.job->outputs[0].offset, 0);
    end(&scene);
}

static void wrong_pixels(void **state) {
    (void)state;
    struct scene scene = begin_pixels();
    scene.answer->profile_length = BODY + 1; /* longer than the file that has it */
    assert_int_equal(take(&scene), STATUS_INTERNAL);
    end(&scene);
    scene = begin_pixels();
    scene.answer->notes = NOTE_DAMAGED; /* which was not accepted */
    assert_int_equal(take(&scene), STATUS_INTERNAL);
    end(&scene);
    scene = begin_pixels();
    scene.answer->profile_offset = SPAN - PROFILE + 1;
    assert_int_equal(take(&scene), STATUS_INTERNAL);
    end(&scene);
}

/* ---- files of a cell that encodes */

/* The PNG is there already; the cell makes a second result's file of its pixels. */
static struct scene begin_file(void) {
    struct scene scene = begin();
    struct job_output *output = &scene.job->outputs[1];
    give(scene.job, slot_bytes(scene.front, scene.to));
    scene.job->run = RUN_ENCODE;
    scene.job->further = 1;
    output->encode.format = output->type = FORMAT_AVIF;
    output->apart = true;
    output->image = image_shape(20, 10, 1, 8);
    output->offset = 3 * SLOT_PAGE;
    output->length = 200;
    scene.job->body_length = 4 * SLOT_PAGE; /* all that is there */
    *scene.answer = *scene.job;
    scene.answer->outputs[0].offset = 5; /* is not looked at */
    scene.answer->notes = NOTE_FIRST_FRAME;
    scene.answer->outputs[1].offset = 4 * SLOT_PAGE;
    scene.answer->outputs[1].length = 50;
    memset(slot_bytes(scene.own, scene.from), 9, 5 * SLOT_PAGE);
    return scene;
}

static void a_right_file(void **state) {
    (void)state;
    struct scene scene = begin_file();
    assert_int_equal(take(&scene), STATUS_OK);
    const uint8_t *bytes = slot_bytes(scene.front, scene.to);
    for (int i = 0; i < 50; i++) assert_int_equal(bytes[4 * SLOT_PAGE + i], 9);
    assert_int_equal(bytes[4 * SLOT_PAGE + 50], 0);
    assert_int_equal(bytes[4 * SLOT_PAGE - 1], 0);
    for (int i = 0; i < RESULT_LENGTH; i++) assert_int_equal(bytes[RESULT + i], 7);
    assert_int_equal(scene.job->outputs[0].offset, RESULT);
    assert_int_equal(scene.job->outputs[1].offset, 4 * SLOT_PAGE);
    assert_int_equal(scene.job->outputs[1].length, 50);
    assert_int_equal(scene.job->notes, NOTE_PROFILE_DROPPED); /* the plan's */
    assert_memory_equal(bytes + VALUES, values, strlen(values));
    end(&scene);
}

static void wrong_files(void **state) {
    (void)state;
    struct scene scene = begin_file();
    scene.answer->outputs[1].offset = 3 * SLOT_PAGE; /* over what is there */
    assert_int_equal(take(&scene), STATUS_INTERNAL);
    end(&scene);
    scene = begin_file();
    scene.answer->outputs[1].length = 0;
    assert_int_equal(take(&scene), STATUS_INTERNAL);
    end(&scene);
    scene = begin_file();
    scene.answer->outputs[1].length = SPAN - 4 * SLOT_PAGE + 1;
    assert_int_equal(take(&scene), STATUS_INTERNAL);
    end(&scene);
}

/* ---- invalid answers */

static void result_beyond(struct scene *s) {
    s->answer->outputs[0].length = SPAN - RESULT + 1;
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

#define CASE(name)                                                                                 \
    { #name, name }
static const struct {
    const char *name;
    void (*spoil)(struct scene *scene);
} cases[] = {
    CASE(result_beyond),       CASE(values_too_few),
    CASE(values_too_many),     CASE(values_beyond),
    CASE(values_cut),          CASE(values_longer),
    CASE(values_end_a_header), CASE(values_another_member),
};

static void invalid_fields_refuse(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene = begin();
        cases[i].spoil(&scene);
        const enum status status = take(&scene);
        if (status != STATUS_INTERNAL || job_bytes_end(scene.job) != BODY) {
            print_error("%s is taken: %d\n", cases[i].name, status);
            wrong++;
        }
        end(&scene);
    }
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_one),           cmocka_unit_test(one_of_numbers_alone),
        cmocka_unit_test(right_pixels),          cmocka_unit_test(wrong_pixels),
        cmocka_unit_test(a_right_file),          cmocka_unit_test(wrong_files),
        cmocka_unit_test(invalid_fields_refuse),
    };
    return cmocka_run_group_tests_name("answer_sandbox", tests, NULL, NULL);
}
