// SPDX-License-Identifier: Apache-2.0
/* A message that seemed lost, was sent again and arrived twice runs once. One lane of two asks. */
#include "server/worker/pending.h"

#include "server/jobs/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { LANES = 2, CAPACITY = 64, HANGS_S = 60, SOON_MS = 50 };

static struct slots *slots;
static int ends[2], slot;
static struct pending *pending;
static struct group group;

static void begin(int batch) {
    const struct slot_options options = { .count = 4, .base_bytes = 4096, .span_bytes = 4096 };
    struct failure failure = { 0 };
    alarm(HANGS_S);
    slots = slots_create(&options, &failure);
    assert_non_null(slots);
    slot = slot_take(slots, 1, NULL);
    assert_true(channel_open(ends));
    const struct pending_options how = {
        .channel = ends[1], .lanes = LANES, .batch = batch, .capacity = CAPACITY, .slots = slots
    };
    pending = pending_create(&how);
    assert_non_null(pending);
    group = (struct group){ .count = 0 };
}

static void end(void) {
    close(ends[0]);
    pending_destroy(pending);
    close(ends[1]);
    slots_destroy(slots);
    alarm(0);
}

static void send_run(uint32_t run_number) {
    const struct message message = { .kind = CHANNEL_RUN, .slot = slot, .run_number = run_number };
    assert_true(channel_send(ends[0], &message));
}

static enum pending_outcome take(int wait_ms) {
    return pending_take(pending, &group, wait_ms);
}

/* No run is done twice, and a finished run is not done in place of the next. */
static void a_copy_is_dropped(void **state) {
    (void)state;
    for (int batch = 1; batch <= 4; batch += 3) {
        begin(batch);
        struct job *job = slot_job(slots, slot);
        job->run_number = 5;
        send_run(5);
        send_run(5);
        assert_int_equal(take(CHANNEL_FOREVER), PENDING_TAKEN);
        assert_int_equal(job->received, 5);
        assert_int_equal(group.count, 1);
        send_run(5);
        assert_int_equal(take(SOON_MS), PENDING_NONE);
        send_run(5);
        job->run_number = 6; /* the slot has another job now */
        job->received = 0;
        assert_int_equal(take(SOON_MS), PENDING_NONE);
        send_run(6);
        assert_int_equal(take(CHANNEL_FOREVER), PENDING_TAKEN);
        assert_int_equal(group.count, 1);
        end();
    }
}

/* Far more than there would be room for. */
static void of_many_self_tests_one_waits(void **state) {
    (void)state;
    int taken = 0;
    begin(4);
    for (int i = 0; i < 2 * CAPACITY; i++)
        assert_true(channel_send(ends[0], &(struct message){ .kind = CHANNEL_SELF_TEST }));
    while (take(0) == PENDING_TAKEN) taken += group.self_test;
    assert_in_range(taken, 1, 4); /* as many as reads */
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_dropped),
        cmocka_unit_test(of_many_self_tests_one_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
