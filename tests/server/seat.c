// SPDX-License-Identifier: Apache-2.0
/* How many jobs a seat takes. */
#include "server/jobs/seat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A worker of two lanes, one job a batch; how many healthy jobs of JOB_MS it takes. */
static int taken(bool cpu, double job_ms) {
    struct seat seat = { .cpu = cpu, .capacity = 4 };
    const struct job job = { .deaths = 0 };
    while (seat_has_room(&seat, &job, job_ms)) seat.running++;
    return seat.running;
}

static void room_is_what_the_worker_said(void **state) {
    (void)state;
    assert_int_equal(taken(true, 0), 4);  /* nothing known yet */
    assert_int_equal(taken(true, 15), 4); /* a job outlasts the tick */
    assert_int_equal(taken(true, 4), 4);
    assert_int_equal(taken(false, 0.5), 4); /* a GPU has no core to wait for */
}

static void short_jobs_fill_a_tick(void **state) {
    (void)state;
    assert_int_equal(taken(true, 2), 2 + 2 * 2); /* one under way and 4 ms of others, a lane */
    assert_int_equal(taken(true, 1), 2 + 2 * 4);
    assert_int_equal(taken(true, 0.7), 2 + 2 * 5);
    assert_int_equal(taken(true, 0.001), 2 + 2 * 7); /* and no more */
}

static void a_suspect_is_alone(void **state) {
    (void)state;
    struct seat seat = { .cpu = true, .capacity = 4, .running = 1 };
    const struct job suspect = { .deaths = 1 }, other = { .deaths = 0 };
    assert_false(seat_has_room(&seat, &suspect, 1));
    assert_true(seat_has_room(&seat, &other, 1));
    seat.running = 0;
    assert_true(seat_has_room(&seat, &suspect, 1));
    seat.alone = true;
    assert_false(seat_has_room(&seat, &other, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_is_what_the_worker_said),
        cmocka_unit_test(short_jobs_fill_a_tick),
        cmocka_unit_test(a_suspect_is_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
