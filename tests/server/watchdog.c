// SPDX-License-Identifier: Apache-2.0
/* Beats while it is alive, none while it is not, and again when it is; none after the end. */
#include "server/watchdog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { EVERY_MS = 20, PATIENCE_MS = 20000 };

struct daemon {
    int alive, asked, beats; /* atomic */
    int timeout_ms;          /* atomic: that it was last asked with */
};

static bool is_alive(void *context, int timeout_ms) {
    struct daemon *daemon = context;
    __atomic_store_n(&daemon->timeout_ms, timeout_ms, __ATOMIC_SEQ_CST);
    const bool alive = __atomic_load_n(&daemon->alive, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&daemon->asked, 1, __ATOMIC_SEQ_CST);
    return alive;
}

static void beat(void *context) {
    __atomic_add_fetch(&((struct daemon *)context)->beats, 1, __ATOMIC_SEQ_CST);
}

static int read_count(const int *counter) {
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

static void wait_for(const int *counter, int value) {
    for (int waited = 0; read_count(counter) < value; waited++) {
        if (waited > PATIENCE_MS) fail_msg("%d and not %d", read_count(counter), value);
        usleep(1000);
    }
}

static void beats_while_alive(void **state) {
    (void)state;
    struct daemon daemon = { .alive = 1 };
    const struct watchdog_options options = { EVERY_MS * INT64_C(1000000), is_alive, beat,
                                              &daemon };
    struct watchdog *watchdog = watchdog_start(&options);
    assert_non_null(watchdog);
    wait_for(&daemon.beats, 3);
    __atomic_store_n(&daemon.alive, 0, __ATOMIC_SEQ_CST);
    wait_for(&daemon.asked, read_count(&daemon.asked) + 2); /* one may have been judged before */
    const int before = read_count(&daemon.beats);
    wait_for(&daemon.asked, read_count(&daemon.asked) + 5);
    assert_int_equal(read_count(&daemon.beats), before);
    __atomic_store_n(&daemon.alive, 1, __ATOMIC_SEQ_CST);
    wait_for(&daemon.beats, before + 2);
    watchdog_stop(watchdog);
    const int last = read_count(&daemon.asked);
    usleep(3 * EVERY_MS * 1000);
    assert_int_equal(read_count(&daemon.asked), last);
}

static void ends_at_once(void **state) {
    (void)state;
    struct daemon daemon = { .alive = 1 };
    const struct watchdog_options options = { INT64_C(3600) * 1000000000, is_alive, beat, &daemon };
    struct watchdog *watchdog = watchdog_start(&options);
    assert_non_null(watchdog);
    watchdog_stop(watchdog); /* and not in an hour */
    watchdog_stop(NULL);
}

/* Told as late as may be each time, it still beats before the manager's patience is over, which is
 * twice `every_ns`. */
static void there_is_time_to_judge(void **state) {
    (void)state;
    struct daemon daemon = { .alive = 1 };
    const struct watchdog_options options = { INT64_C(15) * 1000000000, is_alive, beat, &daemon };
    struct watchdog *watchdog = watchdog_start(&options);
    assert_non_null(watchdog);
    wait_for(&daemon.asked, 1);
    assert_int_equal(read_count(&daemon.timeout_ms), 7500);
    watchdog_stop(watchdog);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(beats_while_alive),
                                        cmocka_unit_test(there_is_time_to_judge),
                                        cmocka_unit_test(ends_at_once) };
    return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
