// SPDX-License-Identifier: Apache-2.0
/* How it works. Of short jobs the work is summed up, of medium and long ones the times at which
 * they should end. A wait is that work over the lanes and their speed, as if jobs were spread
 * evenly. How much faster than lone jobs a GPU is, is learned in windows in which it has all that
 * it can do. */
#include "server/dispatch/backlog.h"

#include "pipeline/timing.h"

/* What a GPU does of lone jobs' work at once, in batches and lanes: a 1080p JPEG takes 0.3 ms alone
 * and 0.05 of many. A core does one. */
enum { GPU_SPEED = 6 };

/* LATE_MS: no lane ends a short job for so long only if something is wrong with one. */
enum { GPU_LONG_MS = 10, CPU_LONG_MS = 500, LATE_MS = 1000 };

/* What waits for a lane of short jobs waits for so long at most. */
enum { CPU_MEDIUM_MS = 10 };

/* The thread that hands out rests for 2 ms where requests wait (io_thread.c), and then waits for a
 * core for up to a tick of the scheduler, 4 ms: for so long a lane should find short jobs. */
enum { AHEAD_MS = 6, AHEAD_MAX = 12 };
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

void backlog_set_apart(struct backlog *backlog) {
    backlog->apart = true;
}

struct backlog_job backlog_job(const struct backlog *backlog, double ms, int64_t now) {
    const bool is_long = ms >= backlog->long_from_ms;
    const bool is_medium = backlog->apart && ms >= CPU_MEDIUM_MS;
    return (struct backlog_job){ .ms = ms,
                                 .duration = is_long     ? JOB_LONG
                                             : is_medium ? JOB_MEDIUM
                                                         : JOB_SHORT,
                                 .end_ms = ns_to_ms(now) + ms };
}

bool backlog_has_room(const struct backlog *backlog, enum job_duration duration, bool measured) {
    const int lanes = backlog->lanes > 1 ? backlog->lanes : 1;
    if (duration == JOB_MEDIUM) return backlog->mediums < lanes;
    if (duration == JOB_LONG) return backlog->longs < lanes;
    if (!measured) return backlog->shorts < 2 * lanes;
    const bool soon_idle = backlog->short_ms < lanes * AHEAD_MS;
    return backlog->shorts < lanes || (soon_idle && backlog->shorts < AHEAD_MAX * lanes);
}

void backlog_add(struct backlog *backlog, const struct backlog_job *job) {
    if (job->duration == JOB_LONG) {
        backlog->longs++;
        backlog->long_end_ms += job->end_ms;
    } else if (job->duration == JOB_MEDIUM) {
        backlog->mediums++;
        backlog->medium_end_ms += job->end_ms;
    } else {
        if (!backlog->shorts) backlog->moved_ms = job->end_ms - job->ms;
        backlog->shorts++;
        backlog->short_ms += job->ms;
    }
}

void backlog_remove(struct backlog *backlog, const struct backlog_job *job) {
    if (job->duration == JOB_LONG) {
        backlog->longs--;
        backlog->long_end_ms = backlog->longs ? backlog->long_end_ms - job->end_ms : 0;
    } else if (job->duration == JOB_MEDIUM) {
        backlog->mediums--;
        backlog->medium_end_ms = backlog->mediums ? backlog->medium_end_ms - job->end_ms : 0;
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
    if (backlog->longs || backlog->mediums || backlog->shorts < backlog->busy_from) {
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
    const bool held_up =
        backlog->lanes <= 1 && !backlog->apart && backlog->longs; /* a long one is at work */
    const bool late = !held_up && backlog->shorts >= lanes && still > LATE_MS;
    return late && still > wait ? still : wait;
}

/* COUNT jobs that end at END_MS, summed up, MOST of them side by side. */
static double wait_for_ends(int count, double end_ms, int most, int64_t now) {
    const double left = end_ms - count * ns_to_ms(now);
    return wait_for(count, left > 0 ? left : -left, most, most);
}

/* Each for those of its own duration: the system lets shorter ones go first meanwhile. */
static double wait_apart(const struct backlog *backlog, const struct backlog_job *job, int lanes,
                         double speed, int64_t now) {
    switch (job->duration) {
    case JOB_MEDIUM: return wait_for_ends(backlog->mediums, backlog->medium_end_ms, lanes, now);
    case JOB_LONG: return wait_for_ends(backlog->longs, backlog->long_end_ms, lanes, now);
    default: return wait_for_shorts(backlog, lanes, speed, now);
    }
}

double backlog_wait_ms(const struct backlog *backlog, const struct backlog_job *job, int64_t now) {
    const int lanes = backlog->lanes > 1 ? backlog->lanes : 1;
    const int most = lanes > 1 ? lanes - 1 : 1; /* long ones at once */
    const int held = lanes == 1 ? 0 : backlog->longs < most ? backlog->longs : most;
    const double speed = backlog->speed > 0 ? backlog->speed : 1;
    if (backlog->apart) return wait_apart(backlog, job, lanes, speed, now);
    const double shorts =
        wait_for_shorts(backlog, lanes - held, speed * (lanes - held) / lanes, now);
    if (job->duration != JOB_LONG && lanes > 1) return shorts;
    return shorts + wait_for_ends(backlog->longs, backlog->long_end_ms, most, now);
}
