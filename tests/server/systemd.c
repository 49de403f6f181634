// SPDX-License-Identifier: Apache-2.0
/* The watchdog beats while the daemon is alive, and only then; it never beats after its end. */
#include "server/systemd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { EVERY_MS = 20, PATIENCE_MS = 20000 };

struct daemon {
    struct systemd systemd;
    int heard;        /* the service manager's end */
    int beats;        /* received there */
    int alive, asked; /* atomic */
    int timeout_ms;   /* atomic: of the last call of is_alive */
};

static struct daemon begin(int64_t every_ms) {
    struct daemon daemon = { .alive = 1, .heard = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) };
    struct systemd *systemd = &daemon.systemd;
    *systemd = (struct systemd){ .watchdog_ns = 2 * every_ms * 1000000,
                                 .notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
                                 .notify.sun_family = AF_UNIX,
                                 .notify_length = sizeof systemd->notify };
    /* The kernel chooses the name. */
    assert_int_equal(bind(daemon.heard, (struct sockaddr *)&systemd->notify, sizeof(sa_family_t)),
                     0);
    assert_int_equal(
        getsockname(daemon.heard, (struct sockaddr *)&systemd->notify, &systemd->notify_length), 0);
    return daemon;
}

static void end(const struct daemon *daemon) {
    close(daemon->heard);
    close(daemon->systemd.notify_fd);
}

static bool is_alive(void *context, int timeout_ms) {
    struct daemon *daemon = context;
    __atomic_store_n(&daemon->timeout_ms, timeout_ms, __ATOMIC_SEQ_CST);
    const bool alive = __atomic_load_n(&daemon->alive, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&daemon->asked, 1, __ATOMIC_SEQ_CST);
    return alive;
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

static int count_beats(struct daemon *daemon) {
    char message[32];
    for (ssize_t got; (got = recv(daemon->heard, message, sizeof message, MSG_DONTWAIT)) > 0;) {
        assert_int_equal(got, strlen("WATCHDOG=1"));
        assert_memory_equal(message, "WATCHDOG=1", (size_t)got);
        daemon->beats++;
    }
    return daemon->beats;
}

static void wait_for_beats(struct daemon *daemon, int value) {
    for (int waited = 0; count_beats(daemon) < value; waited++) {
        if (waited > PATIENCE_MS) fail_msg("%d and not %d", daemon->beats, value);
        usleep(1000);
    }
}

static void beats_while_alive(void **state) {
    (void)state;
    struct daemon daemon = begin(EVERY_MS);
    struct watchdog *watchdog = systemd_watchdog_start(&daemon.systemd, is_alive, &daemon);
    assert_non_null(watchdog);
    wait_for_beats(&daemon, 3);
    __atomic_store_n(&daemon.alive, 0, __ATOMIC_SEQ_CST);
    wait_for(&daemon.asked, read_count(&daemon.asked) + 2); /* one may have begun earlier */
    const int before = count_beats(&daemon);
    wait_for(&daemon.asked, read_count(&daemon.asked) + 5);
    assert_int_equal(count_beats(&daemon), before);
    __atomic_store_n(&daemon.alive, 1, __ATOMIC_SEQ_CST);
    wait_for_beats(&daemon, before + 2);
    systemd_watchdog_stop(watchdog);
    const int last = read_count(&daemon.asked);
    usleep(3 * EVERY_MS * 1000);
    assert_int_equal(read_count(&daemon.asked), last);
    end(&daemon);
}

static void ends_at_once(void **state) {
    (void)state;
    struct daemon daemon = begin(3600 * 1000);
    struct watchdog *watchdog = systemd_watchdog_start(&daemon.systemd, is_alive, &daemon);
    assert_non_null(watchdog);
    systemd_watchdog_stop(watchdog); /* at once, not after an hour */
    systemd_watchdog_stop(NULL);
    end(&daemon);
    daemon = begin(0);
    assert_null(systemd_watchdog_start(&daemon.systemd, is_alive, &daemon)); /* not wanted */
    end(&daemon);
}

/* Even if each answer comes as late as possible, the beat comes before the service manager's limit,
 * which is twice that time. */
static void there_is_time_to_judge(void **state) {
    (void)state;
    struct daemon daemon = begin(15000);
    struct watchdog *watchdog = systemd_watchdog_start(&daemon.systemd, is_alive, &daemon);
    assert_non_null(watchdog);
    wait_for(&daemon.asked, 1);
    assert_int_equal(read_count(&daemon.timeout_ms), 7500);
    systemd_watchdog_stop(watchdog);
    end(&daemon);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(beats_while_alive),
                                        cmocka_unit_test(there_is_time_to_judge),
                                        cmocka_unit_test(ends_at_once) };
    return cmocka_run_group_tests_name("systemd", tests, NULL, NULL);
}
