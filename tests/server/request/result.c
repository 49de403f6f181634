// SPDX-License-Identifier: Apache-2.0
/* The size of a ZIP archive is that of its files, wherever these lie in the slot. */
#include "server/request/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t gib = 1 << 30;

static struct config config;
static struct service service;
static struct outputs outputs = { .count = 2, .names = { "a.png", "b.png" } };

/* A request for two files of a PNG, which begin AT in the slot. */
static struct request begin(uint64_t at, uint64_t each) {
    struct request request = { .service = &service, .answer = ANSWER_ZIP };
    request.settings.outputs = &outputs;
    request.slot = slot_take(service.slots, 0, NULL);
    assert_true(request.slot >= 0);
    struct job *job = request_job(&request);
    job->probe.format = FORMAT_PNG;
    job->probe.shape = image_shape(4, 4, 3, 8);
    job->body_length = at;
    job->further = 1;
    for (int o = 0; o < 2; o++) {
        job->outputs[o].image = job->probe.shape;
        job->outputs[o].type = FORMAT_PNG;
        job->outputs[o].offset = at + (uint64_t)o * each;
        job->outputs[o].length = each;
    }
    return request;
}

static void what_lies_before_is_not_in_the_archive(void **state) {
    (void)state;
    struct request request = begin(3 * gib, 1000);
    struct failure failure = { .message = "" };
    static char report[TIMING_REPORT_MAX];
    struct result *result;
    assert_int_equal(result_make(&request, report, &result, &failure), STATUS_OK);
    assert_string_equal(result->media_type, "application/zip");
    assert_in_range(result->length, 2000, 8000);
    assert_int_equal(result->held, 3 * gib + 2000); /* pages of the slot */
    result_release(result);
    assert_int_equal(service.answer_bytes_held, 0);
}

static void files_may_be_too_large(void **state) {
    (void)state;
    struct request request = begin(1000, gib);
    struct failure failure = { .message = "" };
    static char report[TIMING_REPORT_MAX];
    struct result *result;
    assert_int_equal(result_make(&request, report, &result, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "ZIP"));
    slot_give(service.slots, request.slot);
}

static int open_service(void **state) {
    (void)state;
    struct failure failure = { .message = "" };
    const struct slot_options options = { .count = 2, .base_bytes = 4096, .span_bytes = 4 * gib };
    config.answer_bytes = 8 * (long)gib;
    service.config = &config;
    service.metrics = metrics_create();
    service.slots = slots_create(&options, &failure);
    return !service.metrics || !service.slots;
}

static int close_service(void **state) {
    (void)state;
    slots_destroy(service.slots);
    metrics_destroy(service.metrics);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_lies_before_is_not_in_the_archive),
                                        cmocka_unit_test(files_may_be_too_large) };
    return cmocka_run_group_tests(tests, open_service, close_service);
}
