// SPDX-License-Identifier: Apache-2.0
/* Which lane takes which jobs, with lanes that are threads of this test and run nothing. Times are
 * set so that a job is old from the start or never, so that only order and number count. */
#include "server/worker/pending.h"

#include "server/jobs/channel.h"
#include "tests/noise.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 64, LANES_MAX = 4, HANGS_S = 60 };

static struct slots *slots;
static int ends[2];
static struct pending *pending;
static int next_slot;

static void send_run(int slot, uint32_t run_number) {
    const struct message message = { .kind = CHANNEL_RUN, .slot = slot, .run_number = run_number };
    while (!channel_send(ends[0], &message)) usleep(100);
}

static int send_job(const char *plan, bool is_long, bool old) {
    const int slot = next_slot++ % SLOTS;
    struct job *job = slot_job(slots, slot);
    job->plan.length =
        1 + (uint32_t)snprintf((char *)job->plan.bytes, sizeof job->plan.bytes, "%s", plan);
    job->duration = is_long ? JOB_LONG : JOB_SHORT;
    job->own_batch = is_long;
    job->predicted_ms = is_long ? 100 : 1;
    job->submitted_ns = old ? 1 : clock_ns() + INT64_C(3600000000000);
    send_run(slot, ++job->run_number);
    return slot;
}

static void begin(int lanes, int batch) {
    struct failure failure = { 0 };
    const struct slot_options options = { .count = SLOTS, .base_bytes = 4096, .span_bytes = 4096 };
    alarm(HANGS_S);
    slots = slots_create(&options, &failure);
    assert_non_null(slots);
    for (int i = 0; i < SLOTS; i++) assert_true(slot_take(slots, 1, NULL) >= 0);
    assert_true(channel_open(ends));
    next_slot = 0;
    const struct pending_options how = {
        .channel = ends[1], .lanes = lanes, .batch = batch, .capacity = SLOTS, .slots = slots
    };
    pending = pending_create(&how);
    assert_non_null(pending);
}

static void end(void) {
    pending_destroy(pending);
    close(ends[1]);
    slots_destroy(slots);
    alarm(0);
}

/* ---- lanes that keep what they took until release() */

static struct test_lane {
    pthread_t thread;
    sem_t go;
    struct group group;
} lanes[LANES_MAX];
static sem_t taken;
static int lane_of[SLOTS]; /* -1: no lane has the job; atomic */
static int groups_taken;   /* atomic */

static void *lane_main(void *argument) {
    struct test_lane *lane = argument;
    while (pending_take(pending, &lane->group, CHANNEL_FOREVER) == PENDING_TAKEN) {
        for (int i = 0; i < lane->group.count; i++)
            __atomic_store_n(&lane_of[lane->group.slots[i]], (int)(lane - lanes), __ATOMIC_RELEASE);
        __atomic_add_fetch(&groups_taken, 1, __ATOMIC_RELAXED);
        sem_post(&taken);
        sem_wait(&lane->go);
    }
    return NULL;
}

static void start_lanes(int count) {
    sem_init(&taken, 0, 0);
    groups_taken = 0;
    for (int i = 0; i < SLOTS; i++) lane_of[i] = -1;
    for (int i = 0; i < count; i++) {
        lanes[i].group = (struct group){ .count = 0 };
        sem_init(&lanes[i].go, 0, 0);
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]), 0);
    }
}

static void wait_taken(int groups) {
    for (int i = 0; i < groups; i++) sem_wait(&taken);
}

static int lane_with(int slot) {
    return __atomic_load_n(&lane_of[slot], __ATOMIC_ACQUIRE);
}

static void release(int slot) {
    sem_post(&lanes[lane_with(slot)].go);
}

static void end_lanes(int count) {
    close(ends[0]);
    for (int i = 0; i < count; i++) sem_post(&lanes[i].go);
    for (int i = 0; i < count; i++) pthread_join(lanes[i].thread, NULL);
    end();
}

/* ---- groups */

static void check_group(const struct group *of, const int *expected, int count) {
    assert_int_equal(of->count, count);
    assert_memory_equal(of->slots, expected, (size_t)count * sizeof *expected);
    assert_false(of->self_test);
    assert_int_equal(of->unpin.number, 0);
}

/* By one thread, in the place of three lanes. */
static void a_lane_takes_what_is_alike_and_leaves_the_rest(void **state) {
    (void)state;
    struct group first = { .count = 0 }, second = { .count = 0 }, third = { .count = 0 };
    begin(3, 2);
    static const char *const plans[] = { "a", "b", "a", "b", "a" };
    for (int i = 0; i < 5; i++) send_job(plans[i], false, false);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&first, (int[]){ 0, 2 }, 2);
    assert_int_equal(pending_take(pending, &second, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&second, (int[]){ 1, 3 }, 2);
    assert_int_equal(pending_take(pending, &third, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&third, (int[]){ 4 }, 1);
    assert_int_equal(pending_take(pending, &first, 0), PENDING_NONE);
    send_job("c", false, false);
    assert_int_equal(pending_take(pending, &first, 0), PENDING_TAKEN);
    check_group(&first, (int[]){ 5 }, 1);
    close(ends[0]);
    assert_int_equal(pending_take(pending, &second, CHANNEL_FOREVER), PENDING_CLOSED);
    end();
}

/* Jobs that arrive while all lanes work become one group, though no leader saw them arrive. */
static void a_group_is_as_large_as_it_can_be(void **state) {
    (void)state;
    struct group first = { .count = 0 };
    begin(2, 4);
    send_job("a", false, false);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    for (int i = 0; i < 4; i++) send_job("a", false, false);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&first, (int[]){ 1, 2, 3, 4 }, 4);
    close(ends[0]);
    end();
}

static void a_self_test_is_taken_once_and_alone(void **state) {
    (void)state;
    struct group first = { .count = 0 }, second = { .count = 0 };
    begin(2, 4);
    send_job("slow", true, false); /* no lane may take it: it would be the last */
    assert_true(channel_send(ends[0], &(struct message){ .kind = CHANNEL_SELF_TEST }));
    send_job("a", false, false);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    assert_true(first.self_test);
    assert_int_equal(first.count, 0);
    assert_int_equal(pending_take(pending, &second, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&second, (int[]){ 1 }, 1);
    assert_int_equal(pending_take(pending, &first, 0), PENDING_NONE);
    close(ends[0]);
    end();
}

/* The last request of several, beside jobs that go on. */
static void a_request_to_unpin_is_taken_alone(void **state) {
    (void)state;
    struct group first = { .count = 0 }, second = { .count = 0 };
    begin(2, 4);
    for (uint32_t n = 7; n < 9; n++) {
        const struct message ask = { .kind = CHANNEL_UNPIN, .slot = 3, .run_number = n };
        assert_true(channel_send(ends[0], &ask));
    }
    send_job("a", false, false);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    assert_int_equal(first.count, 0);
    assert_false(first.self_test);
    assert_int_equal(first.unpin.slot, 3);
    assert_int_equal(first.unpin.number, 8);
    assert_int_equal(pending_take(pending, &second, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&second, (int[]){ 0 }, 1);
    assert_int_equal(pending_take(pending, &first, 0), PENDING_NONE);
    assert_int_equal(first.unpin.number, 0);
    close(ends[0]);
    end();
}

/* They are first again, before what came later, and may go to another lane. */
static void what_is_returned_comes_first(void **state) {
    (void)state;
    struct group first = { .count = 0 }, second = { .count = 0 };
    begin(3, 4);
    for (int i = 0; i < 3; i++) send_job("a", false, false);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&first, (int[]){ 0, 1, 2 }, 3);
    send_job("b", false, false);
    send_job("a", false, false);
    pending_return(pending, first.slots + 1, 2);
    assert_int_equal(pending_take(pending, &second, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&second, (int[]){ 1, 2, 4 }, 3);
    close(ends[0]);
    end();
}

/* One of two lanes waits on the channel, the other sleeps; the third returns what it took. */
static void a_sleeper_is_woken_for_what_is_returned(void **state) {
    (void)state;
    struct group own = { .count = 0 };
    begin(3, 2);
    const int kept = send_job("a", false, false), returned = send_job("a", false, false);
    assert_int_equal(pending_take(pending, &own, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&own, (int[]){ kept, returned }, 2);
    start_lanes(2);
    pending_return(pending, &returned, 1);
    wait_taken(1);
    assert_true(lane_with(returned) >= 0);
    end_lanes(2);
}

/* The only other lane waits on the channel, and nothing comes there. */
static void the_leader_is_woken_for_what_is_returned(void **state) {
    (void)state;
    struct group own = { .count = 0 };
    begin(2, 2);
    const int kept = send_job("a", false, false), returned = send_job("a", false, false);
    assert_int_equal(pending_take(pending, &own, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&own, (int[]){ kept, returned }, 2);
    start_lanes(1);
    usleep(50000); /* it waits by then; if not, the test passes all the same */
    pending_return(pending, &returned, 1);
    wait_taken(1);
    assert_int_equal(lane_with(returned), 0);
    end_lanes(1);
}

/* One of two lanes waits on the channel, the other sleeps; what is returned cannot run together. */
static void all_that_wait_are_woken_for_what_is_returned(void **state) {
    (void)state;
    struct group own = { .count = 0 };
    begin(3, 3);
    int sent[3];
    for (int i = 0; i < 3; i++) sent[i] = send_job("a", false, false);
    assert_int_equal(pending_take(pending, &own, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&own, sent, 3);
    start_lanes(2);
    usleep(50000); /* as above */
    slot_job(slots, sent[2])->plan.bytes[0] = 'b';
    pending_return(pending, sent + 1, 2);
    wait_taken(2);
    assert_true(lane_with(sent[1]) >= 0 && lane_with(sent[2]) >= 0);
    end_lanes(2);
}

/* ---- long jobs */

static void long_jobs_leave_a_lane_free(int batch) {
    int slow[3], quick = -1;
    begin(3, batch);
    start_lanes(3);
    for (int i = 0; i < 2; i++) slow[i] = send_job("slow", true, false);
    wait_taken(2); /* lanes take messages side by side: which of three is last is not known */
    slow[2] = send_job("slow", true, false);
    for (int i = 0; i < 5; i++) {
        quick = send_job("quick", false, false);
        wait_taken(1);
        assert_true(lane_with(quick) >= 0);
        assert_int_equal(lane_with(slow[2]), -1);
        if (i < 4) release(quick);
    }
    assert_true(lane_with(slow[0]) >= 0 && lane_with(slow[1]) >= 0);
    release(slow[0]); /* its lane is the only free one */
    const int other = send_job("quick", false, false);
    wait_taken(1);
    assert_true(lane_with(other) >= 0);
    assert_int_equal(lane_with(slow[2]), -1);
    release(quick);
    release(other); /* now two are */
    wait_taken(1);
    assert_true(lane_with(slow[2]) >= 0);
    end_lanes(3);
}

static void on_a_gpu_long_jobs_leave_a_lane_free(void **state) {
    (void)state;
    long_jobs_leave_a_lane_free(8);
}

static void on_a_cpu_long_jobs_leave_a_core_free(void **state) {
    (void)state;
    long_jobs_leave_a_lane_free(1);
}

/* Two of three lanes are at work when the third looks: it leaves a young long job, and takes an old
 * one, but not where all other lanes have one. */
static void old_ones_get_the_last_lane_but_not_all_lanes(void **state) {
    (void)state;
    struct group first = { .count = 0 }, second = { .count = 0 }, third = { .count = 0 };
    begin(3, 1);
    send_job("quick", false, false);
    send_job("quick", false, false);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    assert_int_equal(pending_take(pending, &second, CHANNEL_FOREVER), PENDING_TAKEN);
    const int young = send_job("slow", true, false);
    assert_int_equal(pending_take(pending, &third, 1), PENDING_NONE);
    slot_job(slots, young)->submitted_ns = 1;
    assert_int_equal(pending_take(pending, &third, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&third, (int[]){ young }, 1);
    assert_true(third.is_long);
    const int old = send_job("slow", true, true), last = send_job("slow", true, true);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&first, (int[]){ old }, 1);
    assert_int_equal(pending_take(pending, &second, 1), PENDING_NONE);
    assert_int_equal(pending_take(pending, &third, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&third, (int[]){ last }, 1); /* it had one itself until now */
    close(ends[0]);
    end();
}

static void the_only_lane_takes_everything(void **state) {
    (void)state;
    struct group only = { .count = 0 };
    begin(1, 1);
    const int slot = send_job("slow", true, false);
    assert_int_equal(pending_take(pending, &only, CHANNEL_FOREVER), PENDING_TAKEN);
    check_group(&only, (int[]){ slot }, 1);
    close(ends[0]);
    end();
}

/* ---- threads */

static void all_lanes_end_with_the_channel(void **state) {
    (void)state;
    for (int batch = 1; batch <= 8; batch += 7) {
        begin(LANES_MAX, batch);
        start_lanes(LANES_MAX);
        send_job("a", false, false);
        wait_taken(1);
        end_lanes(LANES_MAX);
        assert_int_equal(groups_taken, 1);
    }
}

/* Alike jobs that wait for the only lane at work are taken by those that sleep. */
static void sleepers_are_woken_for_what_is_left(void **state) {
    (void)state;
    begin(LANES_MAX, 2);
    start_lanes(LANES_MAX);
    int sent[2 * LANES_MAX];
    for (int i = 0; i < 2 * LANES_MAX; i++)
        sent[i] = send_job(i % 2 ? "odd" : "even", false, false);
    wait_taken(LANES_MAX); /* none goes on before all have something */
    for (int i = 0; i < LANES_MAX; i++) sem_post(&lanes[i].go);
    while (true) {
        bool all = true;
        for (int i = 0; i < 2 * LANES_MAX; i++) all &= lane_with(sent[i]) >= 0;
        if (all) break;
        wait_taken(1);
        for (int i = 0; i < LANES_MAX; i++) sem_post(&lanes[i].go);
    }
    end_lanes(LANES_MAX);
}

enum { FLOOD = 4000 };
static sem_t room;
static int times_taken[FLOOD]; /* by number of the job; atomic */

static void *flood_main(void *argument) {
    struct group group_taken = { .count = 0 };
    int wait_ms = 0;
    (void)argument;
    for (;;) {
        const enum pending_outcome outcome = pending_take(pending, &group_taken, wait_ms);
        wait_ms = outcome == PENDING_NONE ? CHANNEL_FOREVER : 0; /* both ways in */
        if (outcome == PENDING_CLOSED) return NULL;
        if (outcome == PENDING_NONE) continue;
        for (int i = 0; i < group_taken.count; i++) {
            struct job *job = slot_job(slots, group_taken.slots[i]);
            __atomic_add_fetch(&times_taken[job->outputs[0].encode.quality], 1, __ATOMIC_RELAXED);
            __atomic_store_n(&job->run_number, 0, __ATOMIC_RELEASE);
            sem_post(&room);
        }
    }
}

static int free_slot(void) {
    for (int i = 0;; i = (i + 1) % SLOTS)
        if (!__atomic_load_n(&slot_job(slots, i)->run_number, __ATOMIC_ACQUIRE)) return i;
}

static void flood(int batch) {
    pthread_t threads[LANES_MAX];
    uint32_t noise = 1;
    begin(LANES_MAX, batch);
    sem_init(&room, 0, SLOTS / 2);
    memset(times_taken, 0, sizeof times_taken);
    for (int i = 0; i < LANES_MAX; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, flood_main, NULL), 0);
    for (int i = 0; i < FLOOD; i++) {
        sem_wait(&room);
        const int slot = free_slot();
        struct job *job = slot_job(slots, slot);
        job->outputs[0].encode.quality = i;
        job->own_batch = noise_next(&noise) >> 28 == 0;
        job->duration = job->own_batch ? JOB_LONG : JOB_SHORT;
        job->predicted_ms = 0.01;
        job->submitted_ns = clock_ns();
        job->plan.length = 1 + (uint32_t)snprintf((char *)job->plan.bytes, sizeof job->plan.bytes,
                                                  "%u", noise_next(&noise) >> 30);
        const uint32_t run_number = (uint32_t)i + 1;
        __atomic_store_n(&job->run_number, run_number, __ATOMIC_RELEASE);
        for (int copies = 1 + (i % 3 == 0); copies; copies--) send_run(slot, run_number);
    }
    for (int i = 0; i < SLOTS / 2; i++) sem_wait(&room); /* all have been taken */
    close(ends[0]);
    for (int i = 0; i < LANES_MAX; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < FLOOD; i++) assert_int_equal(times_taken[i], 1);
    end();
}

static void each_job_is_taken_once(void **state) {
    (void)state;
    flood(8);
    flood(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_takes_what_is_alike_and_leaves_the_rest),
        cmocka_unit_test(a_group_is_as_large_as_it_can_be),
        cmocka_unit_test(a_self_test_is_taken_once_and_alone),
        cmocka_unit_test(a_request_to_unpin_is_taken_alone),
        cmocka_unit_test(what_is_returned_comes_first),
        cmocka_unit_test(a_sleeper_is_woken_for_what_is_returned),
        cmocka_unit_test(the_leader_is_woken_for_what_is_returned),
        cmocka_unit_test(all_that_wait_are_woken_for_what_is_returned),
        cmocka_unit_test(on_a_gpu_long_jobs_leave_a_lane_free),
        cmocka_unit_test(on_a_cpu_long_jobs_leave_a_core_free),
        cmocka_unit_test(old_ones_get_the_last_lane_but_not_all_lanes),
        cmocka_unit_test(the_only_lane_takes_everything),
        cmocka_unit_test(all_lanes_end_with_the_channel),
        cmocka_unit_test(sleepers_are_woken_for_what_is_left),
        cmocka_unit_test(each_job_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
