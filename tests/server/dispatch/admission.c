// SPDX-License-Identifier: Apache-2.0
/* Which jobs are not taken, and what their clients are told. */
#include "server/dispatch/admission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct config config = {
    .processing_ms = 30000, .refuse_times = 2, .queue_jobs = 256, .no_worker_ms = 3000
};
static const struct config patient = { .processing_ms = 30000,
                                       .queue_jobs = 3,
                                       .no_worker_ms = 3000 };

static void make(struct worker_list *workers, bool ready) {
    *workers = (struct worker_list){ .count = 1 };
    worker_handle_init(&workers->all[0], "cpu", false);
    workers->all[0].pid = 1;
    workers->all[0].ready = workers->all[0].self_test_ok = ready;
}

static struct job job_for(const char *device) {
    struct job job = { .deaths = 0 };
    snprintf(job.device, sizeof job.device, "%s", device);
    return job;
}

static void check(enum status status, enum status expected, const struct failure *failure,
                  const char *words) {
    assert_int_equal(status, expected);
    if (status && !strstr(failure->message, words)) fail_msg("%s", failure->message);
}

static void devices_and_health(void **state) {
    (void)state;
    struct worker_list workers;
    struct failure failure = { 0 };
    const struct job here = job_for("auto"), elsewhere = job_for("cuda:1");
    make(&workers, true);
    check(admission_check(&config, &workers, &here, 1, &failure), STATUS_OK, &failure, "");
    check(admission_check(&config, &workers, &elsewhere, 1, &failure), STATUS_BAD_PARAM, &failure,
          "device \"cuda:1\" is not served here");
    make(&workers, false); /* just so: it may come back */
    check(admission_check(&config, &workers, &here, 1, &failure), STATUS_OK, &failure, "");
    workers.all[0].ill_since_ns = 1;
    check(admission_check(&config, &workers, &here, 1, &failure), STATUS_BUSY, &failure,
          "no worker for device auto is healthy");
}

static void what_is_never_done_in_time(void **state) {
    (void)state;
    struct worker_list workers;
    struct failure failure = { 0 };
    const struct job job = job_for("cpu");
    make(&workers, true);
    check(admission_check(&config, &workers, &job, 60000, &failure), STATUS_OK, &failure, "");
    check(admission_check(&config, &workers, &job, 61000, &failure), STATUS_TOO_LARGE, &failure,
          "this is predicted to take 61 s, and only 30 s are allowed (processing_ms)");
    check(admission_check(&patient, &workers, &job, 1e9, &failure), STATUS_OK, &failure, "");
}

/* Of its own time half may do. */
static void what_would_be_late(void **state) {
    (void)state;
    struct failure failure = { 0 };
    check(admission_check_time(&config, 20000, 20000, 30000, &failure), STATUS_OK, &failure, "");
    check(admission_check_time(&config, 20001, 20000, 30000, &failure), STATUS_BUSY, &failure,
          "predicted to be done in 40 s, after 20 s in the queue, and only 30 s are left");
    check(admission_check_time(&config, 0, 1, -5, &failure), STATUS_BUSY, &failure, "only 0 s");
    check(admission_check_time(&patient, 1e9, 1e9, 1, &failure), STATUS_OK, &failure, "");
    assert_int_equal(admission_check_time(&config, 20001, 20000, 30000, NULL), STATUS_BUSY);
}

static void users_operators_have_a_quarter(void **state) {
    (void)state;
    struct failure failure = { 0 };
    check(admission_check_operators(&config, 63, &failure), STATUS_OK, &failure, "");
    check(admission_check_operators(&config, 64, &failure), STATUS_BUSY, &failure,
          "64 jobs for users' operators are waiting already");
    check(admission_check_operators(&patient, 0, &failure), STATUS_OK, &failure, "");
    check(admission_check_operators(&patient, 1, &failure), STATUS_BUSY, &failure, "1 jobs");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_and_health),
        cmocka_unit_test(what_is_never_done_in_time),
        cmocka_unit_test(what_would_be_late),
        cmocka_unit_test(users_operators_have_a_quarter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
