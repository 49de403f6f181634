// SPDX-License-Identifier: Apache-2.0
/* The process that starts workers: this program again, which says what it found, as a worker of
 * whatever kind. What it starts is our child; what is no worker it does not start.
 *
 * covers: server/jobs/program.c */
#include "server/jobs/launcher.h"

#include "pipeline/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct config config = { .sandbox = "on",
                                .operators_cache_dir = "/cache",
                                .operators_source_bytes_max = 1000,
                                .operators_compile_ms = 2000,
                                .operators_compile_bytes = 3000 };

/* ---- what is started */

/* It tells through 5 which of 0 to 9 are open, its group and what it may get by exec. */
static int tell(void) {
    char line[100];
    int used = 0;
    for (int fd = 0; fd < 10; fd++) line[used++] = (char)(fcntl(fd, F_GETFD) >= 0 ? '0' + fd : '-');
    used += snprintf(line + used, sizeof line - (size_t)used, " %d %d", getpgrp() == getpid(),
                     prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    return write(5, line, (size_t)used) == used ? 7 : 8;
}

/* ---- a system short of memory */

static int failing_sends; /* so many answers the launcher cannot send: set before it is forked */

/* The program's own comes before that of the C library. */
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

/* What the program of ARGUMENTS said; its exit status is checked. */
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

/* ---- tests */

static int open_one(void **state) {
    (void)state;
    struct failure failure = { 0 };
    return launcher_open(&config, &failure);
}

static int close_it(void **state) {
    (void)state;
    launcher_close();
    while (waitpid(-1, NULL, 0) > 0) continue; /* what was given up is killed: it ends */
    return errno == ECHILD ? 0 : -1;
}

static void workers(void **state) {
    (void)state;
    char said[100];
    check_started(ARGUMENTS("burin", "worker", "--device", "cpu"), said, sizeof said);
    assert_string_equal(said, "0123-5---- 1 0");
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

static pid_t only_child(void) {
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (file && !fgets(text, sizeof text, file)) text[0] = '\0';
    if (file) fclose(file);
    return atoi(text);
}

/* Whoever asks it is told soon, and nothing of a request that was given up stays. */
static void one_that_stands_still_or_has_ended(void **state) {
    (void)state;
    const pid_t launcher = only_child();
    if (launcher <= 0) skip(); /* a kernel that does not tell */
    int how;
    kill(launcher, SIGSTOP);
    assert_int_equal(waitpid(launcher, &how, WUNTRACED), launcher);
    assert_int_equal(ask(ARGUMENTS("burin", "worker", "--count"), STDERR_FILENO), -1);
    kill(launcher, SIGCONT);
    char said[100];
    check_started(ARGUMENTS("burin", "worker", "--count"), said, sizeof said);
    assert_false(launcher_wait_end(NULL, 0));
    kill(launcher, SIGKILL);
    assert_true(launcher_wait_end(NULL, -1));
    assert_int_equal(ask(ARGUMENTS("burin", "worker", "--count"), STDERR_FILENO), -1);
}

static int open_one_that_fails_once(void **state) {
    failing_sends = 1;
    const int failed = open_one(state);
    failing_sends = 0;
    return failed;
}

/* It goes on: its end would be the daemon's. */
static void an_answer_that_cannot_be_sent(void **state) {
    (void)state;
    char said[100];
    assert_int_equal(ask(ARGUMENTS("burin", "worker", "--count"), STDERR_FILENO), -1);
    check_started(ARGUMENTS("burin", "worker", "--count"), said, sizeof said);
    assert_false(launcher_wait_end(NULL, 0));
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return tell(); /* whatever it is called: never these tests again */
    alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(workers, open_one, close_it),
        cmocka_unit_test_setup_teardown(nothing_else, open_one, close_it),
        cmocka_unit_test_setup_teardown(without_privileges, open_one, close_it),
        cmocka_unit_test_setup_teardown(an_answer_that_cannot_be_sent, open_one_that_fails_once,
                                        close_it),
        cmocka_unit_test_setup_teardown(one_that_stands_still_or_has_ended, open_one, close_it),
    };
    return cmocka_run_group_tests_name("launcher", tests, NULL, NULL);
}
