// SPDX-License-Identifier: Apache-2.0
/* Jobs that would miss their deadlines in cells. dispatcher_walk.c has those that would in workers,
 * and those for users' operators. */
#include "server/dispatch/admission.h"

#include "tests/server/dispatch/runs_scene.h"

/* A picture of 2.4 s, which must be done within 4. */
static enum status submit_long(void) {
    struct failure failure = { 0 };
    const int slot = new_job("auto");
    slot_job(slots, slot)->probe.shape = image_shape(10000, 10000, 3, 8);
    slot_job(slots, slot)->progress.deadline_ns = clock_ns() + INT64_C(4000000000);
    const enum status status = dispatcher_submit(dispatcher, slot, &failure);
    const double ms = slot_job(slots, slot)->least_ms;
    assert_true(ms > 2100 && ms < 3900);
    return status;
}

/* A job does not wait behind another one if a cell can be started for it. */
static void test_cells_to_come_count(void **state) {
    (void)state;
    config.refuse_times = 1;
    workers.all[OTHER].pid = 0;
    assert_int_equal(submit_long(), STATUS_OK);
    assert_int_equal(submit_long(), STATUS_OK); /* 2.4 s for itself, and half of one ahead */
    assert_int_equal(submit_long(), STATUS_BUSY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUNS_TWO(test_cells_to_come_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
