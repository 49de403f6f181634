// SPDX-License-Identifier: Apache-2.0
/* A client that sends as fast as it is read: the filter lets the thread's other connections in.
 *
 * covers: server/http/engine/recv_filter.c
 */
#include "server/http/engine/recv_filter.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct wire {
    int ours, theirs;
    struct recv_filter *filter;
};

static struct wire open_wire(const struct recv_sink *sink) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    struct wire wire = { pair[0], pair[1], recv_filter_open(pair[0], 1024, NULL, sink) };
    assert_non_null(wire.filter);
    return wire;
}

enum { FAST_BODY = 16 * APART_READ_MAX };

struct fast_client {
    const struct wire *wire;
    size_t unsent, taken;
    char bytes[APART_READ_MAX / 8]; /* less than the sockets hold: reads are full */
};

static void send_more(struct fast_client *client) {
    static const char bytes[1 << 16];
    for (ssize_t sent = 1; client->unsent && sent > 0;) {
        const size_t piece = client->unsent < sizeof bytes ? client->unsent : sizeof bytes;
        sent = send(client->wire->theirs, bytes, piece, MSG_NOSIGNAL);
        if (sent > 0) client->unsent -= (size_t)sent;
    }
}

static bool is_first(void *context, int64_t number) {
    return context && number == 1;
}

static void *place_fast(void *context, size_t *room) {
    struct fast_client *client = context;
    if (*room > sizeof client->bytes) *room = sizeof client->bytes;
    return client->bytes;
}

static bool take_fast(void *context, const void *bytes, size_t length) {
    struct fast_client *client = context;
    (void)bytes;
    client->taken += length;
    send_more(client);
    return true;
}

/* After each call that says EINTR other connections have their turn; none reads all there is. */
static void a_fast_client_lets_others_in(void **state) {
    (void)state;
    static struct fast_client client;
    const struct recv_sink sink = { is_first, place_fast, take_fast, &client };
    struct wire wire = open_wire(&sink);
    char head[100], buffer[4096];
    client = (struct fast_client){ .wire = &wire, .unsent = FAST_BODY };
    const int length =
        sprintf(head, "POST /0 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", FAST_BODY);
    assert_int_equal(send(wire.theirs, head, (size_t)length, MSG_NOSIGNAL), length);
    send_more(&client);
    ssize_t got = recv(wire.ours, buffer, sizeof buffer, 0);
    assert_true(got > 0);
    int interrupted = 0;
    for (got = -1; got < 0;) {
        const size_t before = client.taken;
        got = recv(wire.ours, buffer, sizeof buffer, 0);
        assert_true(client.taken - before < 2 * APART_READ_MAX);
        if (got < 0) assert_true(errno == EINTR || errno == EAGAIN);
        interrupted += got < 0 && errno == EINTR;
    }
    assert_int_equal(got, 1); /* the body's last byte */
    assert_true(interrupted >= FAST_BODY / (2 * APART_READ_MAX));
    recv_filter_close(wire.filter);
    close(wire.ours);
    close(wire.theirs);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_fast_client_lets_others_in) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
