// SPDX-License-Identifier: Apache-2.0
/* How many jobs a worker takes, when it is healthy, and how long its readings count. */
#include "server/dispatch/worker_handle.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* No process has that number, so a kill by mistake hits none. */
enum { NO_PROCESS = 1 << 30 };

/* How many healthy jobs it takes, up to 9. */
static int taken(bool cpu, bool operators) {
    struct worker_handle worker = { .cpu = cpu, .operators = operators, .capacity = 4 };
    const struct job job = { .deaths = 0 };
    while (worker.running < 9 && worker_handle_has_room(&worker, &job)) worker.running++;
    return worker.running;
}

static void room_is_what_the_worker_said(void **state) {
    (void)state;
    assert_int_equal(taken(false, false), 4);
    assert_int_equal(taken(true, true), 4);
    assert_int_equal(taken(true, false), 9); /* the backlog limits them by duration */
}

static void a_suspect_is_alone(void **state) {
    (void)state;
    struct worker_handle worker = { .cpu = true, .capacity = 4, .running = 1 };
    const struct job suspect = { .deaths = 1 }, other = { .deaths = 0 };
    assert_false(worker_handle_has_room(&worker, &suspect));
    assert_true(worker_handle_has_room(&worker, &other));
    worker.running = 0;
    assert_true(worker_handle_has_room(&worker, &suspect));
    worker.alone = true;
    assert_false(worker_handle_has_room(&worker, &other));
}

static const struct slots_files no_slots = { STDIN_FILENO, STDIN_FILENO };
static const int64_t second_ns = 1000000000;

static struct gauges gauges_at(const struct worker_handle *worker, int64_t now) {
    struct worker_facts facts;
    worker_handle_describe(worker, now, 5 * second_ns, &facts);
    return facts.gauges;
}

/* This program again: see main. */
static void start(struct worker_handle *worker) {
    const struct worker_process process = worker_handle_launch(worker, no_slots, NULL, 0);
    assert_true(worker_handle_start(worker, &process));
}

static void gauges_are_shown_while_they_are_fresh(void **state) {
    (void)state;
    struct worker_handle worker;
    struct message message = { .kind = CHANNEL_GAUGES, .gauges = { .known = 0 } };
    worker_handle_init(&worker, "cuda:0", false);
    worker.pid = NO_PROCESS;
    assert_int_equal(gauges_at(&worker, clock_ns()).known, 0); /* no readings so far */
    gauges_set(&message.gauges, GAUGE_ENERGY, 4711);
    const int64_t before = clock_ns();
    worker_handle_receive(&worker, &message);
    assert_int_equal(gauges_at(&worker, clock_ns()).known, 1u << GAUGE_ENERGY);
    assert_int_equal(gauges_at(&worker, before + 15 * second_ns).values[GAUGE_ENERGY], 4711);
    assert_int_equal(gauges_at(&worker, clock_ns() + 15 * second_ns + 1).known, 0);
    message.gauges.known = 0; /* the next message replaces all readings */
    worker_handle_receive(&worker, &message);
    assert_int_equal(gauges_at(&worker, clock_ns()).known, 0);
}

/* Readings end with the process that sent them. */
static void gauges_end_with_their_worker(void **state) {
    (void)state;
    struct worker_handle worker;
    struct worker_facts facts;
    struct message message = { .kind = CHANNEL_GAUGES, .gauges = { .known = 0 } };
    gauges_set(&message.gauges, GAUGE_UTILIZATION, 99);
    worker_handle_init(&worker, "cuda:0", false);
    worker.pid = NO_PROCESS;
    worker_handle_receive(&worker, &message);
    worker_handle_describe(&worker, clock_ns(), second_ns, &facts);
    assert_true(facts.alive && gauges_has(&facts.gauges, GAUGE_UTILIZATION));
    worker.pid = 0;
    worker_handle_describe(&worker, clock_ns(), second_ns, &facts);
    assert_false(facts.alive || gauges_has(&facts.gauges, GAUGE_UTILIZATION));
    start(&worker);
    worker_handle_describe(&worker, clock_ns(), second_ns, &facts);
    assert_true(facts.alive && facts.gauges.known == 0);
    worker_handle_close(&worker);
    while (!worker_handle_reap(&worker)) usleep(1000);
}

/* Each kind of message is for its own part of the worker. */
static void each_kind_of_message_has_its_effect(void **state) {
    (void)state;
    struct worker_handle worker;
    struct worker_facts facts;
    worker_handle_init(&worker, "cuda:1", false);
    worker.pid = NO_PROCESS;
    worker_handle_receive(
        &worker,
        &(struct message){
            .kind = CHANNEL_READY, .capacity = 8, .lanes = 2, .thread = 9, .text = "a GPU" });
    worker_handle_describe(&worker, clock_ns(), second_ns, &facts);
    assert_true(facts.healthy && !facts.cpu && facts.capacity == 8 && facts.gauges.known == 0);
    assert_string_equal(facts.name, "a GPU");
    worker.self_test_pending = true;
    worker_handle_receive(
        &worker, &(struct message){ .kind = CHANNEL_SELF_TESTED, .ok = 0, .text = "wrong" });
    worker_handle_receive(&worker,
                          &(struct message){ .kind = CHANNEL_GAUGES, .gauges = { .known = 0 } });
    worker_handle_describe(&worker, clock_ns(), second_ns, &facts);
    assert_true(facts.alive && !facts.healthy);
    assert_string_equal(facts.trouble, "wrong");
    assert_string_equal(facts.name, "a GPU");
}

/* Heartbeats make up for a lost READY. */
static void a_heartbeat_makes_a_worker_ready(void **state) {
    (void)state;
    struct worker_handle worker;
    struct message beat = { .kind = CHANNEL_HEARTBEAT, .thread = 12 };
    worker_handle_init(&worker, "cuda:1", false);
    worker.pid = NO_PROCESS;
    worker_handle_receive(&worker, &beat);
    assert_false(worker_handle_healthy(&worker)); /* its lanes are not open yet */
    beat.capacity = 8;
    beat.lanes = 2;
    strcpy(beat.text, "a GPU");
    worker_handle_receive(&worker, &beat);
    assert_true(worker_handle_healthy(&worker));
    assert_string_equal(worker.name, "a GPU");
    worker.self_test_ok = false;
    worker_handle_receive(&worker, &beat); /* that was long ago */
    assert_false(worker_handle_healthy(&worker));
}

/* ---- stillness: a worker, ready since 0, whose front looks at it every tenth of a second */

enum { START_S = 60 }; /* time to open the device */

static bool check_at(struct worker_handle *worker, int64_t now, int64_t self_test_ns) {
    return worker_handle_check(
        worker, now, &(struct worker_patience){ START_S * second_ns, self_test_ns, second_ns / 2 });
}

static bool check(struct worker_handle *worker, int64_t now_s) {
    return check_at(worker, now_s * second_ns, 5 * second_ns);
}

/* A stopped process, which the kernel reports as such. */
static pid_t stopped;

static void begin_stopped(void) {
    stopped = fork();
    if (stopped == 0) {
        alarm(60);
        for (;;) pause();
    }
    assert_true(stopped > 0);
    kill(stopped, SIGSTOP);
    assert_int_equal(waitpid(stopped, NULL, WUNTRACED), stopped);
}

static void end_stopped(void) {
    kill(stopped, SIGKILL);
    while (waitpid(stopped, NULL, 0) != stopped) continue;
}

static struct worker_handle ready_worker(int running) {
    struct worker_handle worker;
    worker_handle_init(&worker, "cuda:0", false);
    worker.pid = NO_PROCESS;
    worker.ready = worker.self_test_ok = true;
    worker.running = running;
    return worker;
}

struct sight {
    double ill_s, lost_s; /* 0: never */
};

enum { LOOKS_A_SECOND = 20 };

/* Heartbeats come until BEATS_S, a lane makes progress until MOVES_S, no self-test is answered. */
static struct sight watch(struct worker_handle *worker, double seconds, double beats_s,
                          double moves_s, int64_t every_ns) {
    struct sight sight = { 0, 0 };
    int ends[2];
    assert_true(channel_open(ends));
    worker->channel = ends[0];
    for (int64_t now = 0; now < seconds * 1e9 && !sight.lost_s; now += second_ns / LOOKS_A_SECOND) {
        if (now < beats_s * 1e9) worker->heartbeat_ns = now;
        if (now < moves_s * 1e9) worker_handle_moved(worker, now);
        if (!check_at(worker, now, every_ns)) sight.lost_s = (double)now / 1e9;
        if (!worker_handle_healthy(worker) && !sight.ill_s) sight.ill_s = (double)now / 1e9;
    }
    close(ends[0]);
    close(ends[1]);
    return sight;
}

static void check_sight(struct sight sight, double ill_s, double lost_s) {
    assert_float_equal(sight.ill_s, ill_s, 0.3);
    assert_float_equal(sight.lost_s, lost_s, 0.3);
}

/* The heartbeat is late after a quarter of a second. Half of worker_still_ms later the worker is
 * ill, and after as much again it is lost; its jobs are not blamed. */
static void a_stopped_process_is_ill(void **state) {
    (void)state;
    begin_stopped();
    for (int running = 0; running < 2; running++) {
        struct worker_handle worker = ready_worker(running);
        worker.pid = worker.heartbeat_thread = stopped;
        const struct sight sight = watch(&worker, 100, 2, 100, 5 * second_ns);
        assert_float_equal(sight.ill_s, 2 + 0.25 + 0.25, 0.12);
        assert_float_equal(sight.lost_s, 2 + 0.25 + 0.5, 0.12);
        assert_true(worker.stood_still);
    }
    end_stopped();
}

/* The kernel reports nothing: a disk, or a front without permission. */
static void a_silent_process_in_an_unknown_state_is_ill_later(void **state) {
    (void)state;
    struct worker_handle worker = ready_worker(0);
    worker.heartbeat_thread = 0;
    check_sight(watch(&worker, 100, 2, 100, 5 * second_ns), 2 + 0.25 + 7.5, 2 + 0.25 + 15);
}

/* Its lanes wait for a core too, and cannot be judged meanwhile. */
static void a_worker_that_waits_for_a_core_is_healthy(void **state) {
    (void)state;
    const pid_t hog = fork();
    if (hog == 0) {
        alarm(60);
        for (volatile unsigned i = 0;; i++) continue;
    }
    struct worker_handle worker = ready_worker(1);
    worker.pid = worker.heartbeat_thread = hog;
    check_sight(watch(&worker, 100, 2, 2, 5 * second_ns), 0, 0);
    kill(hog, SIGKILL);
    while (waitpid(hog, NULL, 0) != hog) continue;
}

static int asked_for(int end) {
    struct message message;
    int count = 0;
    while (channel_take(end, &message, 1, 0) == 1) count += message.kind == CHANNEL_SELF_TEST;
    return count;
}

/* But not while the first is unread. */
static void a_lost_self_test_is_sent_again(void **state) {
    (void)state;
    int ends[2];
    struct worker_handle worker = ready_worker(0);
    assert_true(channel_open(ends));
    worker.channel = ends[0];
    for (int s = 6; s < 12; s++) {
        worker.heartbeat_ns = s * second_ns;
        assert_true(check(&worker, s));
    }
    assert_int_equal(asked_for(ends[1]), 1);
    for (int s = 12; s < 18; s += 2) {
        worker.heartbeat_ns = s * second_ns;
        assert_true(check(&worker, s));
        assert_int_equal(asked_for(ends[1]), 1);
    }
    close(ends[0]);
    close(ends[1]);
}

/* It is sent once a second until the worker answers it, and to no worker without a process or a
 * GPU. */
static void a_gpus_worker_is_asked_to_unpin(void **state) {
    (void)state;
    int ends[2];
    struct message message;
    struct worker_handle worker = ready_worker(0);
    assert_true(channel_open(ends));
    worker.channel = ends[0];
    worker.cpu = true;
    assert_false(worker_handle_unpins(&worker, 3, 1, second_ns));
    worker.cpu = false;
    for (int i = 0; i < 2; i++) {
        for (int tenth = 10; tenth < 40; tenth++) /* not before the last one is read */
            assert_true(worker_handle_unpins(&worker, 3, 1, (3 * i + tenth / 10) * second_ns));
        assert_int_equal(channel_take(ends[1], &message, 1, 0), 1);
        assert_int_equal(message.kind, CHANNEL_UNPIN);
        assert_int_equal(message.slot, 3);
        assert_int_equal(message.run_number, 1);
    }
    assert_int_equal(channel_take(ends[1], &message, 1, 0), -1);
    message = (struct message){ .kind = CHANNEL_UNPINNED, .run_number = 1 };
    worker_handle_receive(&worker, &message);
    assert_false(worker_handle_unpins(&worker, 3, 1, 7 * second_ns));
    assert_true(worker_handle_unpins(&worker, 4, 2, 7 * second_ns));
    worker.channel = -1; /* its process ends, and nothing remains registered */
    assert_false(worker_handle_unpins(&worker, 4, 2, 7 * second_ns));
    close(ends[0]);
    close(ends[1]);
}

static void a_long_job_is_no_illness(void **state) {
    (void)state;
    struct worker_handle worker = ready_worker(4);
    check_sight(watch(&worker, 4000, 4000, 4000, 5 * second_ns), 0, 0);
    assert_true(worker.self_test_pending); /* no lane had time for it */
}

static void lanes_that_hang_are_ill(void **state) {
    (void)state;
    struct worker_handle worker = ready_worker(4);
    check_sight(watch(&worker, 100, 100, 20, 5 * second_ns), 20 + 15.25, 20 + 30.5);
    worker = ready_worker(
        4); /* parts of a job check nothing for a while, even if self_test_ms is short */
    check_sight(watch(&worker, 100, 100, 20, second_ns / 2), 20 + 5, 20 + 10);
}

static void an_idle_worker_must_answer(void **state) {
    (void)state;
    struct worker_handle worker = ready_worker(0);
    check_sight(watch(&worker, 100, 100, 0, 5 * second_ns), 5.1 + 15.25, 5.1 + 30.5);
    worker = ready_worker(0);
    worker.channel = -1; /* no self-test is sent */
    assert_true(check(&worker, 4) && worker_handle_healthy(&worker));
}

/* The length of self_test_ms does not matter. */
static void a_worker_that_never_opens_its_device_is_lost(void **state) {
    (void)state;
    struct worker_handle worker;
    worker_handle_init(&worker, "cuda:0", false);
    worker.pid = NO_PROCESS;
    worker.moved_ns = 7 * second_ns;
    assert_true(check(&worker, 7 + START_S));
    assert_false(check(&worker, 7 + START_S + 1));
    assert_false(worker_handle_healthy(&worker));
    worker_handle_reset_clocks(&worker, 90 * second_ns); /* the front itself stood still */
    assert_true(check(&worker, 90 + START_S));
    assert_false(check(&worker, 90 + START_S + 1));
    worker.killed = true; /* no process is killed twice */
    assert_true(check(&worker, 1000));
}

/* A worker that never opens its device is restarted later and later, up to ten seconds. One that
 * was healthy before is restarted at once. */
static void a_worker_that_dies_early_waits_longer(void **state) {
    (void)state;
    static const int64_t waits_ms[] = { 320, 640, 1280, 2560, 5120, 10240, 10240 };
    struct worker_handle worker;
    worker_handle_init(&worker, "cuda:0", false);
    for (int i = 0; i < 8; i++) {
        start(&worker);
        if (i == 7) worker.ready = worker.self_test_ok = true;
        worker_handle_close(&worker);
        int64_t before = clock_ns();
        while (!worker_handle_reap(&worker)) before = clock_ns();
        const int64_t wait_ns = worker.restart_ns - before;
        const int64_t expected_ns = i == 7 ? 0 : waits_ms[i] * 1000000;
        assert_true(wait_ns >= expected_ns);
        assert_true(worker.restart_ns <= clock_ns() + expected_ns);
    }
    assert_int_equal(worker.restarts, 8);
}

static void a_failed_start_is_tried_again_in_a_second(void **state) {
    (void)state;
    struct worker_handle worker;
    worker_handle_init(&worker, "cpu", false);
    const int64_t before = clock_ns();
    assert_false(worker_handle_start(&worker, &(struct worker_process){ -1, -1, "no room" }));
    assert_true(worker.restart_ns >= before + second_ns && !worker.pid && worker.channel < 0);
    assert_string_equal(worker.trouble, "could not be started: no room");
}

static void a_worker_that_moves_again_is_healthy(void **state) {
    (void)state;
    struct worker_handle worker = ready_worker(1);
    begin_stopped();
    worker.pid = worker.heartbeat_thread = stopped;
    assert_true(watch(&worker, 2.6, 2, 2, 5 * second_ns).ill_s > 0);
    assert_false(worker_handle_healthy(&worker));
    worker.heartbeat_ns = 3 * second_ns;
    worker.channel = -1;
    assert_true(check(&worker, 3) && worker_handle_healthy(&worker));
    worker.heartbeat_ns = 100 * second_ns;                /* heartbeats come */
    assert_false(check(&worker, 100));                    /* but no self-test is answered */
    worker_handle_reset_clocks(&worker, 100 * second_ns); /* the front itself stood still */
    assert_true(check(&worker, 100) && worker_handle_healthy(&worker));
    end_stopped();
}

/* All decoding cells are shown as one worker. */
static void cells_are_shown_together(void **state) {
    (void)state;
    struct worker_facts all = { .trouble = "starting", .decodes = true, .restarts = 2 };
    const struct worker_facts busy = {
        .name = "cpu",
        .alive = true,
        .healthy = true,
        .running = 1,
        .capacity = 1,
        .restarts = 3,
        .cancelled = 7,
        .statistics = { .wait_ms = 700 },
    };
    struct worker_facts idle = busy;
    worker_facts_join(&all, &busy);
    assert_true(all.alive && all.healthy && all.decodes);
    assert_string_equal(all.name, "cpu");
    assert_string_equal(all.trouble, "");
    assert_int_equal(all.restarts, 5);
    assert_int_equal(all.cancelled, 7);
    assert_float_equal(all.statistics.wait_ms, 700, 1e-3F);
    idle.running = 0;
    idle.statistics.wait_ms = 0;
    worker_facts_join(&all, &idle);
    assert_int_equal(all.running, 1);
    assert_int_equal(all.capacity, 2);
    assert_float_equal(all.statistics.wait_ms, 0, 1e-3F); /* the next job's */
    worker_facts_join(&all, &(struct worker_facts){ .trouble = "died", .restarts = 1 });
    assert_true(all.alive && all.healthy && !all.trouble[0]);
    assert_int_equal(all.restarts, 9);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return 0; /* as a worker started by this test */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_is_what_the_worker_said),
        cmocka_unit_test(a_suspect_is_alone),
        cmocka_unit_test(gauges_are_shown_while_they_are_fresh),
        cmocka_unit_test(gauges_end_with_their_worker),
        cmocka_unit_test(each_kind_of_message_has_its_effect),
        cmocka_unit_test(a_heartbeat_makes_a_worker_ready),
        cmocka_unit_test(a_lost_self_test_is_sent_again),
        cmocka_unit_test(a_gpus_worker_is_asked_to_unpin),
        cmocka_unit_test(a_stopped_process_is_ill),
        cmocka_unit_test(a_silent_process_in_an_unknown_state_is_ill_later),
        cmocka_unit_test(a_worker_that_waits_for_a_core_is_healthy),
        cmocka_unit_test(a_long_job_is_no_illness),
        cmocka_unit_test(lanes_that_hang_are_ill),
        cmocka_unit_test(an_idle_worker_must_answer),
        cmocka_unit_test(a_worker_that_never_opens_its_device_is_lost),
        cmocka_unit_test(a_worker_that_dies_early_waits_longer),
        cmocka_unit_test(a_failed_start_is_tried_again_in_a_second),
        cmocka_unit_test(a_worker_that_moves_again_is_healthy),
        cmocka_unit_test(cells_are_shown_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
