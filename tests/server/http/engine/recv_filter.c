// SPDX-License-Identifier: Apache-2.0
/* The filter at one end of a pair of sockets; the test reads with recv(2), as the library does. */
#include "server/http/engine/recv_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define GET     "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST    "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789"
#define CHUNKED "PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
#define REFUSED "- / HTTP/1.1\r\nHost: -\r\n\r\n"

enum { HEAD_MAX = 1024, ROOM = 1 << 16 };

struct wire {
    int ours, theirs;
    struct recv_filter *filter;
};

static struct wire open_wire_with(const struct recv_sink *sink) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    struct wire wire = { pair[0], pair[1], recv_filter_open(pair[0], HEAD_MAX, NULL, sink) };
    assert_non_null(wire.filter);
    return wire;
}

static struct wire open_wire(void) {
    return open_wire_with(NULL);
}

static void close_wire(struct wire *wire) {
    recv_filter_close(wire->filter);
    close(wire->ours);
    if (wire->theirs >= 0) close(wire->theirs);
}

static void send_text(const struct wire *wire, const char *text, size_t length) {
    assert_int_equal(send(wire->theirs, text, length, MSG_NOSIGNAL), length);
}

/* One call, which must return EXPECTED; "" for EAGAIN. */
static void receives(const struct wire *wire, const char *expected) {
    char buffer[ROOM];
    const ssize_t got = recv(wire->ours, buffer, sizeof buffer, 0);
    if (!*expected) {
        assert_int_equal(got, -1);
        assert_int_equal(errno, EAGAIN);
        return;
    }
    assert_int_equal(got, strlen(expected));
    assert_memory_equal(buffer, expected, strlen(expected));
}

static void whole_messages_pass(void **state) {
    (void)state;
    struct wire wire = open_wire();
    send_text(&wire, GET POST GET, sizeof(GET POST GET) - 1);
    receives(&wire, GET POST GET);
    receives(&wire, "");
    send_text(&wire, CHUNKED "3\r\nabc\r\n0\r\n\r\n", sizeof(CHUNKED "3\r\nabc\r\n0\r\n\r\n") - 1);
    receives(&wire, CHUNKED "3\r\nabc\r\n0\r\n\r\n");
    assert_false(recv_filter_has_partial_head(wire.filter));
    close(wire.theirs);
    wire.theirs = -1;
    assert_int_equal(recv(wire.ours, (char[8]){ 0 }, 8, 0), 0);
    close_wire(&wire);
}

static void heads_are_held_until_whole(void **state) {
    (void)state;
    struct wire wire = open_wire();
    send_text(&wire, POST "GET / HT", sizeof POST - 1 + 8);
    receives(&wire, POST);
    assert_true(recv_filter_has_partial_head(wire.filter));
    assert_true(recv_filter_request_start_ns(wire.filter, 2) > 0);
    assert_int_equal(recv_filter_request_start_ns(wire.filter, 1), 0);
    receives(&wire, "");
    send_text(&wire, "TP/1.1\r\nHost: x\r\n\r", 18);
    receives(&wire, "");
    send_text(&wire, "\nGET", 4);
    receives(&wire, GET);
    assert_true(recv_filter_has_partial_head(wire.filter));
    close_wire(&wire);
}

static void refusal_stands_behind_what_was_good(void **state) {
    (void)state;
    struct wire wire = open_wire();
    struct failure failure = { 0 };
    enum head_excess excess;
    static const char text[] = GET POST "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n" GET;
    send_text(&wire, text, sizeof text - 1);
    receives(&wire, GET POST REFUSED);
    assert_false(recv_filter_refusal(wire.filter, 1, &failure, &excess));
    assert_false(recv_filter_refusal(wire.filter, 2, &failure, &excess));
    assert_true(recv_filter_refusal(wire.filter, 3, &failure, &excess));
    assert_int_equal(failure.status, STATUS_BAD_REQUEST);
    assert_int_equal(excess, EXCESS_NONE);
    send_text(&wire, GET, sizeof GET - 1);
    receives(&wire, "");
    int unread = 1;
    assert_int_equal(ioctl(wire.ours, FIONREAD, &unread), 0);
    assert_int_equal(unread, 0);
    close_wire(&wire);
}

static void refused_bodies_end(void **state) {
    (void)state;
    struct wire wire = open_wire();
    struct failure failure = { 0 };
    enum head_excess excess;
    send_text(&wire, CHUNKED "3\r\nabc\n" GET, sizeof(CHUNKED "3\r\nabc\n" GET) - 1);
    receives(&wire, CHUNKED "3\r\nabc\r\n0\r\n\r\n");
    assert_true(recv_filter_refusal(wire.filter, 1, &failure, &excess));
    receives(&wire, "");
    close_wire(&wire);
}

static void a_request_that_never_came_is_refused(void **state) {
    (void)state;
    struct wire wire = open_wire();
    struct failure failure = { 0 };
    enum head_excess excess;
    assert_true(recv_filter_refusal(wire.filter, 1, &failure, &excess));
    assert_int_equal(failure.status, STATUS_INTERNAL);
    close_wire(&wire);
}

static void head_without_end(void **state) {
    (void)state;
    struct wire wire = open_wire();
    struct failure failure = { 0 };
    enum head_excess excess;
    char long_line[3 * HEAD_MAX];
    memset(long_line, 'a', sizeof long_line);
    send_text(&wire, long_line, HEAD_MAX - 1);
    receives(&wire, "");
    send_text(&wire, long_line, sizeof long_line);
    receives(&wire, REFUSED);
    assert_true(recv_filter_refusal(wire.filter, 1, &failure, &excess));
    assert_int_equal(excess, EXCESS_LINE);
    close_wire(&wire);
}

/* Framing may hold back more bytes of trailers than the longest head has. */
static void long_trailers(void **state) {
    (void)state;
    static char text[3 * ROOM];
    for (size_t length = 1; length < 6000; length += 97)
        for (size_t step = 700; step <= ROOM; step *= 9) {
            struct wire wire = open_wire();
            char buffer[ROOM];
            size_t heard = 0, size = sizeof(CHUNKED "0\r\nX: ") - 1;
            memcpy(text, CHUNKED "0\r\nX: ", size);
            memset(text + size, 'a', length);
            memcpy(text + size + length, "\r\n\r\n", 4);
            size += length + 4;
            for (size_t said = 0; said < size; said += step) {
                send_text(&wire, text + said, size - said < step ? size - said : step);
                for (ssize_t got = 1; got > 0; heard += got > 0 ? (size_t)got : 0)
                    got = recv(wire.ours, buffer, sizeof buffer, 0);
                assert_int_equal(errno, EAGAIN);
            }
            assert_int_equal(recv_filter_has_refused(wire.filter), length + 5 + 2 > 4096);
            if (!recv_filter_has_refused(wire.filter)) assert_int_equal(heard, size);
            close_wire(&wire);
        }
}

static void other_descriptors_pass_untouched(void **state) {
    (void)state;
    struct wire wire = open_wire();
    char buffer[64];
    send_text(&wire, "GET", 3);
    assert_int_equal(recv(wire.ours, buffer, sizeof buffer, MSG_PEEK), 3);
    recv_filter_close(wire.filter);
    wire.filter = NULL;
    assert_int_equal(recv(wire.ours, buffer, sizeof buffer, 0), 3);
    close_wire(&wire);
}

/* ---- any cuts, any room */

/* LENGTH bytes of messages in TEXT, one behind the other. */
static size_t compose(char *text, size_t room) {
    size_t length = 0;
    for (int i = 0; i < 20; i++) {
        const int kind = rand() % 4, bytes = rand() % 700, pad = rand() % 600;
        char filler[1024];
        memset(filler, 'f', sizeof filler);
        length += (size_t)snprintf(text + length, room - length,
                                   "POST /%.*s HTTP/1.1\r\nHost: x\r\n", pad, filler);
        if (kind == 0)
            length += (size_t)snprintf(text + length, room - length, "\r\n");
        else if (kind == 1)
            length += (size_t)snprintf(text + length, room - length,
                                       "Content-Length: %d\r\n\r\n%.*s", bytes, bytes, filler);
        else
            length +=
                (size_t)snprintf(text + length, room - length,
                                 "Transfer-Encoding: chunked\r\n\r\n%x\r\n%.*s\r\n0\r\n%s\r\n",
                                 bytes + 1, bytes + 1, filler, kind == 2 ? "" : "Trailer: t\r\n");
    }
    return length;
}

/* The library calls again at once only after a call that filled its room or ended with EINTR; after
 * any other call it waits for the kernel to report new bytes. So after such a call no byte may be
 * left that could pass. */
static void nothing_waits_unnoticed(const struct wire *wire) {
    char buffer[16];
    int unread = 1;
    assert_int_equal(ioctl(wire->ours, FIONREAD, &unread), 0);
    assert_int_equal(unread, 0);
    do assert_int_equal(recv(wire->ours, buffer, sizeof buffer, 0), -1);
    while (errno == EINTR);
    assert_int_equal(errno, EAGAIN);
}

static void pieces_of_any_size(void **state) {
    (void)state;
    static char text[ROOM], heard[ROOM];
    srand(1);
    for (int round = 0; round < 300; round++) {
        struct wire wire = open_wire();
        const size_t length = compose(text, sizeof text);
        size_t said = 0, got = 0;
        while (said < length) {
            size_t piece = 1 + (size_t)rand() % (round % 3 ? 900 : 9000), room;
            if (piece > length - said) piece = length - said;
            send_text(&wire, text + said, piece);
            said += piece;
            for (ssize_t now = 1; now > 0;) {
                room = 1 + (size_t)rand() % (round % 2 ? 3000 : 50);
                now = recv(wire.ours, heard + got, room, 0);
                if (now > 0) got += (size_t)now;
                if (now > 0 && (size_t)now == room) continue;
                nothing_waits_unnoticed(&wire);
                break;
            }
        }
        assert_int_equal(got, length);
        assert_memory_equal(heard, text, length);
        close_wire(&wire);
    }
}

/* ---- large bodies, beside the library */

enum { REQUESTS = 12, BODY_MAX = 200000 };

/* The bytes of each request's body that bypassed the library. */
struct sunk {
    char bytes[REQUESTS][BODY_MAX];
    size_t length[REQUESTS];
    int64_t number;
    char *place; /* that place_now returned last */
};

/* The handler is late at times. */
static bool is_begun(void *context, int64_t number) {
    struct sunk *sunk = context;
    sunk->number = number;
    return rand() % 4 != 0;
}

static bool has_begun(void *context, int64_t number) {
    return ((struct sunk *)context)->number == number;
}

static void *place_now(void *context, size_t *room) {
    struct sunk *sunk = context;
    const int64_t number = sunk->number;
    sunk->place = NULL;
    if (rand() % 4 == 0) return NULL;
    if (rand() % 3 == 0) *room = 1 + (size_t)rand() % *room;
    return sunk->place = sunk->bytes[number - 1] + sunk->length[number - 1];
}

static bool take_now(void *context, const void *bytes, size_t length) {
    struct sunk *sunk = context;
    const int64_t number = sunk->number;
    if (sunk->place) assert_ptr_equal(bytes, sunk->place);
    memmove(sunk->bytes[number - 1] + sunk->length[number - 1], bytes, length);
    sunk->length[number - 1] += length;
    return true;
}

static int large_body(int request) {
    static const int lengths[] = { 0, 100, APART_MIN, APART_MIN + 1, 40000, BODY_MAX - 1 };
    return lengths[request % 6];
}

static size_t compose_large(char *text, int first) {
    size_t length = 0;
    for (int i = 0; i < REQUESTS; i++) {
        const int body = large_body(first + i);
        length += (size_t)sprintf(
            text + length, "POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", i, body);
        for (int k = 0; k < body; k++) text[length++] = (char)('a' + (i + k % 97) % 26);
    }
    return length;
}

/* The bytes that the library read and those that bypassed it are together the bytes that were sent:
 * for each body those that came with its head, those of the sink, and the last one. Returns how
 * many bypassed the library. */
static size_t check_bodies(const struct wire *wire, const struct sunk *sunk, const char *heard,
                           const char *text, int first) {
    size_t past = 0;
    for (int i = 0; i < REQUESTS; i++) {
        const size_t body = (size_t)large_body(first + i), aside = sunk->length[i];
        const char *end = strstr(text, "\r\n\r\n") + 4, *heard_end = strstr(heard, "\r\n\r\n") + 4;
        const size_t announced = (size_t)atol(strstr(heard, "Length: ") + 8);
        int64_t length = 0;
        assert_int_equal(announced + aside, body);
        assert_int_equal(heard_end - heard, end - text);
        if (aside) {
            assert_memory_equal(heard_end, end, announced - 1);
            assert_memory_equal(sunk->bytes[i], end + announced - 1, aside);
            assert_int_equal(heard_end[announced - 1], end[body - 1]);
        } else {
            assert_memory_equal(heard_end, end, body);
        }
        if (recv_filter_bypassed(wire->filter, i + 1, &length)) assert_int_equal(length, body);
        text = end + body;
        heard = heard_end + announced;
        past += aside;
    }
    return past;
}

static void large_bodies_of_any_pieces(void **state) {
    (void)state;
    static char text[REQUESTS * (BODY_MAX + 100)], heard[sizeof text];
    static struct sunk sunk;
    const struct recv_sink sink = { is_begun, place_now, take_now, &sunk };
    size_t past = 0;
    srand(2);
    for (int round = 0; round < 60; round++) {
        struct wire wire = open_wire_with(&sink);
        const size_t length = compose_large(text, round);
        size_t said = 0, got = 0;
        memset(sunk.length, 0, sizeof sunk.length);
        memset(heard, 0, sizeof heard);
        while (said < length) {
            size_t piece = 1 + (size_t)rand() % (round % 3 ? 60000 : 900);
            if (piece > length - said) piece = length - said;
            send_text(&wire, text + said, piece);
            said += piece;
            for (ssize_t now = 1; now > 0;) {
                const size_t room = 1 + (size_t)rand() % (round % 2 ? 16384 : 300);
                now = recv(wire.ours, heard + got, room, 0);
                if (now > 0) got += (size_t)now;
                if (now > 0 && (size_t)now == room) continue;
                if (now < 0 && errno == EINTR) {
                    now = 1;
                    continue;
                }
                nothing_waits_unnoticed(&wire);
                break;
            }
        }
        past += check_bodies(&wire, &sunk, heard, text, round);
        close_wire(&wire);
    }
    assert_true(past > 60 * BODY_MAX);
}

static size_t little_taken;

static bool is_always_begun(void *context, int64_t number) {
    return context && number > 0;
}

static void *place_little(void *context, size_t *room) {
    if (*room > 1000) *room = 1000;
    return context;
}

static bool take_little(void *context, const void *bytes, size_t length) {
    (void)context, (void)bytes;
    little_taken += length;
    return true;
}

/* However much more there is: other clients are served in between. */
static void one_call_reads_one_piece(void **state) {
    (void)state;
    static char text[5000], place[1000];
    const struct recv_sink sink = { is_always_begun, place_little, take_little, place };
    struct wire wire = open_wire_with(&sink);
    char buffer[1024];
    const int head = sprintf(text, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    send_text(&wire, text, (size_t)head);
    assert_int_equal(recv(wire.ours, buffer, sizeof buffer, 0), head);
    send_text(&wire, text, sizeof text);
    little_taken = 0;
    for (size_t i = 1; i <= sizeof text / sizeof place; i++) {
        assert_int_equal(recv(wire.ours, buffer, sizeof buffer, 0), -1);
        assert_int_equal(errno, EINTR);
        assert_int_equal(little_taken, i * sizeof place);
    }
    receives(&wire, "");
    close_wire(&wire);
}

/* Acts like a sink without room. */
static bool refuse_all(void *context, const void *bytes, size_t length) {
    (void)context, (void)bytes, (void)length;
    return false;
}

/* The library may read while the request before is still answered. */
static void a_body_waits_for_its_handler(void **state) {
    (void)state;
    static char text[BODY_MAX];
    static struct sunk sunk;
    const struct recv_sink sink = { has_begun, place_now, take_now, &sunk };
    struct wire wire = open_wire_with(&sink);
    char buffer[1024];
    const int head = sprintf(text, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    send_text(&wire, text, (size_t)head);
    assert_int_equal(recv(wire.ours, buffer, sizeof buffer, 0), head);
    send_text(&wire, text, 500);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(recv(wire.ours, buffer, sizeof buffer, 0), -1);
        assert_int_equal(errno, EINTR);
        assert_int_equal(sunk.length[0], 0);
    }
    sunk.number = 1; /* it has begun */
    do assert_int_equal(recv(wire.ours, buffer, sizeof buffer, 0), -1);
    while (errno == EINTR);
    assert_int_equal(sunk.length[0], 500);
    close_wire(&wire);
}

static void a_body_that_is_refused_ends_its_connection(void **state) {
    (void)state;
    static char text[BODY_MAX];
    static struct sunk sunk = { .number = 1 };
    const struct recv_sink sink = { is_always_begun, place_now, refuse_all, &sunk };
    struct wire wire = open_wire_with(&sink);
    char buffer[1024];
    const int head = sprintf(text, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    send_text(&wire, text, (size_t)head);
    assert_int_equal(recv(wire.ours, buffer, sizeof buffer, 0), head);
    assert_non_null(memmem(buffer, (size_t)head, "Content-Length: 000001\r\n", 24));
    send_text(&wire, text, 500);
    assert_int_equal(recv(wire.ours, buffer, sizeof buffer, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(recv(wire.theirs, buffer, sizeof buffer, 0), 0);
    close_wire(&wire);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_messages_pass),
        cmocka_unit_test(heads_are_held_until_whole),
        cmocka_unit_test(refusal_stands_behind_what_was_good),
        cmocka_unit_test(refused_bodies_end),
        cmocka_unit_test(a_request_that_never_came_is_refused),
        cmocka_unit_test(head_without_end),
        cmocka_unit_test(long_trailers),
        cmocka_unit_test(other_descriptors_pass_untouched),
        cmocka_unit_test(pieces_of_any_size),
        cmocka_unit_test(large_bodies_of_any_pieces),
        cmocka_unit_test(one_call_reads_one_piece),
        cmocka_unit_test(a_body_waits_for_its_handler),
        cmocka_unit_test(a_body_that_is_refused_ends_its_connection),
    };
    return cmocka_run_group_tests_name("recv_filter", tests, NULL, NULL);
}
