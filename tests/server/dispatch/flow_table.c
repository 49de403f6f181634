// SPDX-License-Identifier: Apache-2.0
/* Flows are found again while they are busy and, of the idle ones, the last; the rest are
 * forgotten. */
#include "server/dispatch/flow_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BUSY = 8 };

static struct in6_addr client(int number) {
    struct in6_addr address = IN6ADDR_ANY_INIT;
    memcpy(&address.s6_addr[4], &number, sizeof number);
    return address;
}

static int take(struct flow_table *table, int number) {
    const struct in6_addr address = client(number);
    const int found = flow_table_take(table, &address);
    assert_memory_equal(&flow_table_at(table, found)->client, &address, sizeof address);
    return found;
}

static void busy_ones_stay_and_the_oldest_idle_one_goes(void **state) {
    (void)state;
    struct flow_table *table = flow_table_create(BUSY);
    int kept[BUSY];
    for (int i = 0; i < BUSY; i++) {
        kept[i] = take(table, i);
        struct flow *flow = flow_table_at(table, kept[i]);
        assert_int_equal(flow->first, -1);
        flow->waiting = 1;
        flow->start_ms = 100 + i;
    }
    for (int i = 0; i < 1000; i++) { /* others come and go */
        const int other = take(table, 1000 + i);
        assert_true(flow_table_at(table, other)->start_ms < 1);
        flow_table_at(table, other)->start_ms = i;
        flow_table_idle(table, other);
    }
    for (int i = 0; i < BUSY; i++) assert_int_equal(take(table, i), kept[i]);
    /* BUSY idle ones are left: the last, from the oldest on */
    for (int i = 1000 - BUSY; i < 1000; i++) {
        const int other = take(table, 1000 + i);
        assert_true(flow_table_at(table, other)->start_ms > i - 0.5);
        flow_table_idle(table, other);
    }
    flow_table_idle(table, take(table, 5000));
    assert_true(flow_table_at(table, take(table, 1000 + 1000 - BUSY))->start_ms < 1); /* anew */
    flow_table_destroy(table);
}

static void one_that_was_idle_is_busy_again(void **state) {
    (void)state;
    struct flow_table *table = flow_table_create(2);
    const int first = take(table, 1);
    flow_table_at(table, first)->start_ms = 7;
    flow_table_idle(table, first);
    assert_int_equal(take(table, 1), first);
    flow_table_at(table, first)->waiting = 1;
    for (int i = 0; i < 20; i++) flow_table_idle(table, take(table, 100 + i));
    assert_int_equal(take(table, 1), first);
    assert_true(flow_table_at(table, first)->start_ms > 6);
    flow_table_destroy(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_ones_stay_and_the_oldest_idle_one_goes),
        cmocka_unit_test(one_that_was_idle_is_busy_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
