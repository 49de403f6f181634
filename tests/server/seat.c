// SPDX-License-Identifier: Apache-2.0
/* How many jobs a seat takes, and how long it believes what it was told. */
#include "server/jobs/seat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

/* A worker of two lanes, one job a batch; how many healthy jobs of JOB_MS it takes. */
static int taken(bool cpu, double job_ms) {
    struct seat seat = { .cpu = cpu, .capacity = 4 };
    const struct job job = { .deaths = 0 };
    while (seat_has_room(&seat, &job, job_ms)) seat.running++;
    return seat.running;
}

static void room_is_what_the_worker_said(void **state) {
    (void)state;
    assert_int_equal(taken(true, 0), 4);  /* nothing known yet */
    assert_int_equal(taken(true, 15), 4); /* a job outlasts the tick */
    assert_int_equal(taken(true, 4), 4);
    assert_int_equal(taken(false, 0.5), 4); /* a GPU has no core to wait for */
}

static void short_jobs_fill_a_tick(void **state) {
    (void)state;
    assert_int_equal(taken(true, 2), 2 + 2 * 2); /* one under way and 4 ms of others, a lane */
    assert_int_equal(taken(true, 1), 2 + 2 * 4);
    assert_int_equal(taken(true, 0.7), 2 + 2 * 5);
    assert_int_equal(taken(true, 0.001), 2 + 2 * 7); /* and no more */
}

static void a_suspect_is_alone(void **state) {
    (void)state;
    struct seat seat = { .cpu = true, .capacity = 4, .running = 1 };
    const struct job suspect = { .deaths = 1 }, other = { .deaths = 0 };
    assert_false(seat_has_room(&seat, &suspect, 1));
    assert_true(seat_has_room(&seat, &other, 1));
    seat.running = 0;
    assert_true(seat_has_room(&seat, &suspect, 1));
    seat.alone = true;
    assert_false(seat_has_room(&seat, &other, 1));
}

static const int64_t second_ns = 1000000000;

static struct gauges gauges_at(const struct seat *seat, int64_t now) {
    struct seat_facts facts;
    seat_describe(seat, now, 5 * second_ns, &facts);
    return facts.gauges;
}

static void gauges_are_told_while_they_are_fresh(void **state) {
    (void)state;
    struct seat seat;
    struct message message = { .kind = CHANNEL_GAUGES, .gauges = { .told = 0 } };
    seat_init(&seat, "cuda:0");
    seat.pid = 1;
    assert_int_equal(gauges_at(&seat, clock_ns()).told, 0); /* nothing was heard so far */
    gauges_tell(&message.gauges, GAUGE_ENERGY, 4711);
    const int64_t before = clock_ns();
    seat_heard(&seat, &message);
    assert_int_equal(gauges_at(&seat, clock_ns()).told, 1u << GAUGE_ENERGY);
    assert_int_equal(gauges_at(&seat, before + 15 * second_ns).values[GAUGE_ENERGY], 4711);
    assert_int_equal(gauges_at(&seat, clock_ns() + 15 * second_ns + 1).told, 0);
    message.gauges.told = 0; /* the next message is the whole truth */
    seat_heard(&seat, &message);
    assert_int_equal(gauges_at(&seat, clock_ns()).told, 0);
}

/* The dead and their successors tell nothing of what the dead had told. */
static void gauges_end_with_their_worker(void **state) {
    (void)state;
    struct seat seat;
    struct seat_facts facts;
    struct message message = { .kind = CHANNEL_GAUGES, .gauges = { .told = 0 } };
    gauges_tell(&message.gauges, GAUGE_UTILIZATION, 99);
    seat_init(&seat, "cuda:0");
    seat.pid = 1;
    seat_heard(&seat, &message);
    seat_describe(&seat, clock_ns(), second_ns, &facts);
    assert_true(facts.alive && gauges_told(&facts.gauges, GAUGE_UTILIZATION));
    seat.pid = 0;
    seat_describe(&seat, clock_ns(), second_ns, &facts);
    assert_false(facts.alive || gauges_told(&facts.gauges, GAUGE_UTILIZATION));
    assert_true(seat_start(&seat, STDIN_FILENO, NULL, 0)); /* this program again: see main */
    seat_describe(&seat, clock_ns(), second_ns, &facts);
    assert_true(facts.alive && facts.gauges.told == 0);
    seat_end(&seat);
}

/* Each kind of message is for its own part of the seat. */
static void messages_are_told_apart(void **state) {
    (void)state;
    struct seat seat;
    struct seat_facts facts;
    seat_init(&seat, "cuda:1");
    seat.pid = 1;
    seat_heard(&seat, &(struct message){ .kind = CHANNEL_READY, .capacity = 8, .text = "a GPU" });
    seat_describe(&seat, clock_ns(), second_ns, &facts);
    assert_true(facts.healthy && !facts.cpu && facts.capacity == 8 && facts.gauges.told == 0);
    assert_string_equal(facts.name, "a GPU");
    seat_heard(&seat, &(struct message){ .kind = CHANNEL_PROBED, .ok = 0, .text = "wrong" });
    seat_heard(&seat, &(struct message){ .kind = CHANNEL_GAUGES, .gauges = { .told = 0 } });
    seat_describe(&seat, clock_ns(), second_ns, &facts);
    assert_true(facts.alive && !facts.healthy);
    assert_string_equal(facts.trouble, "wrong");
    assert_string_equal(facts.name, "a GPU");
}

/* ---- stillness: a seat, ready since 0, whose front looks at it every tenth of a second */

static struct seat ready_seat(int running) {
    struct seat seat;
    seat_init(&seat, "cuda:0");
    seat.pid = 1;
    seat.ready = seat.probe_ok = true;
    seat.running = running;
    return seat;
}

struct sight {
    double ill_s, lost_s; /* when it was seen so; 0: never */
};

/* The pulse beats until BEATS_S, a lane moves until MOVES_S, and no known-answer job is answered.
 */
static struct sight watch(struct seat *seat, double seconds, double beats_s, double moves_s,
                          int64_t every_ns) {
    struct sight sight = { 0, 0 };
    int ends[2];
    assert_true(channel_open(ends));
    seat->channel = ends[0];
    for (int64_t now = 0; now < seconds * 1e9 && !sight.lost_s; now += second_ns / 10) {
        if (now < beats_s * 1e9) seat->pulse_ns = now;
        if (now < moves_s * 1e9) seat_moved(seat, now);
        if (!seat_probe(seat, now, every_ns)) sight.lost_s = (double)now / 1e9;
        if (!seat_healthy(seat) && !sight.ill_s) sight.ill_s = (double)now / 1e9;
    }
    close(ends[0]);
    close(ends[1]);
    return sight;
}

static void check_sight(struct sight sight, double ill_s, double lost_s) {
    assert_float_equal(sight.ill_s, ill_s, 0.3);
    assert_float_equal(sight.lost_s, lost_s, 0.3);
}

static void a_silent_process_is_ill(void **state) {
    (void)state;
    for (int running = 0; running < 2; running++) {
        struct seat seat = ready_seat(running);
        check_sight(watch(&seat, 100, 2, 100, 5 * second_ns), 2 + 15.25, 2 + 30.5);
        seat = ready_seat(running);
        check_sight(watch(&seat, 100, 2, 100, second_ns / 2), 2 + 1.75, 2 + 3.5);
    }
}

static void a_long_job_is_no_illness(void **state) {
    (void)state;
    struct seat seat = ready_seat(4);
    check_sight(watch(&seat, 4000, 4000, 4000, 5 * second_ns), 0, 0);
    assert_true(seat.probe_pending); /* which no lane had time for */
}

static void lanes_that_hang_are_ill(void **state) {
    (void)state;
    struct seat seat = ready_seat(4);
    check_sight(watch(&seat, 100, 100, 20, 5 * second_ns), 20 + 15.25, 20 + 30.5);
    seat = ready_seat(4); /* parts of a job may look at nothing for a while, whatever probe_ms is */
    check_sight(watch(&seat, 100, 100, 20, second_ns / 2), 20 + 5, 20 + 10);
}

static void an_idle_worker_must_answer(void **state) {
    (void)state;
    struct seat seat = ready_seat(0);
    check_sight(watch(&seat, 100, 100, 0, 5 * second_ns), 5.1 + 15.25, 5.1 + 30.5);
    seat = ready_seat(0);
    seat.channel = -1; /* nothing is asked of it */
    assert_true(seat_probe(&seat, 4 * second_ns, 5 * second_ns) && seat_healthy(&seat));
}

static void who_moves_again_is_healthy(void **state) {
    (void)state;
    struct seat seat = ready_seat(1);
    assert_true(watch(&seat, 18, 2, 18, 5 * second_ns).ill_s > 0);
    assert_false(seat_healthy(&seat));
    seat.pulse_ns = 18 * second_ns;
    seat.channel = -1;
    assert_true(seat_probe(&seat, 18 * second_ns, 5 * second_ns) && seat_healthy(&seat));
    assert_true(seat_probe(&seat, 100 * second_ns, 5 * second_ns) == false);
    seat_excuse(&seat, 100 * second_ns); /* it was the front that stood still */
    assert_true(seat_probe(&seat, 100 * second_ns, 5 * second_ns) && seat_healthy(&seat));
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return 0; /* as the worker of gauges_end_with_their_worker */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_is_what_the_worker_said),
        cmocka_unit_test(short_jobs_fill_a_tick),
        cmocka_unit_test(a_suspect_is_alone),
        cmocka_unit_test(gauges_are_told_while_they_are_fresh),
        cmocka_unit_test(gauges_end_with_their_worker),
        cmocka_unit_test(messages_are_told_apart),
        cmocka_unit_test(a_silent_process_is_ill),
        cmocka_unit_test(a_long_job_is_no_illness),
        cmocka_unit_test(lanes_that_hang_are_ill),
        cmocka_unit_test(an_idle_worker_must_answer),
        cmocka_unit_test(who_moves_again_is_healthy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
