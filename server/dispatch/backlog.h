// SPDX-License-Identifier: Apache-2.0
/* backlog.h - what a worker still has to do, and how long one more job would wait there.
 *
 * On a GPU a job is short or long. Long ones leave a lane free wherever a worker has two or more,
 * so that a short job waits for short jobs alone, and a long one for whatever is ahead of it. On a
 * CPU it is short, medium or long, and for each of these there are as many lanes as there are
 * cores: the system takes a core away from longer ones for a shorter one, whose lane has a higher
 * priority. So none waits for a longer one, on a single core neither. What takes longer than
 * predicted is expected to go on for as long again.
 *
 * Used by:  dispatcher.c, one for each worker, under the supervisor's lock.
 * Owns:     nothing; plain data.
 * Threads:  one at a time.
 */
#ifndef BURIN_BACKLOG_H
#define BURIN_BACKLOG_H

#include "server/dispatch/cost.h"

struct backlog {
    int lanes;  /* 0: not known yet, taken as one */
    bool apart; /* so many lanes for each duration; else they are everybody's */
    int shorts, mediums, longs;
    double short_ms;      /* predicted of the short ones together, each alone on a lane */
    double moved_ms;      /* time of clock_ns when a job came back or the first short one went in */
    double medium_end_ms; /* sum of the times of clock_ns, in ms, at which the medium ones end */
    double long_end_ms;   /* likewise */
    double long_from_ms;  /* a job that takes so long is long */
    double speed;         /* ms of predicted work done in a ms, while it has all that it can do */
    int busy_from;        /* short jobs: with fewer a lane may be idle, or have a small batch */
    int64_t window_ns;    /* since when there were as many; 0: there are not */
    double window_ms;     /* predicted work done since */
    int window_jobs;
};

/* One job of it. */
struct backlog_job {
    double ms; /* predicted, alone on a lane */
    enum job_duration duration;
    double end_ms; /* when it should be done, if it is not short */
};

/* A worker has so many lanes, and room for CAPACITY jobs: known once it is ready. What was learned
 * of its speed stays while the number of lanes does. */
void backlog_set_lanes(struct backlog *backlog, int lanes, int capacity, bool cpu);

/* The lanes of a CPU are apart. */
void backlog_set_apart(struct backlog *backlog);

struct backlog_job backlog_job(const struct backlog *backlog, double ms, int64_t now);

void backlog_add(struct backlog *backlog, const struct backlog_job *job);
void backlog_remove(struct backlog *backlog, const struct backlog_job *job); /* undone or lost */

/* Where lanes are apart, whether one has room for a job of that DURATION. Of short ones some wait
 * there, so that no lane idles until the front has read an answer: it may have to wait for a core
 * itself. MEASURED: it is known by now how long jobs take. */
bool backlog_has_room(const struct backlog *backlog, enum job_duration duration, bool measured);

/* DONE: to its end. A job that was cancelled or failed says nothing of the speed. */
void backlog_complete(struct backlog *backlog, const struct backlog_job *job, bool done,
                      int64_t now);

/* The worker has stood still for another reason than that it had nothing to do. */
void backlog_end_window(struct backlog *backlog);

/* Milliseconds until a lane would begin JOB. */
double backlog_wait_ms(const struct backlog *backlog, const struct backlog_job *job, int64_t now);

#endif
