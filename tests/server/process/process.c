// SPDX-License-Identifier: Apache-2.0
/* Processes that are asked for something: this program again, which answers as its first argument
 * says. None is waited for longer than was allowed. */
#include "server/process/process.h"

#include "pipeline/timing.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000, SHORT_MS = 100 };

/* ---- what is asked */

static int answer(const char *how) {
    char line[100] = "";
    if (strcmp(how, "echo") == 0 && fgets(line, sizeof line, stdin)) printf("got %s", line);
    if (strcmp(how, "fail") == 0) return fputs("wrong\n", stderr) < 0 ? 0 : 3;
    if (strcmp(how, "crash") == 0) raise(SIGKILL);
    if (strcmp(how, "silent") == 0) pause();
    if (strcmp(how, "mute") == 0) { /* has closed its output and goes on */
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        pause();
    }
    if (strcmp(how, "parent") == 0) { /* leaves a child behind and prints its pid */
        const pid_t child = fork();
        if (child == 0) {
            close(STDOUT_FILENO);
            close(STDERR_FILENO);
            pause();
        }
        printf("%d\n", (int)child);
    }
    return 0;
}

static int never(void) {
    return 0;
}

static int at_once(void) {
    return 1;
}

/* `burin worker --config PATH`, which goes wrong as the variable HOW says. */
static int answer_config(const char *path) {
    static const char zeros[sizeof(struct config) + 64];
    const char *how = getenv("HOW");
    if (strcmp(how, "noise") == 0) fputs("a warning of the loader\n", stderr);
    if (strcmp(how, "before") == 0) puts("a line before the answer");
    if (strcmp(how, "zeros") == 0) return fwrite(zeros, sizeof zeros, 1, stdout) != 1;
    if (strcmp(how, "nothing") == 0) return 0;
    if (strcmp(how, "no sentence") == 0) return 1;
    const int code = process_print_config(path);
    if (strcmp(how, "behind") == 0) puts("a line behind the answer");
    return code;
}

static struct failure failure; /* of the last check */

static bool check_until(const char *how, const struct process_limits *limits, char *output,
                        size_t size, bool *good) {
    char *const arguments[] = { "process", (char *)how, NULL };
    FILE *input = tmpfile();
    assert_non_null(input);
    fputs("input\n", input);
    rewind(input);
    failure = (struct failure){ 0 };
    const enum status status =
        process_check(arguments, fileno(input), limits, output, size, good, &failure);
    fclose(input);
    assert_int_equal(status, failure.status);
    return !status;
}

static bool check(const char *how, int timeout_ms, char *output, size_t size, bool *good) {
    return check_until(how, &(struct process_limits){ timeout_ms, never }, output, size, good);
}

/* No child of ours is left, ended or not. */
static void check_no_child(void) {
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---- tests */

static void an_answer(void **state) {
    (void)state;
    char output[100], cut[4];
    bool good = false;
    assert_true(check("echo", PATIENCE_MS, output, sizeof output, &good));
    assert_true(good);
    assert_string_equal(output, "got input\n");
    assert_true(check("echo", PATIENCE_MS, cut, sizeof cut, &good));
    assert_string_equal(cut, "got");
    assert_true(check("fail", PATIENCE_MS, output, sizeof output, &good));
    assert_false(good);
    assert_non_null(strstr(output, "wrong\n")); /* behind what a sanitizer says */
    check_no_child();
}

static void no_answer(void **state) {
    (void)state;
    char output[100];
    bool good = true;
    assert_false(check("crash", PATIENCE_MS, output, sizeof output, &good));
    assert_false(good);
    assert_int_equal(failure.status, STATUS_INTERNAL);
    assert_non_null(strstr(failure.message, "crashed: Killed"));
    assert_false(check("silent", SHORT_MS, output, sizeof output, &good));
    assert_int_equal(failure.status, STATUS_DEADLINE);
    assert_non_null(strstr(failure.message, "longer than 100 ms"));
    check_no_child();
}

/* Its output has ended, and it has not. */
static void one_that_only_closes_its_output(void **state) {
    (void)state;
    char output[100];
    bool good = true;
    alarm(60);
    assert_false(check("mute", SHORT_MS, output, sizeof output, &good));
    alarm(0);
    assert_false(good);
    check_no_child();
}

/* A process that is given up ends long before its time limit. */
static void one_that_is_given_up(void **state) {
    (void)state;
    char output[100];
    bool good = true;
    alarm(60);
    assert_false(check_until("silent", &(struct process_limits){ 3600000, at_once }, output,
                             sizeof output, &good));
    assert_false(good);
    assert_int_equal(failure.status, STATUS_CANCELLED);
    assert_false(check_until("mute", &(struct process_limits){ 3600000, at_once }, output,
                             sizeof output, &good));
    alarm(0);
    check_no_child();
}

static void what_it_has_started_ends_too(void **state) {
    (void)state;
    char output[100];
    bool good;
    assert_true(check("parent", PATIENCE_MS, output, sizeof output, &good));
    const pid_t child = atoi(output);
    assert_true(child > 0);
    const int64_t end = clock_ns() + PATIENCE_MS * INT64_C(1000000);
    char path[64], text[512] = "";
    for (;;) { /* gone, or a zombie that its new parent has not looked at yet */
        snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
        FILE *file = fopen(path, "re");
        if (!file) break;
        const bool got = fgets(text, sizeof text, file) != NULL;
        fclose(file);
        if (!got || strstr(text, ") Z ")) break;
        assert_true(clock_ns() < end);
        usleep(1000);
    }
}

/* A line on standard error changes nothing; an answer that is not a whole configuration is none. */
static void a_configuration(void **state) {
    (void)state;
    static const char *const right[] = { "", "noise" }, *const wrong[] = { "before", "behind",
                                                                           "zeros", "nothing",
                                                                           "no sentence" };
    static const struct process_limits limits = { PATIENCE_MS, never };
    char path[] = "/tmp/burin-process-XXXXXX";
    struct config config;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs("{\"parts_max\": 3}", file);
    fclose(file);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        config = (struct config){ 0 };
        setenv("HOW", right[i], 1);
        assert_int_equal(process_read_config(path, &limits, &config, &failure), STATUS_OK);
        assert_int_equal(config.parts_max, 3);
        assert_int_equal(config.body_bytes_max, 64 << 20); /* its default */
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        config = (struct config){ .parts_max = 7 };
        setenv("HOW", wrong[i], 1);
        assert_int_equal(process_read_config(path, &limits, &config, &failure), STATUS_INTERNAL);
        assert_non_null(strstr(failure.message, "no valid answer"));
        assert_int_equal(config.parts_max, 7);
    }
    setenv("HOW", "", 1);
    unlink(path);
    assert_int_equal(process_read_config(path, &limits, &config, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "unable to open"));
    check_no_child();
}

static void ending(void **state) {
    (void)state;
    int code = 0;
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_false(process_reap(child, &code));
    assert_true(process_end(child, clock_ns() + PATIENCE_MS * INT64_C(1000000), &code));
    assert_int_equal(code, -SIGKILL);
    check_no_child();
}

int main(int argc, char **argv) {
    if (argc == 2) return answer(argv[1]);
    if (argc == 4) return answer_config(argv[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer),
        cmocka_unit_test(no_answer),
        cmocka_unit_test(one_that_only_closes_its_output),
        cmocka_unit_test(one_that_is_given_up),
        cmocka_unit_test(what_it_has_started_ends_too),
        cmocka_unit_test(a_configuration),
        cmocka_unit_test(ending),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
