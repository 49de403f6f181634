// SPDX-License-Identifier: Apache-2.0
/* Demands, on a clock of the test's own: when they begin and end, how much must become free, and
 * which rate is required meanwhile.
 *
 * covers: server/http/engine/eviction.c */
#include "server/http/engine/deadline_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SLOTS = 320, BYTES = 16000, PATIENCE_MS = 1000, BASE = 100, MOST = 1000 };
#define AT(ms) ((ms)*MS_NS)

static int64_t rooms[RESOURCES];

static int64_t room(const void *context, enum resource resource) {
    return ((const int64_t *)context)[resource];
}

static struct pressure begin(int64_t slots, int64_t bodies, int64_t answers) {
    const struct pressure_options options = { .room = room,
                                              .context = rooms,
                                              .total = { SLOTS, BYTES, BYTES },
                                              .patience_ms = PATIENCE_MS,
                                              .rate_max_bytes = MOST };
    struct pressure pressure;
    rooms[RESOURCE_SLOTS] = slots;
    rooms[RESOURCE_BODIES] = bodies;
    rooms[RESOURCE_ANSWERS] = answers;
    pressure_init(&pressure, &options);
    return pressure;
}

static void nothing_without_a_report(void **state) {
    (void)state;
    struct pressure pressure = begin(0, 0, -5);
    assert_false(pressure_look(&pressure, AT(0)));
    for (int r = 0; r < RESOURCES; r++) assert_int_equal(pressure_missing(&pressure, r), 0);
    pressure_init(&pressure, NULL);
    assert_true(pressure_report(&pressure, RESOURCE_SLOTS, 1));
    assert_false(pressure_look(&pressure, AT(0)));
}

static void one_wakes_the_thread(void **state) {
    (void)state;
    struct pressure pressure = begin(0, 0, 0);
    for (int round = 0; round < 3; round++) {
        assert_true(pressure_report(&pressure, RESOURCE_BODIES, 0));
        assert_false(pressure_report(&pressure, RESOURCE_BODIES, 7));
        assert_true(pressure_report(&pressure, RESOURCE_SLOTS, 1));
        assert_true(pressure_look(&pressure, AT(round)));
    }
}

static void enough_becomes_free(void **state) {
    (void)state;
    struct pressure pressure = begin(0, 900, -300);
    pressure_report(&pressure, RESOURCE_SLOTS, 1);
    pressure_report(&pressure, RESOURCE_BODIES, 5000);
    pressure_report(&pressure, RESOURCE_BODIES, 950);
    pressure_report(&pressure, RESOURCE_ANSWERS, 1);
    assert_true(pressure_look(&pressure, AT(0)));
    assert_int_equal(pressure_missing(&pressure, RESOURCE_SLOTS), SLOTS / 16);
    assert_int_equal(pressure_missing(&pressure, RESOURCE_BODIES), 5000 - 900);
    assert_int_equal(pressure_missing(&pressure, RESOURCE_ANSWERS), BYTES / 16 + 300);
    pressure_report(&pressure, RESOURCE_BODIES, 10 * BYTES); /* never more than there can be */
    assert_true(pressure_look(&pressure, AT(1)));
    assert_int_equal(pressure_missing(&pressure, RESOURCE_BODIES), BYTES - 900);
}

static void a_demand_ends(void **state) {
    (void)state;
    struct pressure pressure = begin(0, 100, BYTES);
    pressure_report(&pressure, RESOURCE_BODIES, 101);
    assert_true(pressure_look(&pressure, AT(0)));
    assert_true(pressure_look(&pressure, AT(2 * PATIENCE_MS - 1)));
    rooms[RESOURCE_BODIES] = 101; /* by room */
    assert_false(pressure_look(&pressure, AT(2 * PATIENCE_MS - 1)));
    rooms[RESOURCE_BODIES] = 0;
    assert_false(pressure_look(&pressure, AT(2 * PATIENCE_MS - 1)));
    pressure_report(&pressure, RESOURCE_BODIES, 0); /* by time */
    assert_true(pressure_look(&pressure, AT(5000)));
    assert_true(pressure_look(&pressure, AT(5000 + 2 * PATIENCE_MS - 1)));
    assert_false(pressure_look(&pressure, AT(5000 + 2 * PATIENCE_MS)));
}

static void the_rate_rises_and_falls(void **state) {
    (void)state;
    struct pressure pressure = begin(0, 0, 0);
    const int64_t rising[] = { 100, 200, 400, 800, 1000, 1000 };
    const int64_t falling[] = { 1000, 800, 400, 200, 100, 100 };
    for (int i = 0; i < 6; i++) {
        pressure_report(&pressure, RESOURCE_SLOTS, 1);
        assert_true(pressure_look(&pressure, AT(100 * i)));
        assert_int_equal(pressure_rate(&pressure, RESOURCE_SLOTS, BASE), rising[i]);
        assert_int_equal(pressure_rate(&pressure, RESOURCE_SLOTS, 5000), 5000); /* never below */
        assert_int_equal(pressure_rate(&pressure, RESOURCE_BODIES, BASE), BASE);
        if (i < 4) pressure_raise(&pressure, RESOURCE_SLOTS, SLOTS, AT(100 * i));
    }
    rooms[RESOURCE_SLOTS] = SLOTS;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pressure_look(&pressure, AT(500 + 500 * i)), i < 4);
        assert_int_equal(pressure_rate(&pressure, RESOURCE_SLOTS, BASE), falling[i]);
    }
}

static void the_rate_stays(void **state) {
    (void)state;
    struct pressure pressure = begin(0, 0, 0);
    pressure_report(&pressure, RESOURCE_SLOTS, 0); /* nobody was refused */
    pressure_report(&pressure, RESOURCE_BODIES, 1);
    pressure_look(&pressure, AT(0));
    pressure_raise(&pressure, RESOURCE_SLOTS, SLOTS, AT(0));
    pressure_raise(&pressure, RESOURCE_BODIES, BYTES / 4 - 1, AT(0)); /* jobs hold it */
    assert_int_equal(pressure_rate(&pressure, RESOURCE_SLOTS, BASE), BASE);
    assert_int_equal(pressure_rate(&pressure, RESOURCE_BODIES, BASE), BASE);
    pressure_raise(&pressure, RESOURCE_BODIES, BYTES / 4, AT(0));
    assert_int_equal(pressure_rate(&pressure, RESOURCE_BODIES, BASE), 2 * BASE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_without_a_report), cmocka_unit_test(one_wakes_the_thread),
        cmocka_unit_test(enough_becomes_free),      cmocka_unit_test(a_demand_ends),
        cmocka_unit_test(the_rate_rises_and_falls), cmocka_unit_test(the_rate_stays),
    };
    return cmocka_run_group_tests_name("pressure", tests, NULL, NULL);
}
