// SPDX-License-Identifier: Apache-2.0
/* The workers for each `devices`, on a machine with three GPUs: this program again, as the process
 * that counts them. */
#include "server/dispatch/worker_list.h"

#include "server/process/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Time for counting the GPUs. */
static const struct process_limits limits = { 60000, NULL }, soon = { 100, NULL };

static void check_list(const char *devices, const char *expected) {
    static struct worker_list list;
    struct failure failure = { 0 };
    char names[200] = "";
    if (worker_list_make(&list, devices, &limits, &failure))
        fail_msg("%s: %s", devices, failure.message);
    for (int i = 0; i < list.count; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "", list.all[i].device);
        assert_int_equal(list.all[i].cpu, strcmp(list.all[i].device, "cpu") == 0);
        assert_int_equal(list.all[i].pid, 0); /* nothing is started */
        assert_int_equal(list.all[i].channel, -1);
    }
    assert_string_equal(names, expected);
}

/* Beside GPUs too, named or not. */
static void the_cpu_always_stands_by(void **state) {
    (void)state;
    check_list("all", "cuda:0 cuda:1 cuda:2 cpu");
    check_list("cpu", "cpu");
    check_list("cuda:0", "cuda:0 cpu");
    check_list("cuda:2,cuda:0", "cuda:2 cuda:0 cpu");
    check_list("cpu,cuda:1", "cuda:1 cpu");
}

static void check_refused(const char *devices, const char *word) {
    static struct worker_list list;
    struct failure failure = { 0 };
    assert_int_equal(worker_list_make(&list, devices, &limits, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, word));
}

static void missing_gpus_are_refused(void **state) {
    (void)state;
    check_refused("cuda:3", "there are 3 GPUs here");
    check_refused("cuda:0,cuda:16", "cuda:16");
    check_refused("gpu", "not a list");
}

static void further_gpus_are_left_out(void **state) {
    (void)state;
    static struct worker_list list;
    struct failure failure = { 0 };
    setenv("TEST_GPUS", "40", 1);
    assert_int_equal(worker_list_make(&list, "all", &limits, &failure), STATUS_OK);
    unsetenv("TEST_GPUS");
    assert_int_equal(list.count, WORKER_DEVICES_MAX);
    assert_string_equal(list.all[WORKER_DEVICES_MAX - 2].device, "cuda:15");
    assert_true(list.all[WORKER_DEVICES_MAX - 1].cpu);
    worker_list_add_operators(&list);
    assert_int_equal(list.count, WORKERS_MAX - WORKER_CELLS_MAX);
    worker_list_add_cells(&list, 1000); /* as many as there is room for */
    assert_int_equal(list.count, WORKERS_MAX);
    for (int i = 0; i < WORKER_DEVICES_MAX; i++) {
        assert_false(list.all[i].operators);
        assert_true(list.all[i].wanted);
        for (int b = 0; b < WORKER_BANKS; b++) {
            const struct worker_handle *one = &worker_list_bank(&list, b)[i];
            assert_true(one->operators);
            assert_false(one->wanted);
            assert_string_equal(one->device, list.all[i].device);
            assert_int_equal(one->cpu, list.all[i].cpu);
        }
    }
}

/* A driver that hangs: the daemon gives up and says what to do. */
static void a_count_without_end_is_given_up(void **state) {
    (void)state;
    static struct worker_list list;
    struct failure failure = { 0 };
    setenv("TEST_GPUS", "hang", 1);
    alarm(60);
    assert_int_equal(worker_list_make(&list, "all", &soon, &failure), STATUS_INTERNAL);
    assert_int_equal(worker_list_make(&list, "cuda:0", &soon, &failure), STATUS_INTERNAL);
    assert_non_null(strstr(failure.message, "worker_start_ms"));
    assert_int_equal(worker_list_make(&list, "cpu", &soon, &failure), STATUS_OK);
    alarm(0);
    unsetenv("TEST_GPUS");
}

static int at_once(void) {
    return 1;
}

static void a_count_that_is_interrupted(void **state) {
    (void)state;
    static struct worker_list list;
    struct failure failure = { 0 };
    setenv("TEST_GPUS", "hang", 1);
    alarm(60);
    assert_int_equal(
        worker_list_make(&list, "all", &(struct process_limits){ 3600000, at_once }, &failure),
        STATUS_CANCELLED);
    alarm(0);
    unsetenv("TEST_GPUS");
}

/* No GPU is not the same as no answer. */
static void a_count_that_fails(void **state) {
    (void)state;
    static const char *const ways[][2] = { { "crash", "Killed" },
                                           { "fail", "code 3" },
                                           { "", "code 0" } };
    static struct worker_list list;
    for (int i = 0; i < 3; i++) {
        struct failure failure = { 0 };
        setenv("TEST_GPUS", ways[i][0], 1);
        assert_int_equal(worker_list_make(&list, "all", &limits, &failure), STATUS_INTERNAL);
        assert_non_null(strstr(failure.message, ways[i][1]));
        assert_non_null(strstr(failure.message, "devices=cpu"));
    }
    unsetenv("TEST_GPUS");
}

static void a_gpu_works_if_one_has_a_job(void **state) {
    (void)state;
    static struct worker_list list;
    assert_int_equal(worker_list_make(&list, "all", &limits, NULL), STATUS_OK);
    assert_false(worker_list_gpu_works(&list));
    list.all[3].running = 2; /* the CPU */
    assert_false(worker_list_gpu_works(&list));
    list.all[2].operators = true;
    list.all[2].running = 1;
    assert_false(worker_list_gpu_works(&list));
    list.all[1].running = 1;
    assert_true(worker_list_gpu_works(&list));
}

/* No worker waits behind one that is restarted again and again. */
static void the_longest_due_is_started_first(void **state) {
    (void)state;
    static struct worker_list list;
    list = (struct worker_list){ .count = 4 };
    assert_null(worker_list_next_start(&list, 100));
    list.all[0] = (struct worker_handle){ .wanted = true, .restart_ns = 90 };
    list.all[1] = (struct worker_handle){ .wanted = true, .restart_ns = 80 };
    list.all[2] = (struct worker_handle){ .wanted = true, .restart_ns = 70, .pid = 1 };
    list.all[3] = (struct worker_handle){ .restart_ns = 60 };
    assert_ptr_equal(worker_list_next_start(&list, 100), &list.all[1]);
    assert_ptr_equal(worker_list_next_start(&list, 80), &list.all[1]);
    assert_null(worker_list_next_start(&list, 79));
}

static enum status check(struct worker_list *list, const char *device, struct failure *failure) {
    struct job job = { .deaths = 0 };
    snprintf(job.device, sizeof job.device, "%s", device);
    return worker_list_check(list, &job, INT64_C(3000000000), failure);
}

static void jobs_need_a_device_and_hope(void **state) {
    (void)state;
    static struct worker_list list = { .count = 1 };
    struct failure failure = { 0 };
    worker_handle_init(&list.all[0], "cpu", false);
    list.all[0].pid = 1;
    list.all[0].ready = list.all[0].self_test_ok = true;
    assert_int_equal(check(&list, "auto", &failure), STATUS_OK);
    assert_int_equal(check(&list, "cuda:1", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "device \"cuda:1\" is not served here"));
    list.all[0].ready = false; /* just now: it may return */
    assert_int_equal(check(&list, "auto", &failure), STATUS_OK);
    list.all[0].ill_since_ns = 1;
    assert_int_equal(check(&list, "auto", &failure), STATUS_BUSY);
    assert_non_null(strstr(failure.message, "no worker for device auto is healthy"));
}

int main(int argc, char **argv) {
    (void)argv;
    const char *gpus = getenv("TEST_GPUS");
    while (argc > 1 && gpus && strcmp(gpus, "hang") == 0) pause();
    if (argc > 1 && gpus && strcmp(gpus, "crash") == 0) raise(SIGKILL);
    if (argc > 1 && gpus && strcmp(gpus, "fail") == 0) return 3;
    if (argc > 1 && gpus && !*gpus) return 0;
    if (argc > 1) return puts(gpus ? gpus : "3") < 0; /* as `burin worker --count` */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_always_stands_by),
        cmocka_unit_test(missing_gpus_are_refused),
        cmocka_unit_test(further_gpus_are_left_out),
        cmocka_unit_test(a_count_without_end_is_given_up),
        cmocka_unit_test(a_count_that_is_interrupted),
        cmocka_unit_test(a_count_that_fails),
        cmocka_unit_test(a_gpu_works_if_one_has_a_job),
        cmocka_unit_test(the_longest_due_is_started_first),
        cmocka_unit_test(jobs_need_a_device_and_hope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
