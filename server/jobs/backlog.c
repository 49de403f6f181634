// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/backlog.h"

#include "pipeline/timing.h"

/* What a GPU does of lone jobs' work at once, in batches and lanes: a 1080p JPEG takes 0.3 ms alone
 * and 0.05 of many. A core does one. */
enum { GPU_SPEED = 6 };

/* LATE_MS: no lane ends a short job for so long only if something is wrong with one. */
enum { GPU_LONG_MS = 10, CPU_LONG_MS = 500, LATE_MS = 1000 };
enum { WINDOW_JOBS = 16, WINDOW_MS = 50, CHANGE_MAX = 4, SMOOTHING = 4, SPEED_MAX = 4096 };

void backlog_set_lanes(struct backlog *backlog, int lanes, int capacity, bool cpu) {
    const int half = capacity / 4; /* of the batches that all lanes hold: it is two for each */
    if (lanes < 1) lanes = 1;
    if (backlog->lanes == lanes) return;
    backlog->lanes = lanes;
    backlog->busy_from = half > lanes ? half : lanes;
    backlog->speed = cpu ? lanes : GPU_SPEED;
    backlog->long_from_ms = cpu ? CPU_LONG_MS : GPU_LONG_MS;
    backlog->window_ns = 0;
}

struct backlog_job backlog_job(const struct backlog *backlog, double ms, int64_t now) {
    return (struct backlog_job){ .ms = ms,
                                 .is_long = ms >= backlog->long_from_ms,
                                 .end_ms = ns_to_ms(now) + ms };
}

void backlog_add(struct backlog *backlog, const struct backlog_job *job) {
    if (job->is_long) {
        backlog->longs++;
        backlog->long_end_ms += job->end_ms;
    } else {
        if (!backlog->shorts) backlog->moved_ms = job->end_ms - job->ms;
        backlog->shorts++;
        backlog->short_ms += job->ms;
    }
}

void backlog_remove(struct backlog *backlog, const struct backlog_job *job) {
    if (job->is_long) {
        backlog->longs--;
        backlog->long_end_ms = backlog->longs ? backlog->long_end_ms - job->end_ms : 0;
    } else {
        backlog->shorts--;
        backlog->short_ms = backlog->shorts ? backlog->short_ms - job->ms : 0;
    }
}

static void learn_speed(struct backlog *backlog, int64_t now) {
    const double elapsed = ns_to_ms(now - backlog->window_ns), speed = backlog->speed;
    if (backlog->window_jobs < WINDOW_JOBS || elapsed < WINDOW_MS) return;
    double seen = backlog->window_ms / elapsed;
    if (seen > speed * CHANGE_MAX) seen = speed * CHANGE_MAX;
    backlog->speed += (seen - speed) / SMOOTHING;
    if (backlog->speed < 1) backlog->speed = 1;
    if (backlog->speed > SPEED_MAX) backlog->speed = SPEED_MAX;
    backlog->window_ns = now;
    backlog->window_ms = backlog->window_jobs = 0;
}

void backlog_end_window(struct backlog *backlog) {
    backlog->window_ns = 0;
}

void backlog_complete(struct backlog *backlog, const struct backlog_job *job, bool done,
                      int64_t now) {
    backlog_remove(backlog, job);
    backlog->moved_ms = ns_to_ms(now);
    if (backlog->longs || backlog->shorts < backlog->busy_from) {
        backlog_end_window(backlog);
        return;
    }
    if (!done) return;
    if (!backlog->window_ns) {
        backlog->window_ns = now;
        backlog->window_ms = backlog->window_jobs = 0;
        return;
    }
    backlog->window_ms += job->ms;
    backlog->window_jobs++;
    learn_speed(backlog, now);
}

/* COUNT jobs of TOTAL_MS that LANES work on, SPEED times as fast as one: when one more begins. They
 * are taken to be spread evenly, so that lanes become free one after the other. */
static double wait_for(int count, double total_ms, int lanes, double speed) {
    return count < lanes ? 0 : total_ms * (count - lanes + 1) / count / speed;
}

/* For a lane out of LANES, those that long jobs leave. */
static double wait_for_shorts(const struct backlog *backlog, int lanes, double speed, int64_t now) {
    const double wait = wait_for(backlog->shorts, backlog->short_ms, lanes, speed);
    const double still = ns_to_ms(now) - backlog->moved_ms;
    const bool held_up = backlog->lanes <= 1 && backlog->longs; /* a long one is at work */
    const bool late = !held_up && backlog->shorts >= lanes && still > LATE_MS;
    return late && still > wait ? still : wait;
}

static double wait_for_longs(const struct backlog *backlog, int most, int64_t now) {
    const double left = backlog->long_end_ms - backlog->longs * ns_to_ms(now);
    return wait_for(backlog->longs, left > 0 ? left : -left, most, most);
}

double backlog_wait_ms(const struct backlog *backlog, const struct backlog_job *job, int64_t now) {
    const int lanes = backlog->lanes > 1 ? backlog->lanes : 1;
    const int most = lanes > 1 ? lanes - 1 : 1; /* long ones at once */
    const int held = lanes == 1 ? 0 : backlog->longs < most ? backlog->longs : most;
    const double speed = backlog->speed > 0 ? backlog->speed : 1;
    const double shorts =
        wait_for_shorts(backlog, lanes - held, speed * (lanes - held) / lanes, now);
    if (!job->is_long && lanes > 1) return shorts;
    return shorts + wait_for_longs(backlog, most, now);
}
