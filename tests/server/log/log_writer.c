// SPDX-License-Identifier: Apache-2.0
/* Logging never waits for the log's reader, the log says how many lines are missing, and no line is
 * torn. */
#include "server/log/log.c"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define LINES_MISSING                                                                              \
    "time=%*s level=error event=log_lines_lost message=\"the log was not read in time: "           \
    "lines are missing\" lines=%lu"
enum { BYTES = 16 << 10, LINES = 5000, SECONDS = 20 };

static struct writer *kept[8]; /* they stay to the end of the process */
static int kept_count;
static uint64_t lost_before;

static struct writer *start(int fd) {
    lost_before = log_lines_dropped();
    alarm(SECONDS); /* a thread that waited here would wait for ever */
    kept[kept_count] = writer_start(fd, BYTES);
    assert_non_null(kept[kept_count]);
    return kept[kept_count++];
}

/* With room for less than what the ring holds. */
static void open_pipe(int ends[2]) {
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BUF) > 0);
}

static void put(struct writer *writer, int number) {
    char line[64];
    const int length = snprintf(line, sizeof line, "%d %.*s\n", number, number % 40,
                                "........................................");
    writer_put(writer, line, (size_t)length);
}

/* Reads from END until nothing comes for WAIT_MS. The caller frees the text. */
static char *read_text(int end, int wait_ms) {
    size_t length = 0, room = 1 << 20;
    char *text = malloc(room);
    while (poll(&(struct pollfd){ .fd = end, .events = POLLIN }, 1, wait_ms) == 1) {
        const ssize_t got = read(end, text + length, room - 1 - length);
        if (got <= 0) break;
        length += (size_t)got;
    }
    text[length] = 0;
    return text;
}

/* Returns how many lines TEXT has; their numbers must rise from AFTER. Adds to REPORTED the lines
 * that TEXT reports as missing. */
static int count_lines(const char *text, int after, uint64_t *reported) {
    int count = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        int number, dots = 0;
        uint64_t missing;
        if (!strchr(line, '\n')) fail_msg("the last line is cut: %s", line);
        if (sscanf(line, LINES_MISSING, &missing) == 1) {
            *reported += missing;
            continue;
        }
        if (sscanf(line, "%d%n", &number, &dots) != 1 || number <= after ||
            strcspn(line + dots + 1, "\n") != (size_t)(number % 40))
            fail_msg("behind %d stands %.60s", after, line);
        after = number;
        count++;
    }
    return count;
}

static uint64_t lines_lost(void) {
    return log_lines_dropped() - lost_before;
}

/* Each line is either read or reported as missing. */
static void lines_are_missing_until_they_are_read(void **state) {
    (void)state;
    int ends[2];
    open_pipe(ends);
    struct writer *writer = start(ends[1]);
    for (int again = 0; again < 3; again++) {
        uint64_t reported = 0;
        const uint64_t before = lines_lost();
        for (int i = 0; i < LINES; i++) put(writer, i);
        const uint64_t missing = lines_lost() - before;
        char *text = read_text(ends[0], 500);
        const int lines = count_lines(text, -1, &reported);
        free(text);
        assert_true(missing > 0);
        assert_int_equal(reported, missing);
        assert_int_equal(lines, LINES - (int)missing);
    }
    writer_stop(writer);
    close(ends[0]);
    close(ends[1]);
}

/* A socket that keeps the borders of messages shows what was written at once. */
static void what_is_written_at_once(void **state) {
    (void)state;
    int ends[2], lines = 0, writes = 0;
    const int room = 1 << 20;
    char text[BYTES];
    uint64_t reported = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    struct writer *writer = start(ends[1]);
    for (int i = 0; i < 400; i++) put(writer, i);
    writer_stop(writer);
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text, sizeof text - 1)) > 0; writes++) {
        text[got] = 0;
        assert_true(got <= PIPE_BUF);
        assert_int_equal(text[got - 1], '\n');
        lines += count_lines(text, lines - 1, &reported);
    }
    assert_int_equal(lines, 400);
    assert_int_equal(reported, 0);
    assert_true(writes < 100);
    close(ends[0]);
}

/* Another process that shares this end may have made it non-blocking. */
static void an_end_that_does_not_block(void **state) {
    (void)state;
    int ends[2];
    uint64_t reported = 0;
    open_pipe(ends);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    struct writer *writer = start(ends[1]);
    for (int i = 0; i < 400; i++) put(writer, i);
    char *text = read_text(ends[0], 500);
    assert_int_equal(count_lines(text, -1, &reported), 400);
    assert_int_equal(reported, 0);
    free(text);
    writer_stop(writer);
    close(ends[0]);
    close(ends[1]);
}

static void the_reader_has_gone(void **state) {
    (void)state;
    int ends[2];
    open_pipe(ends);
    close(ends[0]);
    signal(SIGPIPE, SIG_DFL); /* it would end this test */
    struct writer *writer = start(ends[1]);
    for (int i = 0; i < 100; i++) put(writer, i);
    writer_stop(writer);
    assert_int_equal(lines_lost(), 100);
    close(ends[1]);
}

static void the_end(void **state) {
    (void)state;
    int ends[2];
    uint64_t reported = 0;
    open_pipe(ends);
    struct writer *writer = start(ends[1]);
    for (int i = 0; i < 100; i++) put(writer, i);
    writer_stop(writer);
    char *text = read_text(ends[0], 0); /* all is there */
    assert_int_equal(count_lines(text, -1, &reported), 100);
    free(text);
    writer = start(ends[1]);
    for (int i = 0; i < LINES; i++) put(writer, i);
    const int64_t begin = clock_ns();
    writer_stop(writer); /* alarm: it does not wait for ever */
    assert_true(clock_ns() - begin > 900 * INT64_C(1000000));
    alarm(0);
    free(read_text(ends[0], 500)); /* the thread goes on to the end of this process */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_missing_until_they_are_read),
        cmocka_unit_test(what_is_written_at_once),
        cmocka_unit_test(an_end_that_does_not_block),
        cmocka_unit_test(the_reader_has_gone),
        cmocka_unit_test(the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
