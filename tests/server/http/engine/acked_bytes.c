// SPDX-License-Identifier: Apache-2.0
/* The bytes that a client has acknowledged, and how long the daemon waits for it: real sockets, a
 * clock of the test's own. */
#include "server/http/engine/deadline_state.h"

#include "tests/server/http/engine/deadline_thread_pair.h"

static const int64_t ms = 1000000; /* ns */

/* Sends COUNT bytes and waits until they are acknowledged. */
static void take(struct pair pair, int count) {
    static char bytes[1 << 16];
    const int64_t wanted = acked_bytes_count(pair.ours) + count;
    while (count > 0) {
        const size_t piece = count < (int)sizeof bytes ? (size_t)count : sizeof bytes;
        assert_int_equal(send(pair.ours, bytes, piece, MSG_NOSIGNAL), piece);
        assert_int_equal(recv(pair.theirs, bytes, piece, MSG_WAITALL), piece);
        count -= (int)piece;
    }
    for (int i = 0; i < LATE_MS && acked_bytes_count(pair.ours) < wanted; i++) sleep_ms(1);
    assert_int_equal(acked_bytes_count(pair.ours), wanted);
}

static void deadlines_follow_the_bytes(void **state) {
    (void)state;
    struct pair pair = tcp_pair();
    struct acked_bytes acked;
    const int fd = pair.ours;
    take(pair, 5000); /* bytes of an earlier answer do not count */
    acked_bytes_begin(&acked, 7000 * ms, acked_bytes_count(fd));
    /* nothing acknowledged: 1 s from the start, at every check */
    assert_int_equal(acked_bytes_deadline(&acked, fd, 7000 * ms, 1000, 50000), 8000 * ms);
    assert_int_equal(acked_bytes_deadline(&acked, fd, 7400 * ms, 1000, 50000), 8000 * ms);
    /* a little: the whole time from the start; the rate allows no more */
    take(pair, 1000);
    assert_int_equal(acked_bytes_deadline(&acked, fd, 7500 * ms, 1000, 50000), 8000 * ms);
    /* much: 1 s from now, although the rate would allow 20 s */
    take(pair, 999000);
    assert_int_equal(acked_bytes_deadline(&acked, fd, 7600 * ms, 1000, 50000), 8600 * ms);
    assert_int_equal(acked_bytes_deadline(&acked, fd, 8500 * ms, 1000, 50000), 8600 * ms);
    /* a byte now and then: until the client falls below the rate */
    take(pair, 1);
    assert_int_equal(acked_bytes_deadline(&acked, fd, 8590 * ms, 1000, 50000), 9590 * ms);
    take(pair, 49999);
    assert_int_equal(acked_bytes_deadline(&acked, fd, 27900 * ms, 1000, 50000), 28000 * ms);
    close(pair.ours), close(pair.theirs);
}

static void tcp_alone(void **state) {
    (void)state;
    struct pair pair = local_pair();
    assert_int_equal(acked_bytes_count(pair.ours), -1);
    assert_int_equal(acked_bytes_count(-1), -1);
    close(pair.ours), close(pair.theirs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines_follow_the_bytes),
        cmocka_unit_test(tcp_alone),
    };
    return cmocka_run_group_tests_name("acked_bytes", tests, NULL, NULL);
}
