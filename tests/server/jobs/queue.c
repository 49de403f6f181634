// SPDX-License-Identifier: Apache-2.0
/* The order of those that wait, the bound, and removal, beside a plain list. */
#include "server/jobs/queue.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void order_is_first_come(void **state) {
    (void)state;
    struct queue *queue = queue_create(3, 8);
    assert_int_equal(queue_first(queue), -1);
    assert_true(queue_push(queue, 5));
    assert_true(queue_push(queue, 0));
    assert_true(queue_push(queue, 7));
    assert_int_equal(queue_length(queue), 3);
    assert_int_equal(queue_first(queue), 5);
    assert_int_equal(queue_next(queue, 5), 0);
    assert_int_equal(queue_next(queue, 0), 7);
    assert_int_equal(queue_next(queue, 7), -1);
    queue_destroy(queue);
}

static void full_refuses_but_not_those_who_come_back(void **state) {
    (void)state;
    struct queue *queue = queue_create(2, 8);
    assert_true(queue_push(queue, 1));
    assert_true(queue_push(queue, 2));
    assert_false(queue_push(queue, 3));
    queue_push_front(queue, 3);
    assert_int_equal(queue_first(queue), 3);
    assert_int_equal(queue_length(queue), 3);
    queue_destroy(queue);
}

static void removal_anywhere(void **state) {
    (void)state;
    struct queue *queue = queue_create(8, 8);
    for (int slot = 0; slot < 5; slot++) queue_push(queue, slot);
    assert_true(queue_remove(queue, 2));
    assert_false(queue_remove(queue, 2));
    assert_true(queue_remove(queue, 0));
    assert_true(queue_remove(queue, 4));
    assert_int_equal(queue_first(queue), 1);
    assert_int_equal(queue_next(queue, 1), 3);
    assert_int_equal(queue_next(queue, 3), -1);
    assert_true(queue_push(queue, 2));
    assert_int_equal(queue_next(queue, 3), 2);
    queue_destroy(queue);
}

/* Against a plain array, over many random steps. */
static void equals_a_plain_list(void **state) {
    (void)state;
    enum { SLOTS = 6 };
    struct queue *queue = queue_create(SLOTS, SLOTS);
    int list[SLOTS], length = 0;
    uint32_t seed = 1;
    for (int step = 0; step < 20000; step++) {
        noise_next(&seed);
        const int slot = (int)((seed >> 16) % SLOTS), what = (int)((seed >> 28) % 3);
        int at = 0;
        while (at < length && list[at] != slot) at++;
        if (what == 0 || at < length) {
            assert_int_equal(queue_remove(queue, slot), at < length);
            if (at == length) continue;
            length--;
            for (int i = at; i < length; i++) list[i] = list[i + 1];
        } else if (what == 1) {
            assert_true(queue_push(queue, slot));
            list[length++] = slot;
        } else {
            queue_push_front(queue, slot);
            for (int i = length++; i > 0; i--) list[i] = list[i - 1];
            list[0] = slot;
        }
        int walked = queue_first(queue);
        for (int i = 0; i < length; i++, walked = queue_next(queue, walked))
            assert_int_equal(walked, list[i]);
        assert_int_equal(walked, -1);
        assert_int_equal(queue_length(queue), length);
    }
    queue_destroy(queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_first_come),
        cmocka_unit_test(full_refuses_but_not_those_who_come_back),
        cmocka_unit_test(removal_anywhere),
        cmocka_unit_test(equals_a_plain_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
