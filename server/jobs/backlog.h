// SPDX-License-Identifier: Apache-2.0
/* backlog.h - what a worker still has to do, and how long one more job would wait there.
 *
 * A job is short or long. Long ones leave a lane free wherever a worker has two or more, so that a
 * short job waits for short jobs alone, and a long one for whatever is ahead of it. What takes
 * longer than predicted is expected to go on for as long again.
 *
 * Used by:  dispatcher.c, one for each worker, under the supervisor's lock.
 * Owns:     nothing; plain data.
 * Threads:  one at a time.
 */
#ifndef BURIN_BACKLOG_H
#define BURIN_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

struct backlog {
    int lanes; /* 0: not known yet, taken as one */
    int shorts, longs;
    double short_ms;     /* predicted of the short ones together, each alone on a lane */
    double moved_ms;     /* time of clock_ns when a job came back or the first short one went in */
    double long_end_ms;  /* sum of the times of clock_ns, in ms, at which the long ones end */
    double long_from_ms; /* a job that takes so long is long */
    double speed;        /* ms of predicted work done in a ms, while it has all that it can do */
    int busy_from;       /* short jobs: with fewer a lane may be idle, or have a small batch */
    int64_t window_ns;   /* since when there were as many; 0: there are not */
    double window_ms;    /* predicted work done since */
    int window_jobs;
};

/* One job of it. */
struct backlog_job {
    double ms; /* predicted, alone on a lane */
    bool is_long;
    double end_ms; /* when it should be done, if it is long */
};

/* A worker has so many lanes, and room for CAPACITY jobs: known once it is ready. What was learned
 * of its speed stays while the number of lanes does. */
void backlog_set_lanes(struct backlog *backlog, int lanes, int capacity, bool cpu);

struct backlog_job backlog_job(const struct backlog *backlog, double ms, int64_t now);

void backlog_add(struct backlog *backlog, const struct backlog_job *job);
void backlog_remove(struct backlog *backlog, const struct backlog_job *job); /* undone or lost */

/* DONE: to its end. A job that was cancelled or failed says nothing of the speed. */
void backlog_complete(struct backlog *backlog, const struct backlog_job *job, bool done,
                      int64_t now);

/* The worker has stood still for another reason than that it had nothing to do. */
void backlog_end_window(struct backlog *backlog);

/* Milliseconds until a lane would begin JOB. */
double backlog_wait_ms(const struct backlog *backlog, const struct backlog_job *job, int64_t now);

#endif
