// SPDX-License-Identifier: Apache-2.0
/* Addresses that serve one request: used, expired, given back, too many, and clocks that jump. */
#include "server/access/once.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A digest of NUMBER; those of the same PLACE meet. */
static const uint8_t *digest(uint32_t place, uint32_t number) {
    static uint8_t which[ONCE_BYTES];
    memset(which, 0, sizeof which);
    memcpy(which, &place, sizeof place);
    memcpy(which + 8, &number, sizeof number);
    return which;
}

/* EXPIRES and WALL are of one clock, NOW is of the monotonic one. */
static enum once_answer take_at(struct once *once, const uint8_t *which, int64_t expires,
                                int64_t wall, int64_t now) {
    return once_take(once, "shop", which, expires, wall, now);
}

/* Both clocks say NOW. */
static enum once_answer take_of(struct once *once, const char *key, const uint8_t *which,
                                int64_t left_s, int64_t now) {
    return once_take(once, key, which, now + left_s, now, now);
}

static void once_until_it_expires(void **state) {
    struct once *once = *state;
    assert_int_equal(take_of(once, "shop", digest(1, 1), 100, 900), ONCE_TAKEN);
    assert_int_equal(take_of(once, "shop", digest(1, 1), 100, 900), ONCE_USED);
    assert_int_equal(take_of(once, "shop", digest(1, 2), 100, 900), ONCE_TAKEN);
    assert_int_equal(take_of(once, "shop", digest(1, 1), 1, 999), ONCE_USED);
    assert_int_equal(take_of(once, "shop", digest(1, 1), 0, 1000), ONCE_USED); /* expired */
    assert_int_equal(take_of(once, "shop", digest(1, 3), -1, 1001), ONCE_USED);
}

static void given_back(void **state) {
    struct once *once = *state;
    assert_int_equal(take_of(once, "shop", digest(7, 1), 4000, 1000), ONCE_TAKEN);
    assert_int_equal(take_of(once, "shop", digest(7, 2), 4000, 1000), ONCE_TAKEN);
    once_give_back(once, digest(7, 1));
    assert_int_equal(take_of(once, "shop", digest(7, 2), 4000, 1000), ONCE_USED);
    assert_int_equal(take_of(once, "shop", digest(7, 1), 4000, 1000), ONCE_TAKEN);
    once_give_back(once, digest(7, 3)); /* it was not taken */
    assert_int_equal(take_of(once, "shop", digest(7, 1), 4000, 1000), ONCE_USED);
}

/* The clock jumps two days ahead and back while a day's worth of addresses is in use: none serves
 * twice, and new ones serve, during the jump and after it. */
static void the_clock_jumps_ahead_and_back(void **state) {
    static const int64_t start = 1800000000, day = 86400, jump = 2 * 86400;
    struct once *once = *state;
    assert_int_equal(take_of(once, "shop", digest(9, 1), day, 50), ONCE_TAKEN);
    assert_int_equal(take_at(once, digest(9, 2), start + 300, start, 50), ONCE_TAKEN);
    assert_int_equal(take_at(once, digest(9, 3), start + jump + 300, start + jump, 51), ONCE_TAKEN);
    for (uint32_t i = 0; i < 2000; i++) /* would take the entries of what has expired */
        take_at(once, digest(9, 1000 + i), start + jump + 300, start + jump, 51);
    assert_int_equal(take_at(once, digest(9, 1), start + day, start, 52), ONCE_USED);
    assert_int_equal(take_at(once, digest(9, 2), start + 300, start, 52), ONCE_USED);
    assert_int_equal(take_at(once, digest(9, 3), start + jump + 300, start + jump, 52), ONCE_USED);
    assert_int_equal(take_at(once, digest(10000, 4), start + 300, start, 52), ONCE_TAKEN);
    assert_int_equal(take_at(once, digest(10000, 4), start + 300, start, 53), ONCE_USED);
}

/* An address that has expired is refused when the clock is set back, as long as no other needs its
 * entry; the ones that expire later, by either clock, stay in any case. */
static void the_clock_is_set_back(void **state) {
    struct once *once = *state;
    assert_int_equal(take_at(once, digest(9, 1), 2000, 1500, 1500), ONCE_TAKEN);
    assert_int_equal(take_at(once, digest(9, 2), 9000, 8000, 8000), ONCE_TAKEN);
    assert_int_equal(take_at(once, digest(9, 1), 2000, 2000, 8001), ONCE_USED); /* expired */
    assert_int_equal(take_at(once, digest(9, 1), 2000, 1500, 8001), ONCE_USED);
    assert_int_equal(take_at(once, digest(9, 3), 9000, 100, 8001), ONCE_TAKEN);
    assert_int_equal(take_at(once, digest(9, 4), 9000, 8990, 8001), ONCE_TAKEN);
    uint32_t taken = 0;
    while (take_at(once, digest(9, 10 + taken), 9000, 8000, 8050) == ONCE_TAKEN) taken++;
    assert_in_range(taken, 64, 1000);
    assert_int_equal(take_at(once, digest(9, 4), 9000, 8000, 8050), ONCE_USED); /* by one clock */
    assert_int_equal(take_at(once, digest(9, 2), 9000, 100, 8003), ONCE_USED);
    assert_int_equal(take_at(once, digest(9, 3), 9000, 100, 8003), ONCE_USED);
}

/* More at one place than there are entries for; they are free again a second after they have
 * expired. */
static void too_many(void **state) {
    struct once *once = *state;
    uint32_t taken = 0;
    while (taken < 100000 && take_of(once, "shop", digest(3, taken), 1000, 1000) == ONCE_TAKEN)
        taken++;
    assert_in_range(taken, 64, 99999);
    assert_int_equal(take_of(once, "shop", digest(3, taken), 1000, 1000), ONCE_FULL);
    for (uint32_t i = 0; i < taken; i++)
        assert_int_equal(take_of(once, "shop", digest(3, i), 1000, 1000), ONCE_USED);
    assert_int_equal(take_of(once, "shop", digest(60000, 1), 1000, 1000), ONCE_TAKEN);
    assert_int_equal(take_of(once, "shop", digest(3, taken), 1000, 2000), ONCE_FULL);
    assert_int_equal(take_of(once, "shop", digest(3, taken), 1000, 2001), ONCE_TAKEN);
}

/* Digests that are spread as SHA-256 spreads them, of several keys. */
static void many(void **state) {
    static const char *const names[] = { "a", "b", "c", "d" };
    struct once *once = *state;
    uint32_t place = 1, full = 0;
    for (uint32_t i = 0; i < 40000; i++) {
        place = place * 1664525 + 1013904223;
        full += take_of(once, names[i % 4], digest(place >> 8, i), 1000, 1000) == ONCE_FULL;
    }
    assert_int_equal(full, 0);
}

/* COUNT addresses of KEY: how many are taken. */
static int take(struct once *once, const char *key, int count, int64_t expires, int64_t now) {
    static uint32_t place = 1, number;
    int taken = 0;
    for (int i = 0; i < count; i++) {
        place = place * 1664525 + 1013904223;
        taken += take_of(once, key, digest(place >> 8, number++), expires - now, now) == ONCE_TAKEN;
    }
    return taken;
}

/* One key takes no more than its share, and leaves others theirs. What has expired, or was given
 * back, counts no more. */
static void a_share_for_each_key(void **state) {
    struct once *once = *state;
    assert_int_equal(take_of(once, "greedy", digest(5, 1), 8000, 1000), ONCE_TAKEN);
    assert_int_equal(take(once, "greedy", 20000, 2000, 1000), 16383);
    assert_int_equal(take(once, "greedy", 10, 9000, 1999), 0);
    assert_int_equal(take(once, "modest", 10000, 2000, 1000), 10000);
    once_give_back(once, digest(5, 1));
    assert_int_equal(take(once, "greedy", 10, 9000, 1999), 1);
    assert_int_equal(take(once, "greedy", 20000, 9000, 2001), 16383);
}

static int open_one(void **state) {
    *state = once_open();
    return *state ? 0 : 1;
}

static int close_one(void **state) {
    once_close(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(once_until_it_expires, open_one, close_one),
        cmocka_unit_test_setup_teardown(given_back, open_one, close_one),
        cmocka_unit_test_setup_teardown(the_clock_jumps_ahead_and_back, open_one, close_one),
        cmocka_unit_test_setup_teardown(the_clock_is_set_back, open_one, close_one),
        cmocka_unit_test_setup_teardown(too_many, open_one, close_one),
        cmocka_unit_test_setup_teardown(many, open_one, close_one),
        cmocka_unit_test_setup_teardown(a_share_for_each_key, open_one, close_one),
    };
    return cmocka_run_group_tests_name("once", tests, NULL, NULL);
}
