// SPDX-License-Identifier: Apache-2.0
/* Clients that send and never read, until both buffers are full: the client must notice each way of
 * closing such a connection, and the bytes that had arrived are still read to their end.
 *
 * covers: server/http/engine/lingering_close.c server/http/engine/recv_filter.c
 * covers: server/http/engine/deadline.c */

#include "server/http/engine/lingering_close.h"
#include "server/http/engine/recv_filter.h"
#include "tests/server/http/engine/deadline_thread_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>

/* The free receive window of the other side, in bytes. */
static unsigned window_of(int fd) {
    struct tcp_info info = { 0 };
    socklen_t length = sizeof info;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length), 0);
    return info.tcpi_snd_wnd;
}

/* Sends until there is no room at all; THEIRS then probes now and then for room. */
static void fill(struct pair pair) {
    static const char bytes[1 << 16];
    const int64_t start = clock_ns();
    fcntl(pair.ours, F_SETFL, O_NONBLOCK);
    fcntl(pair.theirs, F_SETFL, O_NONBLOCK);
    do {
        while (send(pair.theirs, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) continue;
        sleep_ms(5);
        assert_true(ms_since(start) < LATE_MS);
    } while (window_of(pair.theirs) > 0);
}

static void drain(int fd) {
    static char bytes[1 << 16];
    while (recvfrom(fd, bytes, sizeof bytes, 0, NULL, NULL) > 0) continue;
}

/* The close is noticed: a client that waits for room to send wakes up with an error. */
static void sees_the_end(int theirs) {
    struct pollfd wait = { theirs, 0, 0 };
    assert_int_equal(poll(&wait, 1, LATE_MS), 1);
    assert_int_equal(send(theirs, "x", 1, MSG_NOSIGNAL), -1);
    close(theirs);
}

/* ---- a body that is no longer dropped */

static bool is_first(void *context, int64_t number) {
    return !context && number == 1;
}

static void *no_place(void *context, size_t *room) {
    (void)context, (void)room;
    return NULL;
}

static bool refuse_all(void *context, const void *bytes, size_t length) {
    (void)context, (void)bytes, (void)length;
    return false;
}

static void refused_body(void **state) {
    (void)state;
    static const char head[] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n";
    const struct recv_sink sink = { is_first, no_place, refuse_all, NULL };
    struct pair pair = tcp_pair();
    char buffer[1024];
    struct recv_filter *filter = recv_filter_open(pair.ours, sizeof buffer, NULL, &sink);
    assert_int_equal(send(pair.theirs, head, sizeof head - 1, 0), sizeof head - 1);
    assert_int_equal(recv(pair.ours, buffer, sizeof buffer, 0), sizeof head - 1);
    fill(pair);
    assert_int_equal(recv(pair.ours, buffer, sizeof buffer, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    recv_filter_close(filter);
    drain(pair.ours);
    close(pair.ours);
    sees_the_end(pair.theirs);
}

/* ---- a body that takes too long */

static void late_body(void **state) {
    (void)state;
    const struct deadline_limits limits = { SLOW_MS, 10, 1000, SLOW_MS, SLOW_MS, 1, NULL };
    struct deadline_thread *deadlines = deadline_thread_create(&limits);
    struct pair pair = tcp_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    fill(pair);
    deadline_enter_body(deadline, 1);
    assert_true(cut_after(pair.theirs, LATE_MS) >= 0);
    drain(pair.ours);
    end(deadlines, deadline, pair, false);
    sees_the_end(pair.theirs);
}

/* ---- a socket that was shut down, and then lingers */

static void lingering(void **state) {
    (void)state;
    struct lingering_close *lingering = lingering_close_create();
    struct pair pair = tcp_pair();
    fill(pair);
    shutdown(pair.ours, SHUT_RDWR);
    lingering_close_add(lingering, pair.ours);
    close(pair.ours);
    sees_the_end(pair.theirs);
    lingering_close_destroy(lingering);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_body),
        cmocka_unit_test(late_body),
        cmocka_unit_test(lingering),
    };
    return cmocka_run_group_tests_name("reset_on_close", tests, NULL, NULL);
}
