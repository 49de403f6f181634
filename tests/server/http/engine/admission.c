// SPDX-License-Identifier: Apache-2.0
/* Requests that are admitted, refused or made to wait: the test has its own sockets and epoll in
 * the place of the library's, and decides how much room there is. */
#include "server/http/engine/admission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define POST   "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
#define NO     "HTTP/1.1 503 No\r\n\r\n"
#define SECOND INT64_C(1000000000)

enum { CLIENTS = 4 };

static struct {
    enum room room;
    int most; /* admissions left while the room is ROOM_FREE; -1: any number */
    bool last, unwritten, second_full;
} says;

/* Client 2 has used up its share. */
static enum room room(void *context, const struct client *client, int count) {
    (void)context;
    if (says.second_full && client->address.s6_addr[15] == 2) return ROOM_NONE;
    return says.room == ROOM_FREE && says.most >= 0 && count >= says.most ? ROOM_UNSURE : says.room;
}

static int wanted_times;

static void wanted(void *context) {
    (void)context;
    wanted_times++;
}

static size_t refusal(void *context, const struct client *client,
                      const struct request_head *request, const struct request_facts *facts,
                      char *out, size_t size, bool *last) {
    (void)context, (void)client;
    assert_int_equal(request->method.length, 4);
    assert_int_equal(facts->length, 4);
    assert_true(size == REFUSAL_MAX);
    *last = says.last;
    return says.unwritten ? 0 : strlen(strcpy(out, NO));
}

static struct client client_of(void *context, const struct sockaddr *peer) {
    (void)context;
    return (struct client){ ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr };
}

struct wire {
    struct admission *admission;
    int epoll, ours[CLIENTS], theirs[CLIENTS];
    struct admission_entry entries[CLIENTS];
};

static struct wire open_wire(int64_t refusing_ns, int64_t waiting_ns) {
    const struct admission_options options = { .room = room,
                                               .wanted = wanted,
                                               .refusal = refusal,
                                               .client = client_of,
                                               .refusing_ns = refusing_ns,
                                               .waiting_ns = waiting_ns };
    says.room = ROOM_FREE;
    says.most = -1;
    says.last = says.unwritten = says.second_full = false;
    wanted_times = 0;
    return (struct wire){ .admission = admission_create(&options), .epoll = epoll_create1(0) };
}

/* The entries must not move from now on. */
static void connect_all(struct wire *wire) {
    admission_watch(wire->admission, wire->epoll);
    for (int i = 0; i < CLIENTS; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        wire->ours[i] = pair[0];
        wire->theirs[i] = pair[1];
        struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u32 = (uint32_t)i };
        assert_int_equal(epoll_ctl(wire->epoll, EPOLL_CTL_ADD, pair[0], &event), 0);
        struct sockaddr_in6 peer = { .sin6_family = AF_INET6 };
        peer.sin6_addr.s6_addr[15] = says.second_full && i == CLIENTS - 1 ? 2 : 1;
        admission_join(wire->admission, &wire->entries[i], pair[0], (const void *)&peer, NULL);
    }
}

static void close_wire(struct wire *wire) {
    for (int i = 0; i < CLIENTS; i++) {
        admission_leave(&wire->entries[i]);
        close(wire->ours[i]);
        close(wire->theirs[i]);
    }
    admission_destroy(wire->admission);
    close(wire->epoll);
}

static void send_text(const struct wire *wire, int client, const char *text) {
    assert_int_equal(send(wire->theirs[client], text, strlen(text), 0), strlen(text));
}

static bool kept_out(struct wire *wire, int client) {
    int64_t since_ns = 0;
    const bool out = admission_keeps_out(&wire->entries[client], &since_ns);
    if (!out) admission_begun(&wire->entries[client]);
    return out;
}

/* Reads all there is, as the library would; returns how many bytes. */
static size_t unread(const struct wire *wire, int client) {
    char bytes[4096];
    const ssize_t got = recvfrom(wire->ours[client], bytes, sizeof bytes, MSG_PEEK, NULL, NULL);
    return got > 0 ? (size_t)got : 0;
}

static void answered(const struct wire *wire, int client, const char *text) {
    char bytes[4096] = "";
    const ssize_t got =
        recvfrom(wire->theirs[client], bytes, sizeof bytes - 1, MSG_DONTWAIT, NULL, NULL);
    assert_int_equal(got > 0 ? got : 0, strlen(text));
    assert_string_equal(bytes, text);
}

/* The entry that epoll reports; -1: none. */
static int reported(const struct wire *wire) {
    struct epoll_event event;
    return epoll_wait(wire->epoll, &event, 1, 0) == 1 ? (int)event.data.u32 : -1;
}

static void with_room_all_pass(void **state) {
    (void)state;
    struct wire wire = open_wire(SECOND, SECOND);
    connect_all(&wire);
    send_text(&wire, 0, POST);
    assert_false(kept_out(&wire, 0));
    assert_int_equal(unread(&wire, 0), strlen(POST));
    assert_int_equal(admission_turn(wire.admission), -1);
    assert_int_equal(wanted_times, 0);
    close_wire(&wire);
}

static void without_room_a_request_is_refused_and_dropped(void **state) {
    (void)state;
    struct wire wire = open_wire(SECOND, SECOND);
    connect_all(&wire);
    says.room = ROOM_NONE;
    send_text(&wire, 0, POST POST);
    assert_true(kept_out(&wire, 0));
    answered(&wire, 0, NO NO);
    assert_int_equal(wanted_times, 2);
    assert_int_equal(unread(&wire, 0), 0);
    says.room = ROOM_FREE;
    send_text(&wire, 0, POST);
    assert_false(kept_out(&wire, 0));
    assert_int_equal(unread(&wire, 0), strlen(POST));
    close_wire(&wire);
}

/* The answer is sent before the body has arrived. The rest of the body is dropped when it arrives,
 * with room or without, and the next request is found behind it. */
static void bodies_in_pieces_are_dropped(void **state) {
    (void)state;
    struct wire wire = open_wire(SECOND, SECOND);
    connect_all(&wire);
    says.room = ROOM_NONE;
    send_text(&wire, 0, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo");
    assert_true(kept_out(&wire, 0));
    answered(&wire, 0, NO);
    says.room = ROOM_FREE;
    assert_true(kept_out(&wire, 0));
    send_text(&wire, 0, "d");
    assert_true(kept_out(&wire, 0));
    send_text(&wire, 0, "y" POST);
    assert_false(kept_out(&wire, 0));
    assert_int_equal(unread(&wire, 0), strlen(POST));
    close_wire(&wire);
}

static void the_last_one_ends_its_connection(void **state) {
    (void)state;
    struct wire wire = open_wire(SECOND, SECOND);
    connect_all(&wire);
    says.room = ROOM_NONE;
    says.last = true;
    send_text(&wire, 0, POST);
    kept_out(&wire, 0);
    answered(&wire, 0, NO);
    char byte;
    assert_int_equal(recvfrom(wire.theirs[0], &byte, 1, 0, NULL, NULL), 0);
    close_wire(&wire);
}

static void what_is_no_plain_request_is_let_in(void **state) {
    (void)state;
    static const char *const others[] = {
        "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n",
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
        "POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody",
        "\r\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct wire wire = open_wire(SECOND, SECOND);
        connect_all(&wire);
        says.room = ROOM_NONE;
        send_text(&wire, 0, others[i]);
        assert_false(kept_out(&wire, 0));
        answered(&wire, 0, "");
        assert_int_equal(wanted_times, 0);
        says.unwritten = true;
        send_text(&wire, 1, POST);
        assert_false(kept_out(&wire, 1));
        close_wire(&wire);
    }
}

/* The first refusal uses up the time for refusals. The others wait; epoll reports them again, the
 * oldest first, when there is room, and they are never refused. */
static void who_is_not_refused_waits(void **state) {
    (void)state;
    struct wire wire = open_wire(1, 60 * SECOND);
    connect_all(&wire);
    says.room = ROOM_NONE;
    for (int i = 0; i < CLIENTS; i++) {
        send_text(&wire, i, POST);
        assert_int_equal(reported(&wire), i);
        assert_true(kept_out(&wire, i));
        answered(&wire, i, i == 0 ? NO : "");
    }
    const int before = wanted_times;
    assert_true(admission_turn(wire.admission) > 0);
    assert_true(wanted_times > before); /* as long as it waits */
    assert_int_equal(reported(&wire), -1);
    says.room = ROOM_FREE;
    says.most = 1;
    for (int i = 1; i < CLIENTS; i++) {
        int64_t since_ns = 0;
        int next = -1;
        for (int turn = 0; next < 0 && turn < 16; turn++) {
            admission_turn(wire.admission);
            next = reported(&wire);
        }
        assert_int_equal(next, i);
        assert_false(admission_keeps_out(&wire.entries[i], &since_ns));
        admission_begun(&wire.entries[i]);
        assert_true(since_ns > 0);
        assert_int_equal(unread(&wire, i), strlen(POST));
        assert_int_equal(reported(&wire), -1); /* there was room for one */
    }
    assert_int_equal(admission_turn(wire.admission), -1);
    close_wire(&wire);
}

static void in_doubt_a_request_waits_a_turn(void **state) {
    (void)state;
    struct wire wire = open_wire(SECOND, 60 * SECOND);
    connect_all(&wire);
    says.most = 1;
    send_text(&wire, 0, POST);
    send_text(&wire, 1, POST);
    assert_false(kept_out(&wire, 0));
    assert_true(kept_out(&wire, 1));
    answered(&wire, 1, "");
    says.most = -1;
    assert_int_equal(admission_turn(wire.admission), -1);
    assert_false(kept_out(&wire, 1));
    close_wire(&wire);
}

/* Although others of its row have waited for long. It is not refused later either, when there is no
 * room. */
static void who_may_have_room_is_not_refused(void **state) {
    (void)state;
    struct wire wire = open_wire(SECOND, 60 * SECOND);
    connect_all(&wire);
    says.most = 0;
    send_text(&wire, 0, POST);
    assert_true(kept_out(&wire, 0));
    usleep(20000);
    send_text(&wire, 1, POST);
    assert_true(kept_out(&wire, 1));
    answered(&wire, 1, "");
    admission_leave(&wire.entries[0]);
    says.room = ROOM_NONE;
    assert_true(admission_turn(wire.admission) > 0);
    assert_true(kept_out(&wire, 1));
    says.room = ROOM_FREE;
    says.most = -1;
    assert_int_equal(admission_turn(wire.admission), -1);
    assert_false(kept_out(&wire, 1));
    close_wire(&wire);
}

/* A client that has used up its share waits or is refused; other clients pass it and do not wait
 * behind it. */
static void clients_do_not_wait_for_each_other(void **state) {
    (void)state;
    struct wire wire = open_wire(1, 60 * SECOND);
    says.second_full = true;
    connect_all(&wire);
    const int second = CLIENTS - 1;
    if (wire.entries[second].row == wire.entries[0].row) { /* one time in 64 */
        close_wire(&wire);
        return;
    }
    send_text(&wire, second, POST POST);
    assert_true(kept_out(&wire, second));
    answered(&wire, second, NO); /* and the next one waits */
    usleep(20000);
    for (int i = 0; i < second; i++) {
        send_text(&wire, i, POST);
        assert_false(kept_out(&wire, i));
        assert_true(admission_turn(wire.admission) > 0);
    }
    says.second_full = false;
    assert_int_equal(admission_turn(wire.admission), -1);
    assert_false(kept_out(&wire, second));
    close_wire(&wire);
}

static void nobody_waits_for_ever(void **state) {
    (void)state;
    struct wire wire = open_wire(1, 0);
    connect_all(&wire);
    says.room = ROOM_NONE;
    send_text(&wire, 0, POST);
    send_text(&wire, 1, POST);
    kept_out(&wire, 0);
    assert_true(kept_out(&wire, 1));
    usleep(1000);
    assert_int_equal(admission_turn(wire.admission), -1);
    assert_false(kept_out(&wire, 1));
    close_wire(&wire);
}

/* A client that leaves is removed from any place in the row. */
static void leaving_while_waiting(void **state) {
    (void)state;
    for (int gone = 0; gone < CLIENTS; gone++) {
        struct wire wire = open_wire(SECOND, 60 * SECOND);
        connect_all(&wire);
        says.most = 0;
        for (int i = 0; i < CLIENTS; i++) {
            send_text(&wire, i, POST);
            assert_true(kept_out(&wire, i));
        }
        admission_leave(&wire.entries[gone]);
        says.most = -1;
        assert_int_equal(admission_turn(wire.admission), -1);
        for (int i = 0; i < CLIENTS; i++)
            if (i != gone) assert_false(kept_out(&wire, i));
        close_wire(&wire);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_room_all_pass),
        cmocka_unit_test(without_room_a_request_is_refused_and_dropped),
        cmocka_unit_test(bodies_in_pieces_are_dropped),
        cmocka_unit_test(the_last_one_ends_its_connection),
        cmocka_unit_test(what_is_no_plain_request_is_let_in),
        cmocka_unit_test(who_is_not_refused_waits),
        cmocka_unit_test(in_doubt_a_request_waits_a_turn),
        cmocka_unit_test(who_may_have_room_is_not_refused),
        cmocka_unit_test(clients_do_not_wait_for_each_other),
        cmocka_unit_test(nobody_waits_for_ever),
        cmocka_unit_test(leaving_while_waiting),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
