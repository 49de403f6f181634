// SPDX-License-Identifier: Apache-2.0
/* thread_status_read() reports the states of forked processes that do one thing each. */
#include "server/process/thread_status.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000 };

static void spin(void) {
    for (volatile unsigned i = 0;; i++) continue;
}

static void sleep_for_ever(void) {
    for (;;) pause();
}

static pid_t begin(void (*what)(void)) {
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        what();
    }
    assert_true(pid > 0);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) != pid) continue;
}

static bool comes_to(pid_t pid, enum thread_state state) {
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (thread_status_read(pid, pid).state == state) return true;
        usleep(1000);
    }
    return false;
}

static void who_computes_runs(void **state) {
    (void)state;
    const pid_t pid = begin(spin);
    assert_true(comes_to(pid, THREAD_RUNS));
    assert_false(thread_status_read(pid, pid).process_idle);
    end(pid);
}

static void who_sleeps_has_no_turn(void **state) {
    (void)state;
    const pid_t pid = begin(sleep_for_ever);
    assert_true(comes_to(pid, THREAD_SLEEPS));
    const uint64_t turns = thread_status_read(pid, pid).turns;
    usleep(50000);
    assert_int_equal(thread_status_read(pid, pid).turns, turns);
    assert_true(thread_status_read(pid, pid).process_idle);
    end(pid);
}

static void wake(int signal) {
    (void)signal;
}

static void sleep_and_wake(void) {
    signal(SIGUSR1, wake);
    sleep_for_ever();
}

static void who_was_woken_has_had_a_turn(void **state) {
    (void)state;
    const pid_t pid = begin(sleep_and_wake);
    assert_true(comes_to(pid, THREAD_SLEEPS));
    usleep(100000); /* the signal is caught by now */
    const uint64_t turns = thread_status_read(pid, pid).turns;
    kill(pid, SIGUSR1);
    for (int i = 0; i < PATIENCE_MS && thread_status_read(pid, pid).turns == turns; i++)
        usleep(1000);
    assert_true(thread_status_read(pid, pid).turns > turns);
    end(pid);
}

static void who_was_stopped_is_stopped(void **state) {
    (void)state;
    const pid_t pid = begin(spin);
    kill(pid, SIGSTOP);
    assert_true(comes_to(pid, THREAD_STOPPED));
    assert_true(thread_status_read(pid, pid).process_idle);
    kill(pid, SIGCONT);
    assert_true(comes_to(pid, THREAD_RUNS));
    end(pid);
}

static void who_is_debugged_is_traced(void **state) {
    (void)state;
    const pid_t pid = begin(spin);
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0) {
        end(pid);
        skip(); /* not allowed here */
    }
    assert_int_equal(waitpid(pid, NULL, __WALL), pid);
    assert_int_equal(thread_status_read(pid, pid).state, THREAD_TRACED);
    end(pid);
}

static void who_is_gone_is_unknown(void **state) {
    (void)state;
    const pid_t pid = begin(spin);
    assert_int_equal(thread_status_read(pid, getpid()).state, THREAD_UNKNOWN); /* another's */
    assert_int_equal(thread_status_read(pid, 0).state, THREAD_UNKNOWN);
    end(pid);
    assert_int_equal(thread_status_read(pid, pid).state, THREAD_UNKNOWN);
    assert_false(thread_status_read(pid, pid).process_idle);
}

/* Reads threads of two processes in turns: each entry describes its own process. */
static void several_at_once(void **state) {
    (void)state;
    const pid_t busy = begin(spin), idle = begin(sleep_for_ever);
    assert_true(comes_to(busy, THREAD_RUNS) && comes_to(idle, THREAD_SLEEPS));
    const struct thread_id threads[] = { { idle, idle }, { busy, idle }, { idle, idle },
                                         { busy, busy }, { idle, busy }, { 0, 0 } };
    static const bool wanted[] = { true, false, true, false, true, false };
    struct thread_status statuses[6];
    thread_status_read_all(threads, 6, statuses);
    for (int i = 0; i < 6; i++) assert_int_equal(statuses[i].process_idle, wanted[i]);
    assert_int_equal(statuses[0].state, THREAD_SLEEPS);
    assert_int_equal(statuses[1].state, THREAD_UNKNOWN);
    assert_int_equal(statuses[3].state, THREAD_RUNS);
    end(busy);
    end(idle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_computes_runs),
        cmocka_unit_test(who_sleeps_has_no_turn),
        cmocka_unit_test(who_was_woken_has_had_a_turn),
        cmocka_unit_test(who_was_stopped_is_stopped),
        cmocka_unit_test(who_is_debugged_is_traced),
        cmocka_unit_test(who_is_gone_is_unknown),
        cmocka_unit_test(several_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
