// SPDX-License-Identifier: Apache-2.0
/* The launcher starts this program again as a worker of each kind, which reports what it found or
 * waits to be killed. A started process is our child. The launcher refuses to start anything but
 * workers, and neither kills nor looks at a process that it has not started.
 *
 * covers: server/process/program.c server/process/launcher_process.c
 * covers: server/process/stillness.c */
#include "server/process/launcher.h"

#include "pipeline/timing.h"
#include "server/process/process.h"
#include "server/process/stillness.h"
#include "server/sandbox/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct config config = { .sandbox = "on",
                                .operators_cache_dir = "/cache",
                                .operators_source_bytes_max = 1000,
                                .operators_compile_ms = 2000,
                                .operators_compile_bytes = 3000,
                                .launcher_still_ms = 500 };

/* ---- what is started */

/* Writes to descriptor 5 which of 0 to 9 are open, whether the process leads its group, and its
 * no-new-privileges flag. */
static int report(void) {
    char line[100];
    int used = 0;
    for (int fd = 0; fd < 10; fd++) line[used++] = (char)(fcntl(fd, F_GETFD) >= 0 ? '0' + fd : '-');
    used += snprintf(line + used, sizeof line - (size_t)used, " %d %d", getpgrp() == getpid(),
                     prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    return write(5, line, (size_t)used) == used ? 7 : 8;
}

static char alone[] = "cuda:98", with_child[] = "cuda:99"; /* devices of workers that wait */

/* This process, with a child in its group if DEVICE is WITH_CHILD, holds descriptor 5 open until
 * killed. The parent writes a byte when both run. */
static int wait_for_the_end(const char *device) {
    const pid_t child = strcmp(device, with_child) == 0 ? fork() : -1;
    alarm(60);
    if (child != 0 && write(5, "x", 1) != 1) return 8;
    for (;;) pause();
}

/* ---- a system short of memory */

static int failing_sends; /* number of answers the launcher cannot send: set before it is forked */

/* Replaces send() of the C library. */
ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    if (failing_sends-- > 0) return errno = ENOBUFS, -1;
    return sendto(fd, bytes, size, flags, NULL, 0);
}

/* ---- asking for it */

static pid_t ask(char *const arguments[], int out) {
    const struct program program = { .arguments = arguments,
                                     .files = { PROGRAM_NOTHING, PROGRAM_NOTHING, STDERR_FILENO,
                                                STDERR_FILENO, PROGRAM_CLOSED, out },
                                     .file_count = 6 };
    return launcher_start(&program);
}

/* Starts ARGUMENTS, checks the exit status, and puts the program's report into SAID. */
static void check_started(char *const arguments[], char *said, size_t size) {
    int ends[2], how = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = ask(arguments, ends[1]);
    assert_true(pid > 0);
    close(ends[1]);
    assert_int_equal(waitpid(pid, &how, 0), pid); /* a child of ours */
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 7);
    const ssize_t got = read(ends[0], said, size - 1);
    assert_true(got > 0);
    said[got] = '\0';
    close(ends[0]);
}

static void check_refused(char *const arguments[]) {
    assert_int_equal(ask(arguments, STDERR_FILENO), -1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* the launcher alone, which goes on */
}

#define CHECK(cache, bytes, sandbox, ms, memory)                                                   \
    ARGUMENTS("burin", "worker", "--check", "/any.c", cache, bytes, sandbox, ms, memory)
#define ARGUMENTS(...) ((char *const[]){ __VA_ARGS__, NULL })

/* ---- processes that wait */

static int waiting_end; /* of the pipe of the last process that was started */

static pid_t start_waiting(char *device) {
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = ask(ARGUMENTS("burin", "worker", "--device", device), ends[1]);
    assert_true(pid > 0);
    close(ends[1]);
    waiting_end = ends[0];
    assert_int_equal(read(waiting_end, &byte, 1), 1);
    return pid;
}

/* Reaps PID, a child of ours, and returns the signal that ended it. */
static int signal_of(pid_t pid) {
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFSIGNALED(how));
    return WTERMSIG(how);
}

/* Returns once no process holds the pipe. */
static void wait_for_all(void) {
    char byte;
    assert_int_equal(read(waiting_end, &byte, 1), 0);
    close(waiting_end);
}

/* Starts a process without the launcher. NUMBER: its pid; 0: any. -1: the system refuses NUMBER. */
static pid_t begin_other(pid_t number) {
    const struct clone_args how = { .exit_signal = SIGCHLD,
                                    .set_tid = number ? (uintptr_t)&number : 0,
                                    .set_tid_size = number ? 1 : 0 };
    const pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof how);
    if (pid == 0) {
        alarm(60);
        for (;;) pause();
    }
    return pid;
}

static void check_not_killed(pid_t pid, pid_t asked) {
    assert_true(launcher_end(asked));
    kill(pid, SIGTERM);
    assert_int_equal(signal_of(pid), SIGTERM);
}

static enum thread_state state_of(pid_t pid) {
    struct thread_status status;
    assert_true(launcher_look(&(struct thread_id){ pid, pid }, 1, &status));
    return status.state;
}

/* ---- tests */

static int open_one(void **state) {
    (void)state;
    struct failure failure = { 0 };
    return launcher_open(&config, &failure);
}

static int close_it(void **state) {
    (void)state;
    launcher_close();
    while (waitpid(-1, NULL, 0) > 0) continue; /* abandoned processes are killed */
    return errno == ECHILD ? 0 : -1;
}

static void workers(void **state) {
    (void)state;
    char said[100];
    check_started(ARGUMENTS("burin", "worker", "--device", "cpu"), said, sizeof said);
    assert_string_equal(said, "0123-5---- 1 0");
    check_started(ARGUMENTS("burin", "worker", "--device", "cpu", "--cell"), said, sizeof said);
    check_started(ARGUMENTS("burin", "worker", "--device", "cuda:12", "--operators"), said,
                  sizeof said);
    check_started(ARGUMENTS("burin", "worker", "--count"), said, sizeof said);
    check_started(CHECK("/cache", "1000", "on", "2000", "3000"), said, sizeof said);
    assert_string_equal(said, "0123-5---- 1 0");
}

static void nothing_else(void **state) {
    (void)state;
    static char *const devices[] = { "cuda:", "cuda:x", "cuda:1x", "cuda:0000", "cpu ", "", "CPU" };
    check_refused(ARGUMENTS("sh", "-c", "exit 7"));
    check_refused(ARGUMENTS("burin", "run", "histeq"));
    check_refused(ARGUMENTS("burin", "worker"));
    check_refused(ARGUMENTS("burin", "worker", "--count", "more"));
    check_refused(ARGUMENTS("burin", "worker", "--device", "cpu", "--sandbox"));
    check_refused(ARGUMENTS("burin", "worker", "--device", "cpu", "--operators", "more"));
    check_refused(ARGUMENTS("burin", "worker", "--device", "cpu", "--decode"));
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        check_refused(ARGUMENTS("burin", "worker", "--device", devices[i]));
    check_refused(CHECK("/other", "1000", "on", "2000", "3000"));
    check_refused(CHECK("/cache", "1001", "on", "2000", "3000"));
    check_refused(CHECK("/cache", "1000", "off", "2000", "3000"));
    check_refused(CHECK("/cache", "1000", "on", "2001", "3000"));
    check_refused(CHECK("/cache", "1000", "on", "2000", "3001"));
}

static void without_privileges(void **state) {
    (void)state;
    char said[100];
    launcher_narrow();
    check_started(ARGUMENTS("burin", "worker", "--count"), said, sizeof said);
    assert_string_equal(said, "0123-5---- 1 1");
}

static void check_kills(void) {
    pid_t pid = start_waiting(alone);
    assert_true(process_kill(pid));
    assert_int_equal(signal_of(pid), SIGKILL);
    wait_for_all();
    pid = start_waiting(with_child);
    assert_true(process_kill(-pid));
    assert_int_equal(signal_of(pid), SIGKILL);
    wait_for_all();
}

static void one_that_it_started_is_killed_and_so_is_a_group(void **state) {
    (void)state;
    check_kills();
}

/* The launcher kills neither a process nor a group that it did not start, nor all processes. */
static void another_is_not_killed(void **state) {
    (void)state;
    const int groups[] = { 1, -1 };
    for (int i = 0; i < 2; i++) {
        const pid_t pid = begin_other(0);
        assert_true(pid > 0);
        setpgid(pid, pid);
        check_not_killed(pid, groups[i] * pid);
    }
    assert_true(launcher_end(0) && launcher_end(-1) && launcher_end(1) && launcher_end(INT32_MIN));
    assert_true(launcher_end(getpid()) && launcher_end(-getpgrp()));
}

/* Another process has that pid now. */
static void one_that_was_reaped_is_not_killed(void **state) {
    (void)state;
    for (int group = 0; group < 2; group++) {
        const pid_t pid = start_waiting(alone);
        assert_true(process_kill(pid));
        assert_int_equal(signal_of(pid), SIGKILL);
        wait_for_all();
        const pid_t other = begin_other(pid);
        if (other < 0) skip(); /* only privileged processes choose a pid */
        assert_int_equal(other, pid);
        setpgid(pid, pid);
        assert_int_equal(state_of(pid), THREAD_UNKNOWN);
        check_not_killed(pid, group ? -pid : pid);
    }
}

/* The filter makes the kernel act like one before 5.2. */
static void without_descriptors_of_processes(void **state) {
    (void)state;
    const struct syscall_rule absent = { SYS_pidfd_send_signal, 0, SYSCALL_ABSENT, 0, { 0 } };
    const struct syscall_filter filter = { .rules = &absent, .rule_count = 1, .refuses = true };
    const pid_t child = fork();
    if (child == 0) {
        struct failure failure;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall_filter_enter(&filter)) _exit(9);
        if (launcher_open(&config, &failure)) _exit(10);
        check_kills(); /* a failure ends it with another code */
        _exit(7);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 7);
}

static void it_looks_at_what_it_started(void **state) {
    (void)state;
    const pid_t pid = start_waiting(alone), other = begin_other(0);
    assert_true(other > 0);
    while (state_of(pid) != THREAD_SLEEPS) usleep(1000);
    assert_int_equal(state_of(other), THREAD_UNKNOWN);
    assert_int_equal(state_of(getpid()), THREAD_UNKNOWN);
    /* The first call asks for a look; the next look has the answer. */
    assert_int_equal(stillness_last(pid, pid).state, THREAD_UNKNOWN);
    assert_int_equal(stillness_last(other, other).state, THREAD_UNKNOWN);
    stillness_look_at_all();
    assert_int_equal(stillness_last(pid, pid).state, THREAD_SLEEPS);
    assert_true(stillness_last(pid, pid).process_idle);
    assert_int_equal(stillness_last(other, other).state, THREAD_UNKNOWN);
    stillness_look_at_all(); /* both are asked for again, */
    stillness_look_at_all(); /* and no longer */
    assert_int_equal(stillness_last(pid, pid).state, THREAD_UNKNOWN);
    for (int i = 1; i < LAUNCHER_LOOKS_MAX; i++) stillness_last(other, i);
    stillness_last(getpid(), getpid()); /* one too many */
    stillness_look_at_all();
    assert_int_equal(stillness_last(pid, pid).state, THREAD_SLEEPS);
    process_kill(pid);
    kill(other, SIGKILL);
    wait_for_all();
}

/* While the launcher is stopped no call waits for a look, and its late answer is dropped. */
static void looks_of_one_that_stands_still(void **state) {
    (void)state;
    const pid_t launcher = launcher_pid(), pid = start_waiting(alone);
    struct thread_status status = { .state = THREAD_RUNS };
    int how, asked = 0;
    stillness_last(pid, pid);
    while (stillness_look_at_all(), stillness_last(pid, pid).state != THREAD_SLEEPS) usleep(1000);
    kill(launcher, SIGSTOP);
    assert_int_equal(waitpid(launcher, &how, WUNTRACED), launcher);
    stillness_look_at_all();
    assert_int_equal(stillness_last(pid, pid).state, THREAD_UNKNOWN);
    const int64_t begin = clock_ns();
    for (; asked < 1000; asked++) /* 50 s, if each were waited for */
        assert_false(launcher_look(&(struct thread_id){ pid, pid }, 1, &status));
    assert_true(clock_ns() - begin < INT64_C(20000000000));
    kill(pid, SIGKILL);
    kill(launcher, SIGCONT);
    assert_int_equal(signal_of(pid), SIGKILL);
    wait_for_all();
    while (!launcher_look(&(struct thread_id){ pid, pid }, 1, &status)) usleep(1000);
    assert_int_equal(status.state, THREAD_UNKNOWN); /* it has ended: the late answer said sleeps */
}

/* A request to a stopped or ended launcher fails soon, and an abandoned request leaves no trace. */
static void one_that_stands_still_or_has_ended(void **state) {
    (void)state;
    const pid_t launcher = launcher_pid();
    int how;
    kill(launcher, SIGSTOP);
    assert_int_equal(waitpid(launcher, &how, WUNTRACED), launcher);
    assert_int_equal(ask(ARGUMENTS("burin", "worker", "--count"), STDERR_FILENO), -1);
    kill(launcher, SIGCONT);
    char said[100];
    check_started(ARGUMENTS("burin", "worker", "--count"), said, sizeof said);
    assert_false(launcher_wait_end(NULL, 0));
    kill(launcher, SIGSTOP); /* a kill needs its answer too: it is ended after launcher_still_ms */
    assert_int_equal(waitpid(launcher, &how, WUNTRACED), launcher);
    while (!launcher_wait_end(NULL, 0)) assert_false(launcher_end(launcher));
    assert_int_equal(ask(ARGUMENTS("burin", "worker", "--count"), STDERR_FILENO), -1);
    assert_false(launcher_end(launcher));
}

static int open_one_that_fails_once(void **state) {
    failing_sends = 1;
    const int failed = open_one(state);
    failing_sends = 0;
    return failed;
}

/* The launcher goes on: its end would end the daemon. */
static void an_answer_that_cannot_be_sent(void **state) {
    (void)state;
    char said[100];
    assert_int_equal(ask(ARGUMENTS("burin", "worker", "--count"), STDERR_FILENO), -1);
    check_started(ARGUMENTS("burin", "worker", "--count"), said, sizeof said);
    assert_false(launcher_wait_end(NULL, 0));
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 3 && (strcmp(argv[3], alone) == 0 || strcmp(argv[3], with_child) == 0))
        return wait_for_the_end(argv[3]);
    if (argc > 1) return report(); /* with any arguments: never these tests again */
    alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(workers, open_one, close_it),
        cmocka_unit_test_setup_teardown(nothing_else, open_one, close_it),
        cmocka_unit_test_setup_teardown(without_privileges, open_one, close_it),
        cmocka_unit_test_setup_teardown(one_that_it_started_is_killed_and_so_is_a_group, open_one,
                                        close_it),
        cmocka_unit_test_setup_teardown(another_is_not_killed, open_one, close_it),
        cmocka_unit_test_setup_teardown(one_that_was_reaped_is_not_killed, open_one, close_it),
        cmocka_unit_test(without_descriptors_of_processes),
        cmocka_unit_test_setup_teardown(it_looks_at_what_it_started, open_one, close_it),
        cmocka_unit_test_setup_teardown(looks_of_one_that_stands_still, open_one, close_it),
        cmocka_unit_test_setup_teardown(an_answer_that_cannot_be_sent, open_one_that_fails_once,
                                        close_it),
        cmocka_unit_test_setup_teardown(one_that_stands_still_or_has_ended, open_one, close_it),
    };
    return cmocka_run_group_tests_name("launcher", tests, NULL, NULL);
}
