// SPDX-License-Identifier: Apache-2.0
/* Two shares of one listening socket. */
#include "server/http/engine/accept_balance.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLIENTS = 8 };

struct place {
    struct accept_balance balance;
    int listening[2], clients[CLIENTS], accepted[CLIENTS], accepted_count;
    struct accept_share *shares[2];
};

static void open_place(struct place *place, int connections_max) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    *place = (struct place){ 0 };
    place->listening[0] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(place->listening[0], (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(place->listening[0], CLIENTS), 0);
    getsockname(place->listening[0], (struct sockaddr *)&address, &length);
    place->listening[1] = fcntl(place->listening[0], F_DUPFD_CLOEXEC, 0);
    for (int i = 0; i < 2; i++)
        place->shares[i] = accept_balance_join(&place->balance, connections_max);
    for (int i = 0; i < CLIENTS; i++) {
        place->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(place->clients[i], (struct sockaddr *)&address, sizeof address),
                         0);
    }
}

static void close_place(struct place *place) {
    for (int i = 0; i < 2; i++) {
        accept_balance_leave(place->shares[i]);
        close(place->listening[i]);
    }
    for (int i = 0; i < CLIENTS; i++) close(place->clients[i]);
    for (int i = 0; i < place->accepted_count; i++) close(place->accepted[i]);
}

/* Share WHICH accepts a connection; false if it leaves the connection to the other share. */
static bool accepts(struct place *place, int which) {
    if (accept_balance_leaves(place->shares[which])) return false;
    const int fd = accept4(place->listening[which], NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) assert_int_equal(errno, EAGAIN);
    if (fd < 0) return false;
    place->accepted[place->accepted_count++] = fd;
    accept_balance_count(place->shares[which], 1);
    return true;
}

/* A refused share waits at most 1 ms: a second question within that time is refused too unless
 * something changed. So only the first question after a success has a certain answer. */
static void who_has_more_leaves_it_to_the_other(void **state) {
    (void)state;
    struct place place;
    open_place(&place, 100);
    assert_true(accepts(&place, 0));
    assert_true(accepts(&place, 0));
    assert_false(accepts(&place, 0)); /* 2 and 0 */
    assert_true(accepts(&place, 1));
    assert_true(accepts(&place, 1));
    assert_true(accepts(&place, 1));
    accept_balance_count(place.shares[0], -1);
    assert_true(accepts(&place, 0)); /* 1 and 3 */
    close_place(&place);
}

static void but_not_for_long(void **state) {
    (void)state;
    struct place place;
    open_place(&place, 100);
    int refused = 0;
    for (int taken = 0; taken < CLIENTS;) accepts(&place, 0) ? taken++ : refused++;
    assert_true(refused > 0);
    close_place(&place);
}

static void who_is_full_or_has_left_is_not_waited_for(void **state) {
    (void)state;
    struct place place;
    open_place(&place, 4);
    accept_balance_count(place.shares[1], 4);
    for (int i = 0; i < 3; i++) assert_true(accepts(&place, 0));
    accept_balance_count(place.shares[1], -4);
    accept_balance_leave(place.shares[1]);
    for (int i = 0; i < 3; i++) assert_true(accepts(&place, 0));
    assert_false(accept_balance_leaves(NULL)); /* without a balance every connection is accepted */
    close_place(&place);
}

static void there_are_no_more_shares_than_fit(void **state) {
    (void)state;
    static struct accept_balance balance;
    for (int i = 0; i < ACCEPT_SHARES_MAX; i++) assert_non_null(accept_balance_join(&balance, 1));
    assert_null(accept_balance_join(&balance, 1));
    for (int i = 0; i < ACCEPT_SHARES_MAX; i++) accept_balance_leave(&balance.shares[i]);
    accept_balance_leave(NULL);
    accept_balance_count(NULL, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_more_leaves_it_to_the_other),
        cmocka_unit_test(but_not_for_long),
        cmocka_unit_test(who_is_full_or_has_left_is_not_waited_for),
        cmocka_unit_test(there_are_no_more_shares_than_fit),
    };
    return cmocka_run_group_tests_name("accept_balance", tests, NULL, NULL);
}
