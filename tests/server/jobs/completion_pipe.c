// SPDX-License-Identifier: Apache-2.0
/* No sender waits for the reader, with any configuration; and the failure if the system has no such
 * pipe. */
#include "server/jobs/completion_pipe.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS_MOST = 3 * 4096 }; /* as many as config/keys.c allows of each class */

static void open_pipe(int ends[2], int slots) {
    struct failure failure = { 0 };
    if (completion_pipe_open(ends, slots, &failure)) fail_msg("%s", failure.message);
}

static void close_pipe(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

/* Each slot returns at most twice before it is read: from a worker that dies at once, and then from
 * the dispatcher. The worst case is a reader that has read half a page. */
static void every_slot_fits_twice(void **state) {
    (void)state;
    int ends[2];
    struct completion completion;
    open_pipe(ends, SLOTS_MOST);
    alarm(20); /* a sender that waits here never ends */
    for (int i = 0; i < 100; i++) {
        assert_true(completion_pipe_send(ends[1], &(struct completion){ i, 7 }));
        if (i < 99) assert_int_equal(completion_pipe_take(ends[0], &completion, 1), 1);
    }
    for (int i = 1; i < 2 * SLOTS_MOST; i++)
        assert_true(completion_pipe_send(ends[1], &(struct completion){ i % SLOTS_MOST, 8 }));
    alarm(0);
    close_pipe(ends);
}

static void they_come_in_order(void **state) {
    (void)state;
    int ends[2];
    struct completion taken[8];
    open_pipe(ends, 16);
    assert_int_equal(completion_pipe_take(ends[0], taken, 8), 0); /* does not wait */
    for (int i = 0; i < 10; i++)
        completion_pipe_send(ends[1], &(struct completion){ i, 100u + (unsigned)i });
    assert_int_equal(completion_pipe_take(ends[0], taken, 8), 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(taken[i].slot, i);
        assert_int_equal(taken[i].run_number, 100 + i);
    }
    assert_int_equal(completion_pipe_take(ends[0], taken, 8), 2);
    assert_int_equal(completion_pipe_take(ends[0], taken, 8), 0);
    close_pipe(ends);
}

/* No descriptor stays open, and ENDS has none that the caller might close. */
static void a_pipe_that_is_too_large_is_refused(void **state) {
    (void)state;
    int ends[2] = { 0, 0 };
    struct failure failure = { 0 };
    const int before = dup(STDERR_FILENO);
    close(before);
    assert_int_equal(completion_pipe_open(ends, INT_MAX, &failure), STATUS_NO_MEMORY);
    assert_int_equal(failure.status, STATUS_NO_MEMORY);
    assert_non_null(strstr(failure.message, "lower slots"));
    assert_non_null(strstr(failure.message, "fs.pipe-max-size"));
    assert_true(strlen(failure.message) < sizeof failure.message - 1);
    assert_int_equal(ends[0], -1);
    assert_int_equal(ends[1], -1);
    const int after = dup(STDERR_FILENO);
    assert_int_equal(after, before);
    close(after);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_fits_twice),
        cmocka_unit_test(they_come_in_order),
        cmocka_unit_test(a_pipe_that_is_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
