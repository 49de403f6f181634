// SPDX-License-Identifier: Apache-2.0
/* Processes forked from here have one or two threads, of which the first is taken for a lane; the
 * test looks at it every 50 ms of a clock of its own. */
#include "server/dispatch/lane_watch.h"

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

static struct job job;
static struct stillness lane;
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
    job = (struct job){ .started = 1, .lane = process };
    job.progress.seen_ns = now;
}

static void end(void) {
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) != process) continue;
}

/* What it is at the end of MS. */
static enum lane_state after(int ms) {
    enum lane_state state = LANE_UNKNOWN;
    for (const int64_t until = now + ms * ms_ns; now < until && state != LANE_HANGS;) {
        now += 50 * ms_ns;
        state = lane_watch_look(&lane, &job, process, 500 * ms_ns, now);
    }
    return state;
}

static void who_sleeps_in_a_job_hangs(void **state) {
    (void)state;
    begin(false, false);
    assert_int_equal(after(250), LANE_UNKNOWN);
    assert_int_equal(after(500), LANE_SLEEPS);
    assert_int_equal(after(200), LANE_HANGS);
    job.progress.seen_ns = now; /* and goes on */
    assert_int_equal(after(750), LANE_SLEEPS);
    end();
}

static void who_computes_does_not(void **state) {
    (void)state;
    begin(true, false);
    assert_int_equal(after(60000), LANE_MOVES);
    end();
}

/* It may wait for a lock of one that waits for a core. */
static void who_sleeps_beside_one_that_computes_does_not(void **state) {
    (void)state;
    begin(false, true);
    assert_int_equal(after(60000), LANE_SLEEPS);
    end();
}

static void without_a_job_nobody_hangs(void **state) {
    (void)state;
    begin(false, false);
    job.started = 0;
    assert_int_equal(after(5000), LANE_UNKNOWN);
    job.started = 1;
    job.finished_ns = 1;
    assert_int_equal(after(5000), LANE_UNKNOWN);
    job.finished_ns = 0;
    job.lane = 0; /* it waits for a GPU */
    assert_int_equal(after(5000), LANE_UNKNOWN);
    job.lane = process;
    assert_int_equal(after(5000), LANE_HANGS);
    end();
}

/* A launcher is to look, and does not answer. */
static void of_whom_nothing_is_known_does_not_hang(void **state) {
    (void)state;
    static const struct config config = { .launcher_still_ms = 1000 };
    struct failure failure;
    begin(false, false);
    assert_int_equal(launcher_open(&config, &failure), STATUS_OK);
    assert_int_equal(after(60000), LANE_SLEEPS);
    launcher_close();
    assert_int_equal(after(1000), LANE_HANGS);
    end();
}

/* Of a worker: nothing while its heartbeat is late, and else that it goes on. */
static void its_worker_is_told(void **state) {
    (void)state;
    struct worker_handle worker = { .channel = -1 };
    begin(true, false);
    worker.pid = process;
    now += 1000 * ms_ns;
    worker.heartbeat_ns = now;
    assert_false(lane_watch_hangs(&lane, &job, &worker, 500 * ms_ns, now));
    assert_int_equal(worker.moved_ns, now);
    end();
    begin(false, false);
    worker.pid = process;
    for (int late = 1; late >= 0; late--) {
        bool hangs = false;
        for (int i = 0; i < 100; i++) {
            now += 50 * ms_ns;
            worker.heartbeat_ns = late ? now - 1000 * ms_ns : now;
            hangs |= lane_watch_hangs(&lane, &job, &worker, 500 * ms_ns, now);
        }
        assert_int_equal(hangs, !late);
    }
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sleeps_in_a_job_hangs),
        cmocka_unit_test(who_computes_does_not),
        cmocka_unit_test(who_sleeps_beside_one_that_computes_does_not),
        cmocka_unit_test(without_a_job_nobody_hangs),
        cmocka_unit_test(of_whom_nothing_is_known_does_not_hang),
        cmocka_unit_test(its_worker_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
