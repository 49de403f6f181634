// SPDX-License-Identifier: Apache-2.0
/* A job behind many that wait for another worker, which not every walk over the queue reaches. */
#include "server/jobs/dispatcher.h"

#include "server/jobs/completion_pipe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 256, WORKERS = 2, CPU = 1 };

static const struct config config = { .queue_jobs = SLOTS, .processing_ms = 1000 };
static struct slots *slots;
static struct worker_list workers;
static struct dispatcher *dispatcher;

static void submit(const char *device) {
    struct failure failure = { 0 };
    const int slot = slot_take(slots, 1, NULL);
    assert_true(slot >= 0);
    snprintf(slot_job(slots, slot)->device, DEVICE_WANT_MAX, "%s", device);
    assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), STATUS_OK);
}

static void the_last_of_many_is_reached_in_a_while(void **state) {
    (void)state;
    static const char *const devices[WORKERS] = { "cuda:0", "cpu" };
    const struct slot_options options = { .classes = { { SLOTS, 4096 } }, .span_bytes = 4096 };
    struct failure failure = { 0 };
    int ends[WORKERS][2], pipe_ends[2];
    slots = slots_create(&options, &failure);
    assert_non_null(slots);
    assert_int_equal(completion_pipe_open(pipe_ends, SLOTS, &failure), STATUS_OK);
    workers.count = WORKERS;
    for (int i = 0; i < WORKERS; i++) {
        struct worker_handle *worker = &workers.all[i];
        assert_true(channel_open(ends[i]));
        worker_handle_init(worker, devices[i], false);
        worker->pid = worker->lanes = worker->capacity = 1;
        worker->channel = ends[i][0];
        worker->ready = worker->self_test_ok = true;
    }
    const struct dispatcher_options how = { &config, slots, &pipe_ends[1], &workers };
    dispatcher = dispatcher_create(&how, &failure);
    assert_non_null(dispatcher);
    for (int i = 0; i < SLOTS - 1; i++) submit("cuda:0");
    assert_int_equal(workers.all[0].running, 1);
    submit("cpu");
    usleep(2000); /* at the least: until a whole walk is due */
    dispatcher_hand_out(dispatcher);
    assert_int_equal(workers.all[CPU].running, 1);
    assert_int_equal(dispatcher_waiting(dispatcher), SLOTS - 2);
    dispatcher_destroy(dispatcher);
    for (int i = 0; i < WORKERS; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    slots_destroy(slots);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_of_many_is_reached_in_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
