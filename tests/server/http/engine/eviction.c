// SPDX-License-Identifier: Apache-2.0
/* Clients that are closed while others are refused, and those that stay, on pairs of sockets. */
#include "tests/server/http/engine/deadline_thread_pair.h"

#include <fcntl.h>

enum { PATIENCE_MS = 200, CLIENTS = 4, LONGER_MS = 500, MORE_PATIENCE_MS = 1200 };

static long patience_ms = PATIENCE_MS, rate = 1000;

static _Atomic int64_t rooms[RESOURCES];

static int64_t room(const void *context, enum resource resource) {
    (void)context;
    return atomic_load(&rooms[resource]);
}

/* Rates: 1000 to 8000 bytes a second. Room: CLIENTS slots and 1000 bytes. */
static struct deadline_thread *create(void) {
    const struct pressure_options pressure = { .room = room,
                                               .total = { CLIENTS, 1000, 1000 },
                                               .patience_ms = patience_ms,
                                               .rate_max_bytes = 8000 };
    const struct deadline_limits limits = { SLOW_MS, SLOW_MS, rate,     SLOW_MS,
                                            SLOW_MS, 1000,    &pressure };
    for (int r = 0; r < RESOURCES; r++) atomic_store(&rooms[r], 0);
    return deadline_thread_create(&limits);
}

struct client {
    struct pair pair;
    struct deadline *deadline;
};

static struct client connect_one(struct deadline_thread *deadlines) {
    const struct pair pair = tcp_pair();
    return (struct client){ pair, deadline_thread_add(deadlines, pair.ours) };
}

static void leave(struct deadline_thread *deadlines, struct client client) {
    deadline_thread_remove(deadlines, client.deadline);
    close(client.pair.ours), close(client.pair.theirs);
}

static bool is_cut(struct client client, int within_ms) {
    return cut_after(client.pair.theirs, within_ms) >= 0;
}

/* ---- clients that stand still */

static void begin_body(struct client client, int64_t bytes, int64_t held) {
    deadline_enter_body(client.deadline, -1);
    deadline_body_progress(client.deadline, bytes);
    deadline_hold(client.deadline, held);
}

/* A body that stops after BYTES bytes, many or few. */
static void still_body(enum resource resource, int64_t wanted, int64_t bytes, int64_t held,
                       bool goes) {
    struct deadline_thread *deadlines = create();
    const struct client client = connect_one(deadlines);
    const int64_t start = clock_ns();
    begin_body(client, bytes, held);
    bool cut = false;
    while (!cut && ms_since(start) < (goes ? LATE_MS : LONGER_MS)) {
        deadline_thread_note_pressure(deadlines, resource, wanted);
        cut = is_cut(client, 10);
    }
    assert_int_equal(cut, goes);
    if (cut) assert_true(ms_since(start) >= PATIENCE_MS - 1);
    assert_int_equal(reason_count(deadlines, ENDED_BODY), cut);
    leave(deadlines, client);
    deadline_thread_destroy(deadlines);
}

static void bodies_that_stand_still(void **state) {
    (void)state;
    still_body(RESOURCE_SLOTS, 0, 1, 1, true);               /* the last slot is taken */
    still_body(RESOURCE_SLOTS, 1, 1, 1, true);               /* one was refused */
    still_body(RESOURCE_BODIES, 10, 1 << 20, 1 << 20, true); /* a good average does not help */
    still_body(RESOURCE_BODIES, 10, 1 << 20, 0, false);      /* it holds no room */
    still_body(RESOURCE_ANSWERS, 1, 1, 1, false);            /* it holds a different resource */
}

static void nobody_goes_while_there_is_room(void **state) {
    (void)state;
    struct deadline_thread *deadlines = create();
    const struct client client = connect_one(deadlines);
    begin_body(client, 1, 500);
    assert_false(is_cut(client, LONGER_MS)); /* nobody was refused */
    atomic_store(&rooms[RESOURCE_BODIES], 10);
    deadline_thread_note_pressure(deadlines, RESOURCE_BODIES, 10);
    assert_false(is_cut(client, LONGER_MS)); /* there is room again for the refused one */
    bool cut = false;
    for (int ms = 0; ms < LATE_MS && !cut; ms += 10) {
        deadline_thread_note_pressure(deadlines, RESOURCE_BODIES, 11);
        cut = is_cut(client, 10);
    }
    assert_true(cut);
    leave(deadlines, client);
    deadline_thread_destroy(deadlines);
}

/* Bytes that have arrived and are not read yet are the daemon's delay. */
static void unread_bytes_are_no_silence(void **state) {
    (void)state;
    patience_ms = MORE_PATIENCE_MS, rate = 0;
    struct deadline_thread *deadlines = create();
    patience_ms = PATIENCE_MS, rate = 1000;
    const struct client client = connect_one(deadlines);
    begin_body(client, 1, 500);
    assert_int_equal(send(client.pair.theirs, "more", 4, 0), 4);
    deadline_thread_note_pressure(deadlines, RESOURCE_SLOTS, 1);
    assert_false(is_cut(client, 2 * MORE_PATIENCE_MS - 100));
    char bytes[4];
    assert_int_equal(recv(client.pair.ours, bytes, 4, 0), 4);
    const int64_t start = clock_ns();
    bool cut = false;
    for (int ms = 0; ms < LATE_MS && !cut; ms += 10) {
        deadline_thread_note_pressure(deadlines, RESOURCE_SLOTS, 1);
        cut = is_cut(client, 10);
    }
    assert_true(cut);
    assert_true(ms_since(start) >= MORE_PATIENCE_MS / 4); /* they have just been read */
    leave(deadlines, client);
    deadline_thread_destroy(deadlines);
}

/* Short and long answers that the client does not read; an answer with no bytes on their way is the
 * daemon's delay. */
static void answers_that_nobody_reads(void **state) {
    (void)state;
    static const char bytes[1 << 14];
    const int64_t lengths[] = { 100, 1 << 30 };
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (int sent = 0; sent < 2; sent++) {
            struct deadline_thread *deadlines = create();
            const struct client client = connect_one(deadlines);
            fcntl(client.pair.ours, F_SETFL, O_NONBLOCK);
            while (sent && send(client.pair.ours, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) continue;
            deadline_enter_write(client.deadline, lengths[i]);
            deadline_hold(client.deadline, 1000);
            /* The reader sees the end behind all bytes that were sent. */
            for (int ms = 0; ms < LATE_MS && !reason_count(deadlines, ENDED_WRITE); ms += 10) {
                if (!sent && ms > LONGER_MS) break;
                deadline_thread_note_pressure(deadlines, RESOURCE_ANSWERS, 1);
                sleep_ms(10);
            }
            assert_int_equal(reason_count(deadlines, ENDED_WRITE), sent);
            leave(deadlines, client);
            deadline_thread_destroy(deadlines);
        }
}

/* ---- slow clients */

/* CLIENTS bodies move all the time, each at its own rate. One after the other is closed, the
 * slowest first, as long as a further client is refused. */
static void the_slowest_go_first(void **state) {
    (void)state;
    struct deadline_thread *deadlines = create();
    struct client clients[CLIENTS];
    int64_t bytes[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = connect_one(deadlines);
        bytes[i] = 1;
        begin_body(clients[i], 1, 1);
    }
    int gone = 0;
    for (int64_t start = clock_ns(); gone < CLIENTS - 1 && ms_since(start) < LATE_MS; sleep_ms(2)) {
        for (int i = gone; i < CLIENTS; i++) {
            bytes[i] = ms_since(start) * (i < CLIENTS - 1 ? i + 2 : 100) + 1;
            deadline_body_progress(clients[i].deadline, bytes[i]);
            deadline_hold(clients[i].deadline, bytes[i]);
        }
        atomic_store(&rooms[RESOURCE_SLOTS], 0);
        deadline_thread_note_pressure(deadlines, RESOURCE_SLOTS, 1);
        if (!is_cut(clients[gone], 0)) continue;
        for (int i = gone + 1; i < CLIENTS; i++) assert_false(is_cut(clients[i], 0));
        leave(deadlines, clients[gone++]);
    }
    assert_int_equal(gone, CLIENTS - 1);
    for (int64_t start = clock_ns(); ms_since(start) < LONGER_MS; sleep_ms(2)) {
        deadline_body_progress(clients[gone].deadline, bytes[gone] + 100 * ms_since(start));
        deadline_thread_note_pressure(deadlines, RESOURCE_SLOTS, 1);
    }
    assert_false(is_cut(clients[gone], 0)); /* faster than any rate that is asked for */
    leave(deadlines, clients[gone]);
    deadline_thread_destroy(deadlines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_that_stand_still),
        cmocka_unit_test(nobody_goes_while_there_is_room),
        cmocka_unit_test(unread_bytes_are_no_silence),
        cmocka_unit_test(answers_that_nobody_reads),
        cmocka_unit_test(the_slowest_go_first),
    };
    return cmocka_run_group_tests_name("eviction", tests, NULL, NULL);
}
