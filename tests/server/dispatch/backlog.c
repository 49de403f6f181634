// SPDX-License-Identifier: Apache-2.0
/* The wait of one more job, against numbers worked out by hand. */
#include "server/dispatch/forecast.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t ms_ns = 1000000;

static struct backlog make(int lanes, bool cpu) {
    struct backlog backlog = { .lanes = 0 };
    backlog_set_lanes(&backlog, lanes, 0, cpu);
    return backlog;
}

static struct backlog_job add(struct backlog *backlog, double ms, int64_t now) {
    const struct backlog_job job = backlog_job(backlog, ms, false, now);
    backlog_add(backlog, &job);
    return job;
}

static double wait_ms(const struct backlog *backlog, double ms, int64_t now) {
    const struct backlog_job job = backlog_job(backlog, ms, false, now);
    return backlog_wait_ms(backlog, &job, now);
}

#define CHECK(value, expected) assert_float_equal((float)(value), (float)(expected), 0.001F)

static void a_free_lane_is_no_wait(void **state) {
    (void)state;
    struct backlog backlog = make(4, true);
    for (int i = 0; i < 4; i++) {
        CHECK(wait_ms(&backlog, 10, 0), 0);
        add(&backlog, 10, 0);
    }
    CHECK(wait_ms(&backlog, 10, 0), 2.5); /* the first of four that end evenly spread */
    for (int i = 0; i < 4; i++) add(&backlog, 10, 0);
    CHECK(wait_ms(&backlog, 10, 0), 12.5);
}

/* A GPU does six times a lone job's work. */
static void a_gpu_is_faster_than_its_lanes(void **state) {
    (void)state;
    struct backlog backlog = make(4, false);
    for (int i = 0; i < 30; i++) add(&backlog, 0.3, 0);
    CHECK(wait_ms(&backlog, 0.3, 0), 9.0 * 27 / 30 / 6);
}

static void short_ones_wait_for_short_ones_alone(void **state) {
    (void)state;
    struct backlog backlog = make(4, false);
    for (int i = 0; i < 3; i++) add(&backlog, 1000, 0);
    assert_int_equal(backlog.longs, 3);
    CHECK(wait_ms(&backlog, 0.3, 0), 0);
    add(&backlog, 0.3, 0);
    CHECK(wait_ms(&backlog, 0.3, 0), 0.3 / (6 * 0.25)); /* one lane of four is theirs */
    CHECK(wait_ms(&backlog, 9.99, 0), 0.3 / (6 * 0.25));
}

static void a_long_one_waits_for_long_ones_to_end(void **state) {
    (void)state;
    struct backlog backlog = make(3, true);
    add(&backlog, 600, 0);
    CHECK(wait_ms(&backlog, 600, 0), 0);
    add(&backlog, 600, 0);
    CHECK(wait_ms(&backlog, 600, 0), 1200.0 / 2 / 2);
    CHECK(wait_ms(&backlog, 600, 500 * ms_ns), 200.0 / 2 / 2);   /* most of it is done */
    CHECK(wait_ms(&backlog, 600, 5000 * ms_ns), 8800.0 / 2 / 2); /* as late as they are */
}

static void the_only_lane_is_shared(void **state) {
    (void)state;
    struct backlog backlog = make(1, true);
    add(&backlog, 1000, 0);
    CHECK(wait_ms(&backlog, 1, 0), 1000);
    add(&backlog, 5, 0);
    CHECK(wait_ms(&backlog, 1, 400 * ms_ns), 605);
}

/* A CPU with two cores has two lanes each for short, medium and long jobs. */
static void lanes_that_are_apart_wait_for_their_own_kind(void **state) {
    (void)state;
    struct backlog backlog = make(2, true);
    backlog.apart = true;
    assert_int_equal(backlog_job(&backlog, 9.9, false, 0).duration, JOB_SHORT);
    assert_int_equal(backlog_job(&backlog, 10, false, 0).duration, JOB_MEDIUM);
    assert_int_equal(backlog_job(&backlog, 499, false, 0).duration, JOB_MEDIUM);
    assert_int_equal(backlog_job(&backlog, 500, false, 0).duration, JOB_LONG);
    for (int i = 0; i < 4; i++) add(&backlog, 10000, 0);
    CHECK(wait_ms(&backlog, 1, 0), 0);
    CHECK(wait_ms(&backlog, 100, 0), 0);
    CHECK(wait_ms(&backlog, 10000, 0), 40000.0 * 3 / 4 / 2);
    for (int i = 0; i < 3; i++) add(&backlog, 100, 0);
    CHECK(wait_ms(&backlog, 1, 0), 0);
    CHECK(wait_ms(&backlog, 100, 0), 300.0 * 2 / 3 / 2);
    const struct backlog_job last = add(&backlog, 4, 0);
    add(&backlog, 4, 0);
    CHECK(wait_ms(&backlog, 1, 0), 8.0 * 1 / 2 / 2);
    CHECK(wait_ms(&backlog, 10000, 0), 40000.0 * 3 / 4 / 2);
    backlog_remove(&backlog, &last);
    CHECK(wait_ms(&backlog, 1, 0), 0);
}

/* On a GPU with lanes for many, jobs abreast are medium ones. */
static void jobs_abreast_are_not_long(void **state) {
    (void)state;
    struct backlog backlog = make(4, false);
    assert_int_equal(backlog_job(&backlog, 9, true, 0).duration, JOB_SHORT);
    assert_int_equal(backlog_job(&backlog, 10, true, 0).duration, JOB_LONG);
    backlog.many = 8;
    assert_int_equal(backlog_job(&backlog, 0.1, true, 0).duration, JOB_MEDIUM);
    assert_int_equal(backlog_job(&backlog, 499, true, 0).duration, JOB_MEDIUM);
    assert_int_equal(backlog_job(&backlog, 500, true, 0).duration, JOB_LONG);
    assert_int_equal(backlog_job(&backlog, 0.1, false, 0).duration, JOB_SHORT);
    assert_int_equal(backlog_job(&backlog, 10, false, 0).duration, JOB_LONG);
    const struct backlog_job job = backlog_job(&backlog, 20, true, 0);
    for (int i = 0; i < 8; i++) backlog_add(&backlog, &job);
    CHECK(wait_ms(&backlog, 0.3, 0), 0); /* it has its own lanes */
    CHECK(backlog_wait_ms(&backlog, &job, 0), 8 * 20.0 * (8 - 3) / 8 / 4); /* four at once */
    struct backlog cpu = make(2, true);
    cpu.apart = true;
    assert_int_equal(backlog_job(&cpu, 499, true, 0).duration, JOB_MEDIUM);
    assert_int_equal(backlog_job(&cpu, 9, true, 0).duration, JOB_SHORT);
}

/* One job has a GPU's video engines at a time, however long it takes. */
static void jobs_for_engines_wait_for_one_another(void **state) {
    (void)state;
    struct backlog backlog = make(4, false);
    struct forecast_round round = { .now = 0 };
    const struct forecast_job slow = { .own_ms = { 9000 }, .engine = true, .engine_ms = 30 };
    const struct forecast_job quick = { .own_ms = { 7 }, .engine = true, .engine_ms = 2 };
    backlog.many = 8;
    round.backlogs[0] = backlog;
    const struct backlog_job first = forecast_reserve(&round, &slow, 0);
    assert_int_equal(first.duration, JOB_ENGINE);
    CHECK(first.ms, 9000);
    for (int i = 0; i < 15; i++) {
        CHECK(backlog_wait_ms(&round.backlogs[0], &first, 0), 30 + 2 * i);
        assert_true(backlog_has_room(&round.backlogs[0], JOB_ENGINE, true));
        forecast_reserve(&round, &quick, 0);
    }
    assert_false(backlog_has_room(&round.backlogs[0], JOB_ENGINE, true));
    assert_true(backlog_has_room(&round.backlogs[0], JOB_MEDIUM, true));
    CHECK(wait_ms(&round.backlogs[0], 0.3, 0), 0); /* others run kernels meanwhile */
    CHECK(wait_ms(&round.backlogs[0], 30, 0), 0);
    backlog_remove(&round.backlogs[0], &first);
    assert_true(backlog_has_room(&round.backlogs[0], JOB_ENGINE, true));
    CHECK(backlog_wait_ms(&round.backlogs[0], &first, 0), 30);
}

static bool has_room(const struct backlog *backlog, double ms) {
    return backlog_has_room(backlog, backlog_job(backlog, ms, false, 0).duration, true);
}

/* One long and one medium job a lane, and as many short ones as fill six milliseconds. */
static void lanes_that_are_apart_have_room_of_their_own(void **state) {
    (void)state;
    struct backlog backlog = make(2, true);
    backlog.apart = true;
    for (int i = 0; i < 2; i++) {
        assert_true(has_room(&backlog, 10000));
        add(&backlog, 10000, 0);
        assert_true(has_room(&backlog, 100));
        add(&backlog, 100, 0);
    }
    assert_false(has_room(&backlog, 10000));
    assert_false(has_room(&backlog, 100));
    const struct {
        double ms;
        int room;
    } cases[] = { { 9, 2 }, { 3, 4 }, { 1, 12 }, { 0.7, 18 }, { 0.001, 24 } };
    for (int i = 0; i < 5; i++) {
        struct backlog busy = backlog;
        while (has_room(&busy, cases[i].ms)) add(&busy, cases[i].ms, 0);
        assert_int_equal(busy.shorts, cases[i].room);
    }
    for (int i = 0; i < 4; i++) {
        assert_true(backlog_has_room(&backlog, JOB_SHORT, false));
        add(&backlog, 0.001, 0);
    }
    assert_false(backlog_has_room(&backlog, JOB_SHORT, false)); /* their length is unknown */
}

/* An operator that never ends, predicted to take a millisecond, on the only lane. */
static void a_worker_that_does_not_move_is_late(void **state) {
    (void)state;
    struct backlog backlog = make(1, true);
    const struct backlog_job job = add(&backlog, 1, 100 * ms_ns);
    add(&backlog, 1, 105 * ms_ns);
    CHECK(wait_ms(&backlog, 1, 101 * ms_ns), 2);
    CHECK(wait_ms(&backlog, 1, 1099 * ms_ns), 2);
    CHECK(wait_ms(&backlog, 1, 1900 * ms_ns), 1800);
    backlog_complete(&backlog, &job, true, 1900 * ms_ns);
    CHECK(wait_ms(&backlog, 1, 1900 * ms_ns), 1);
    struct backlog more = make(2, true);
    add(&more, 1, 0);
    CHECK(wait_ms(&more, 1, 1900 * ms_ns), 0); /* the other lane is free */
}

static void jobs_that_ended_count_no_more(void **state) {
    (void)state;
    struct backlog backlog = make(2, true);
    struct backlog_job jobs[4];
    for (int i = 0; i < 4; i++) jobs[i] = add(&backlog, i % 2 ? 0.1 : 777, i);
    backlog_remove(&backlog, &jobs[0]);
    backlog_complete(&backlog, &jobs[1], true, 0);
    backlog_complete(&backlog, &jobs[2], true, 0);
    backlog_remove(&backlog, &jobs[3]);
    assert_int_equal(backlog.shorts + backlog.longs, 0);
    CHECK(backlog.short_ms, 0);
    CHECK(backlog.long_end_ms, 0);
}

/* Twenty jobs of 1 ms return in each ms, and there are always more. */
static void speed_is_learned_while_no_lane_is_idle(void **state) {
    (void)state;
    struct backlog backlog = make(4, false);
    struct backlog_job job = { .ms = 1 };
    for (int i = 0; i < 40; i++) backlog_add(&backlog, &job);
    for (int i = 1; i < 20000; i++) {
        backlog_complete(&backlog, &job, true, i * ms_ns / 20);
        backlog_add(&backlog, &job);
    }
    assert_true(backlog.speed > 19 && backlog.speed < 21);
    backlog_set_lanes(&backlog, 4, 0, false); /* it is ready again after a restart */
    assert_true(backlog.speed > 19);
    const double speed = backlog.speed;
    for (int i = 0; i < 38; i++) backlog_remove(&backlog, &job);
    for (int64_t i = 20000; i < 40000; i++) { /* one job at a time says nothing about speed */
        backlog_complete(&backlog, &job, true, i * ms_ns);
        backlog_add(&backlog, &job);
    }
    CHECK(backlog.speed, speed);
}

/* A GPU of four lanes and batches of 32, given 20 jobs at a time, and then 64. */
static void small_batches_are_no_speed(void **state) {
    (void)state;
    struct backlog backlog = { .lanes = 0 };
    struct backlog_job job = { .ms = 1 };
    backlog_set_lanes(&backlog, 4, 2 * 4 * 32, false);
    const double speed = backlog.speed;
    int64_t now = ms_ns;
    for (int i = 0; i < 20; i++) backlog_add(&backlog, &job);
    for (int i = 1; i < 2000; i++, now += ms_ns) {
        backlog_complete(&backlog, &job, true, now);
        backlog_add(&backlog, &job);
    }
    CHECK(backlog.speed, speed);
    for (int i = 20; i < 65; i++) backlog_add(&backlog, &job);
    for (int i = 1; i < 40000; i++, now += ms_ns / 20) {
        backlog_complete(&backlog, &job, true, now);
        backlog_add(&backlog, &job);
    }
    assert_true(backlog.speed > 19 && backlog.speed < 21);
}

/* The same GPU, never with more than 20 jobs: it does 15 ms of work in one, so its speed is at
 * least that; when less comes, the speed stays. A job abreast says nothing. */
static void work_that_was_done_is_the_least_speed(void **state) {
    (void)state;
    struct backlog backlog = { .lanes = 0, .many = 8 };
    struct backlog_job job = { .ms = 1 }, abreast = { .ms = 1000, .duration = JOB_MEDIUM };
    backlog_set_lanes(&backlog, 4, 2 * 4 * 32, false);
    int64_t now = ms_ns;
    for (int i = 0; i < 20; i++) backlog_add(&backlog, &job);
    for (int i = 1; i < 30000; i++, now += ms_ns / 15) {
        backlog_complete(&backlog, &job, true, now);
        backlog_add(&backlog, &job);
        backlog_add(&backlog, &abreast);
        backlog_complete(&backlog, &abreast, true, now);
    }
    assert_true(backlog.speed > 14 && backlog.speed < 16);
    const double speed = backlog.speed;
    for (int i = 1; i < 3000; i++, now += ms_ns / 3) {
        backlog_complete(&backlog, &job, true, now);
        backlog_add(&backlog, &job);
    }
    CHECK(backlog.speed, speed);
}

/* A window ends with the last job of a GPU, which then rests for ten seconds; after that it has
 * more than enough to do, at the same speed. And cores that end jobs sooner than predicted are no
 * more cores. */
static void a_pause_is_no_slowness(void **state) {
    (void)state;
    struct backlog backlog = make(4, false), cores = make(4, true);
    struct backlog_job job = { .ms = 1 };
    const double speed = backlog.speed;
    int64_t now = ms_ns;
    for (int i = 0; i < 17; i++) backlog_add(&backlog, &job);
    for (int i = 0; i < 17; i++, now += 4 * ms_ns) backlog_complete(&backlog, &job, true, now);
    now += 10000 * ms_ns;
    for (int i = 0; i < 60; i++) backlog_add(&backlog, &job);
    for (int i = 0; i < 1000; i++, now += (int64_t)(1e6 / speed)) {
        backlog_complete(&backlog, &job, true, now);
        backlog_add(&backlog, &job);
        assert_true(backlog.speed > 0.95 * speed && backlog.speed < 1.05 * speed);
    }
    cores.apart = true;
    for (int i = 0; i < 3; i++) backlog_add(&cores, &job);
    for (int i = 0; i < 1000; i++, now += ms_ns / 9) {
        backlog_complete(&cores, &job, true, now);
        backlog_add(&cores, &job);
    }
    CHECK(cores.speed, 4);
}

/* Nine of ten clients leave: their jobs of 1 ms return without having been run. */
static void cancelled_jobs_are_no_speed(void **state) {
    (void)state;
    struct backlog backlog = make(4, false);
    struct backlog_job job = { .ms = 1 };
    const double speed = backlog.speed;
    for (int i = 0; i < 40; i++) backlog_add(&backlog, &job);
    for (int64_t i = 1; i < 20000; i++) {
        const int64_t now = (int64_t)((double)i / speed / 10 * 1e6);
        backlog_complete(&backlog, &job, i % 10 == 0, now);
        backlog_add(&backlog, &job);
    }
    assert_true(backlog.speed > speed * 0.95 && backlog.speed < speed * 1.05);
}

/* A worker that died and was restarted has done nothing for a minute. */
static void a_restart_is_no_slowness(void **state) {
    (void)state;
    struct backlog backlog = make(4, false);
    struct backlog_job job = { .ms = 1 };
    const double speed = backlog.speed;
    for (int i = 0; i < 40; i++) backlog_add(&backlog, &job);
    for (int64_t i = 1; i < 1000; i++) {
        backlog_complete(&backlog, &job, true, (int64_t)((double)i / speed * 1e6));
        backlog_add(&backlog, &job);
    }
    backlog_end_window(&backlog);
    for (int64_t i = 1; i < 1000; i++) {
        backlog_complete(&backlog, &job, true, (int64_t)(60e9 + (double)i / speed * 1e6));
        backlog_add(&backlog, &job);
    }
    assert_true(backlog.speed > speed * 0.95 && backlog.speed < speed * 1.05);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_lane_is_no_wait),
        cmocka_unit_test(a_gpu_is_faster_than_its_lanes),
        cmocka_unit_test(short_ones_wait_for_short_ones_alone),
        cmocka_unit_test(a_long_one_waits_for_long_ones_to_end),
        cmocka_unit_test(the_only_lane_is_shared),
        cmocka_unit_test(lanes_that_are_apart_wait_for_their_own_kind),
        cmocka_unit_test(lanes_that_are_apart_have_room_of_their_own),
        cmocka_unit_test(jobs_abreast_are_not_long),
        cmocka_unit_test(jobs_for_engines_wait_for_one_another),
        cmocka_unit_test(a_worker_that_does_not_move_is_late),
        cmocka_unit_test(jobs_that_ended_count_no_more),
        cmocka_unit_test(speed_is_learned_while_no_lane_is_idle),
        cmocka_unit_test(small_batches_are_no_speed),
        cmocka_unit_test(work_that_was_done_is_the_least_speed),
        cmocka_unit_test(a_pause_is_no_slowness),
        cmocka_unit_test(cancelled_jobs_are_no_speed),
        cmocka_unit_test(a_restart_is_no_slowness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
