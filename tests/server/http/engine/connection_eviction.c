// SPDX-License-Identifier: Apache-2.0
/* The connections that are closed when connections are short, in which order, and those that never
 * are. */
#include "server/http/engine/eviction.h"

#include "tests/server/http/engine/deadline_thread_pair.h"

enum { MOST = 12, IDLE_MS = 60, BODY_MS = 120 };

static struct deadline_thread *create(void) {
    const struct pressure_options pressure = { .patience_ms = BODY_MS,
                                               .idle_patience_ms = IDLE_MS };
    struct deadline_limits limits = slow;
    limits.pressure = &pressure;
    return deadline_thread_create(&limits);
}

struct client {
    struct pair pair;
    struct deadline *deadline;
};

/* HOST: the last byte of the client's address; 0: the address is unknown. */
static struct client connect_one(struct deadline_thread *deadlines, unsigned host, bool six) {
    struct sockaddr_in four = { .sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(0x7f000000 | host) };
    struct sockaddr_in6 other = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { 0x20, 1 } };
    other.sin6_addr.s6_addr[15] = (uint8_t)host;
    struct client client = { .pair = tcp_pair() };
    client.deadline = deadline_thread_add(deadlines, client.pair.ours);
    if (host)
        connection_eviction_peer(client.deadline,
                                 six ? (struct sockaddr *)&other : (struct sockaddr *)&four);
    return client;
}

static bool is_cut(struct client client) {
    return cut_after(client.pair.theirs, 0) >= 0;
}

static int number(const void *waiting) {
    return *(const int *)waiting;
}

static int let_go(struct deadline_thread *deadlines, int waiting) {
    return connection_eviction_run(deadlines, number, &waiting);
}

static void end_all(struct deadline_thread *deadlines, struct client *clients, int count) {
    for (int i = 0; i < count; i++) {
        deadline_thread_remove(deadlines, clients[i].deadline);
        close(clients[i].pair.ours), close(clients[i].pair.theirs);
    }
    deadline_thread_destroy(deadlines);
}

/* Evicts exactly the connections of WANTED, in this order. */
static void check_order(struct deadline_thread *deadlines, const struct client *clients, int count,
                        const int *order, int wanted) {
    bool gone[MOST] = { false };
    for (int i = 0; i < wanted; i++) {
        assert_int_equal(let_go(deadlines, i + 1), i + 1);
        gone[order[i]] = true;
        for (int k = 0; k < count; k++) assert_int_equal(is_cut(clients[k]), gone[k]);
    }
    assert_int_equal(let_go(deadlines, count), wanted);
    assert_int_equal(reason_count(deadlines, ENDED_CROWDED), wanted);
}

/* One client: idle connections and those without a head go in the order in which they became so. */
static void the_oldest_go_first(void **state) {
    (void)state;
    struct deadline_thread *deadlines = create();
    struct client clients[4];
    for (int i = 0; i < 4; i++) {
        clients[i] = connect_one(deadlines, 1, false);
        sleep_ms(2);
    }
    deadline_enter_idle(clients[0].deadline);
    sleep_ms(2);
    deadline_enter_idle(clients[2].deadline);
    sleep_ms(IDLE_MS);
    check_order(deadlines, clients, 4, (const int[]){ 1, 3, 0, 2 }, 4);
    end_all(deadlines, clients, 4);
}

/* The client with the most connections loses its oldest; if two clients have as many, the older of
 * these two connections goes. */
static void who_has_the_most_loses(void **state) {
    (void)state;
    for (int six = 0; six < 2; six++) {
        struct deadline_thread *deadlines = create();
        struct client clients[6];
        const unsigned hosts[2][6] = { { 1, 2, 3, 2, 3, 3 }, { 1, 2, 3, 4, 5, 6 } };
        for (int i = 0; i < 6; i++) {
            clients[i] = connect_one(deadlines, hosts[six][i], six);
            sleep_ms(2);
        }
        sleep_ms(IDLE_MS);
        /* Addresses of one IPv6 network are one client. */
        const int orders[2][6] = { { 2, 1, 4, 0, 3, 5 }, { 0, 1, 2, 3, 4, 5 } };
        check_order(deadlines, clients, 6, orders[six], 6);
        end_all(deadlines, clients, 6);
    }
}

static void enter_body(struct deadline *deadline) {
    deadline_enter_body(deadline, 100);
}

static void enter_waiting(struct deadline *deadline) {
    static atomic_int calls;
    deadline_enter_waiting(deadline, count_call, &calls);
}

static void enter_write(struct deadline *deadline) {
    deadline_enter_write(deadline, 100);
}

static void stay(struct deadline *deadline) {
    (void)deadline;
}

static void phases(void **state) {
    (void)state;
    static const struct {
        void (*enter)(struct deadline *deadline);
        unsigned host;
        int after_ms; /* 0: never */
    } cases[] = {
        { deadline_enter_idle, 1, IDLE_MS },
        { stay, 1, IDLE_MS },
        { enter_body, 1, BODY_MS },
        { enter_waiting, 1, 0 },
        { enter_write, 1, 0 },
        { stay, 0, 0 }, /* from the admin listener */
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int unread = 0; unread < 2; unread++) {
            struct deadline_thread *deadlines = create();
            struct client client = connect_one(deadlines, cases[i].host, false);
            const int64_t start = clock_ns();
            cases[i].enter(client.deadline);
            if (unread) assert_int_equal(send(client.pair.theirs, "GET", 3, 0), 3);
            sleep_ms(10);
            const bool goes = cases[i].after_ms && !unread;
            while (ms_since(start) < 2 * BODY_MS && !let_go(deadlines, 1)) sleep_ms(5);
            assert_int_equal(is_cut(client), goes);
            if (goes) assert_true(ms_since(start) >= cases[i].after_ms);
            end_all(deadlines, &client, 1);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_oldest_go_first),
                                        cmocka_unit_test(who_has_the_most_loses),
                                        cmocka_unit_test(phases) };
    return cmocka_run_group_tests_name("connection_eviction", tests, NULL, NULL);
}
