// SPDX-License-Identifier: Apache-2.0
/* Lanes of a CPU: each takes jobs of one duration, and none waits for a longer one. And a GPU's
 * lanes for jobs abreast, which count as medium. */
#include "server/worker/pending.h"

#include "server/jobs/channel.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 64, ALIKE_MAX = 2, HANGS_S = 60 };

static struct slots *slots;
static int ends[2];
static struct pending *pending;
static int next_slot;

/* `alike` lanes of each duration, ordered by it. Each keeps its group until `go` is posted. */
static struct test_lane {
    pthread_t thread;
    sem_t go;
    struct group group;
} lanes[JOB_DURATIONS * ALIKE_MAX];
static sem_t taken;
static int lane_of[SLOTS]; /* -1: no lane has the job; atomic */

static void begin_with(const struct pending_options *wanted) {
    struct failure failure = { 0 };
    struct pending_options how = *wanted;
    const struct slot_options options = { .count = SLOTS, .base_bytes = 4096, .span_bytes = 4096 };
    alarm(HANGS_S);
    slots = slots_create(&options, &failure);
    assert_non_null(slots);
    for (int i = 0; i < SLOTS; i++) assert_true(slot_take(slots, 1, NULL) >= 0);
    assert_true(channel_open(ends));
    next_slot = 0;
    how.channel = ends[1];
    how.slots = slots;
    pending = pending_create(&how);
    assert_non_null(pending);
}

static void begin(int alike) {
    begin_with(
        &(struct pending_options){ .lanes = alike, .apart = true, .batch = 1, .capacity = SLOTS });
}

static void end(void) {
    pending_destroy(pending);
    close(ends[1]);
    slots_destroy(slots);
    alarm(0);
}

static void *lane_main(void *argument) {
    struct test_lane *lane = argument;
    while (pending_take(pending, &lane->group, CHANNEL_FOREVER) == PENDING_TAKEN) {
        __atomic_store_n(&lane_of[lane->group.slots[0]], (int)(lane - lanes), __ATOMIC_RELEASE);
        sem_post(&taken);
        sem_wait(&lane->go);
    }
    return NULL;
}

static void start_lanes(int alike) {
    sem_init(&taken, 0, 0);
    for (int i = 0; i < SLOTS; i++) lane_of[i] = -1;
    for (int i = 0; i < JOB_DURATIONS * alike; i++) {
        lanes[i].group = (struct group){ .lane = (enum job_duration)(i / alike) };
        sem_init(&lanes[i].go, 0, 0);
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]), 0);
    }
}

static void wait_taken(int jobs) {
    for (int i = 0; i < jobs; i++) sem_wait(&taken);
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

static int send_of(enum job_duration duration) {
    const int slot = next_slot++ % SLOTS;
    struct job *job = slot_job(slots, slot);
    job->duration = (int32_t)duration;
    job->run_number++;
    const struct message message = { .kind = CHANNEL_RUN,
                                     .slot = slot,
                                     .run_number = job->run_number };
    assert_true(channel_send(ends[0], &message));
    return slot;
}

/* One lane of each duration; jobs of all of them, and more than one of the longer. */
static void each_lane_has_its_own_kind(void **state) {
    (void)state;
    begin(1);
    start_lanes(1);
    const int long_one = send_of(JOB_LONG), long_two = send_of(JOB_LONG);
    const int medium = send_of(JOB_MEDIUM), medium_two = send_of(JOB_MEDIUM);
    const int first = send_of(JOB_SHORT);
    wait_taken(3);
    assert_int_equal(lane_with(first), JOB_SHORT);
    assert_int_equal(lane_with(medium), JOB_MEDIUM);
    assert_int_equal(lane_with(long_one), JOB_LONG);
    for (int i = 0; i < 10; i++) { /* many short ones pass */
        const int next = send_of(JOB_SHORT);
        release(i ? next - 1 : first);
        wait_taken(1);
        assert_int_equal(lane_with(next), JOB_SHORT);
    }
    assert_int_equal(lane_with(medium_two), -1);
    release(medium);
    wait_taken(1);
    assert_int_equal(lane_with(medium_two), JOB_MEDIUM);
    assert_int_equal(lane_with(long_two), -1);
    release(long_one);
    wait_taken(1);
    assert_int_equal(lane_with(long_two), JOB_LONG);
    end_lanes(JOB_DURATIONS);
}

/* Two of each: a job goes to whichever is free, and all end when the front is gone. */
static void lanes_of_a_kind_share_its_jobs(void **state) {
    (void)state;
    begin(2);
    start_lanes(2);
    for (int d = JOB_DURATIONS - 1; d >= 0; d--) { /* lanes of short jobs read the channel */
        const int one = send_of((enum job_duration)d), two = send_of((enum job_duration)d);
        wait_taken(2);
        assert_int_equal(lane_with(one) / 2, d);
        assert_int_equal(lane_with(two) / 2, d);
        assert_int_not_equal(lane_with(one), lane_with(two));
    }
    end_lanes(2 * JOB_DURATIONS);
}

static void self_tests_are_for_lanes_of_short_jobs(void **state) {
    (void)state;
    struct group medium = { .lane = JOB_MEDIUM }, first = { .lane = JOB_SHORT };
    begin(1);
    assert_true(channel_send(ends[0], &(struct message){ .kind = CHANNEL_SELF_TEST }));
    assert_int_equal(pending_take(pending, &medium, 0), PENDING_NONE);
    assert_int_equal(pending_take(pending, &first, CHANNEL_FOREVER), PENDING_TAKEN);
    assert_true(first.self_test);
    close(ends[0]);
    end();
}

/* Two lanes for all jobs, two for medium ones, which another lane takes only while it and all
 * others of its kind are free. */
static void a_gpu_has_lanes_for_many(void **state) {
    (void)state;
    struct group all[2] = { { .count = 0 } },
                 many[2] = { { .lane = JOB_MEDIUM }, { .lane = JOB_MEDIUM } };
    const struct pending_options how = { .lanes = 2, .many = 2, .batch = 4, .capacity = SLOTS };
    begin_with(&how);
    for (int i = 0; i < 2; i++) { /* a lane counts as free during its calls */
        assert_int_equal(pending_take(pending, &all[i], 0), PENDING_NONE);
        assert_int_equal(pending_take(pending, &many[i], 0), PENDING_NONE);
    }
    const int first = send_of(JOB_SHORT), second = send_of(JOB_MEDIUM);
    assert_int_equal(pending_take(pending, &many[0], 0), PENDING_TAKEN); /* it reads the channel */
    assert_int_equal(many[0].slots[0], second);
    assert_int_equal(pending_take(pending, &all[0], 0), PENDING_TAKEN);
    assert_int_equal(all[0].slots[0], first);
    const int third = send_of(JOB_MEDIUM), long_one = send_of(JOB_LONG);
    slot_job(slots, long_one)->own_batch = 1;
    assert_int_equal(pending_take(pending, &many[1], 0), PENDING_TAKEN);
    assert_int_equal(many[1].slots[0], third);
    assert_int_equal(pending_take(pending, &all[0], 0), PENDING_TAKEN);
    assert_int_equal(all[0].slots[0], long_one);
    const int fourth = send_of(JOB_MEDIUM);
    assert_int_equal(pending_take(pending, &all[1], 0), PENDING_NONE); /* another is at work */
    assert_int_equal(pending_take(pending, &all[0], 0), PENDING_NONE); /* nor after a long one */
    assert_int_equal(pending_take(pending, &many[1], 0), PENDING_TAKEN);
    assert_int_equal(many[1].slots[0], fourth);
    close(ends[0]);
    end();
}

/* The same with lanes that wait: one job abreast goes to a lane for all, or to one of its own; the
 * others to their own. Jobs that a lane returns wake another. */
static void lanes_for_many_are_woken(void **state) {
    (void)state;
    const struct pending_options how = { .lanes = 2, .many = 2, .batch = 4, .capacity = SLOTS };
    begin_with(&how);
    sem_init(&taken, 0, 0);
    for (int i = 0; i < SLOTS; i++) lane_of[i] = -1;
    for (int i = 0; i < 4; i++) {
        lanes[i].group = (struct group){ .lane = i < 2 ? JOB_SHORT : JOB_MEDIUM };
        sem_init(&lanes[i].go, 0, 0);
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]), 0);
    }
    int jobs[4];
    for (int i = 0; i < 3; i++) {
        jobs[i] = send_of(JOB_MEDIUM);
        wait_taken(1);
    }
    int own = 0;
    for (int i = 0; i < 3; i++) own += lane_with(jobs[i]) >= 2;
    assert_true(own >= 2 && lane_with(jobs[0]) != lane_with(jobs[1]));
    const int other = send_of(JOB_SHORT);
    wait_taken(1);
    assert_true(lane_with(other) < 2);
    const int waits = own == 3 ? -1 : send_of(JOB_MEDIUM);
    if (waits >= 0) {
        assert_int_equal(lane_with(waits), -1);
        for (int i = 0; i < 3; i++)
            if (lane_with(jobs[i]) >= 2) release(jobs[i]);
        wait_taken(1);
        assert_true(lane_with(waits) >= 2);
    }
    const int returned = jobs[0];
    lane_of[returned] = -1;
    pending_return(pending, &returned, 1);
    wait_taken(1);
    assert_true(lane_with(returned) >= 2);
    end_lanes(4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_has_lanes_for_many),
        cmocka_unit_test(lanes_for_many_are_woken),
        cmocka_unit_test(each_lane_has_its_own_kind),
        cmocka_unit_test(lanes_of_a_kind_share_its_jobs),
        cmocka_unit_test(self_tests_are_for_lanes_of_short_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
