// SPDX-License-Identifier: Apache-2.0
/* A lane that hangs within a job. Processes forked from here have one or two threads; the first
 * plays the lane. The test looks at it every 50 ms of a clock of its own. */
#include "server/dispatch/worker_handle.h"

#include "server/process/launcher.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const int64_t ms_ns = 1000000;

enum lane_state { QUIET, MOVES, HANGS };

static struct job job;
static struct stillness lane;
static struct worker_handle worker;
static int64_t now;
static pid_t process;

static void *spin(void *argument) {
    for (volatile unsigned i = 0;; i++) continue;
    return argument;
}

static void begin(bool computes, bool has_other) {
    pthread_t other;
    now = 100000 * ms_ns;
    process = fork();
    if (process == 0) {
        alarm(60);
        if (has_other) pthread_create(&other, NULL, spin, NULL);
        for (volatile unsigned i = 0;; i++)
            if (!computes) pause();
    }
    assert_true(process > 0);
    while (thread_status_read(process, process).process_idle == (computes || has_other))
        usleep(1000);
    while ((thread_status_read(process, process).state == THREAD_RUNS) != computes) usleep(1000);
    stillness_end(&lane);
    worker = (struct worker_handle){ .channel = -1, .pid = process };
    job = (struct job){ .started = 1, .lane = process };
    job.progress.seen_ns = now;
}

static void end(void) {
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) != process) continue;
}

static bool hangs(void) {
    return worker_handle_lane_hangs(&worker, &lane, &job, 500 * ms_ns, now);
}

/* The state after MS, or as soon as the lane hangs. */
static enum lane_state after(int ms) {
    for (const int64_t until = now + ms * ms_ns; now < until;) {
        now += 50 * ms_ns;
        worker.heartbeat_ns = now;
        if (hangs()) return HANGS;
    }
    return worker.moved_ns == now ? MOVES : QUIET;
}

static void a_lane_that_sleeps_in_a_job_hangs(void **state) {
    (void)state;
    begin(false, false);
    assert_int_equal(after(250), QUIET);
    assert_int_equal(lane.looked_ns, 0); /* its job was just seen: the kernel is not asked */
    assert_int_equal(after(500), QUIET);
    assert_int_not_equal(lane.looked_ns, 0);
    assert_int_equal(after(200), HANGS);
    job.progress.seen_ns = now; /* and goes on */
    assert_int_equal(after(750), QUIET);
    end();
}

static void a_lane_that_computes_does_not(void **state) {
    (void)state;
    begin(true, false);
    assert_int_equal(after(60000), MOVES);
    end();
}

/* The lane may wait for a lock whose holder waits for a core. */
static void a_lane_that_sleeps_beside_a_running_thread_does_not(void **state) {
    (void)state;
    begin(false, true);
    assert_int_equal(after(60000), QUIET);
    end();
}

static void no_lane_hangs_without_a_job(void **state) {
    (void)state;
    begin(false, false);
    job.started = 0;
    assert_int_equal(after(5000), QUIET);
    job.started = 1;
    job.finished_ns = 1;
    assert_int_equal(after(5000), QUIET);
    job.finished_ns = 0;
    job.lane = 0; /* the job waits for a GPU */
    assert_int_equal(after(5000), QUIET);
    job.lane = process;
    assert_int_equal(after(5000), HANGS);
    end();
}

/* The launcher should look, and does not answer. */
static void an_unknown_lane_does_not_hang(void **state) {
    (void)state;
    static const struct config config = { .launcher_still_ms = 1000 };
    struct failure failure;
    begin(false, false);
    assert_int_equal(launcher_open(&config, &failure), STATUS_OK);
    assert_int_equal(after(60000), QUIET);
    launcher_close();
    assert_int_equal(after(1000), HANGS);
    end();
}

/* Then the process is judged as a whole. */
static void no_lane_hangs_while_the_heartbeat_is_late(void **state) {
    (void)state;
    begin(false, false);
    for (int i = 0; i < 100; i++) {
        now += 50 * ms_ns;
        worker.heartbeat_ns = now - 1000 * ms_ns;
        assert_false(hangs());
    }
    assert_int_equal(after(5000), HANGS);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_that_sleeps_in_a_job_hangs),
        cmocka_unit_test(a_lane_that_computes_does_not),
        cmocka_unit_test(a_lane_that_sleeps_beside_a_running_thread_does_not),
        cmocka_unit_test(no_lane_hangs_without_a_job),
        cmocka_unit_test(an_unknown_lane_does_not_hang),
        cmocka_unit_test(no_lane_hangs_while_the_heartbeat_is_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
