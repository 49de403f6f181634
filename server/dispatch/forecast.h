// SPDX-License-Identifier: Apache-2.0
/* forecast.h - when each worker would answer a job: what it has to do, and what the job takes
 * there.
 *
 * Used by:  dispatcher.c, under the supervisor's lock.
 * Owns:     costs and backlogs of the workers; their list is borrowed.
 * Threads:  one at a time.
 */
#ifndef BURIN_FORECAST_H
#define BURIN_FORECAST_H

#include "server/dispatch/cost.h"
#include "server/dispatch/worker_list.h"

/* The work that a worker still has to do. On a GPU a job is short or long. Long ones leave a lane
 * free wherever a worker has two or more, so that a short job waits for short jobs alone, and a
 * long one for all that is ahead of it. On a CPU a job is short, medium or long, and for each there
 * are as many lanes as there are cores: the system takes a core away from longer ones for a shorter
 * one, whose lane has a higher priority. So none waits for a longer one, on a single core neither.
 * What takes longer than predicted is expected to go on for as long again. */
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

struct forecast {
    const struct worker_list *workers;
    struct cost costs[WORKERS_MAX]; /* by the worker's number in the list */
    struct backlog backlogs[WORKERS_MAX];
    int64_t taught_ns[WORKERS_MAX]; /* when a worker's costs were last learned, or faded */
};

/* What is predicted of one job. */
struct forecast_job {
    struct cost_work work;     /* a copy: a worker that goes wild writes into the slot */
    float own_ms[WORKERS_MAX]; /* by worker, alone on a lane; negative: it may not run there */
    float handicap; /* so many times sooner than a GPU a CPU must answer, to have the job */
    struct backlog_job backlog; /* what it is in the backlog of the worker that has it */
};

/* One walk over the queue, oldest first. */
struct forecast_round {
    int64_t now;
    struct backlog backlogs[WORKERS_MAX]; /* with the jobs that were found to wait in front */
    bool healthy[WORKERS_MAX];
    /* For which durations, bit d for d, it is of no use for the rest of the walk; at first all of
       those that are not healthy. */
    uint8_t full[WORKERS_MAX];
    int open; /* workers that are not full for all */
};

void forecast_init(struct forecast *forecast, const struct worker_list *workers);

void forecast_predict(const struct forecast *forecast, const struct job *job,
                      struct forecast_job *predicted);

/* Milliseconds alone on the worker that takes least; 0 where none serves it. */
double forecast_least_ms(const struct forecast *forecast, const struct forecast_job *predicted);

/* What was learned of a worker that has not answered for a second fades. */
void forecast_begin(struct forecast *forecast, struct forecast_round *round);

/* The healthy worker that is predicted to answer JOB first, or -1. DIED_AT died with it before and
 * comes last. A SUSPECT runs alone: first comes the worker with the fewest jobs. */
int forecast_choose(const struct forecast *forecast, const struct forecast_round *round,
                    const struct forecast_job *job, int died_at, bool suspect);

/* Milliseconds that JOB would wait for a lane of that worker, with what it would take there in
 * OWN_MS. 0 where there is none. */
double forecast_wait_ms(const struct forecast *forecast, const struct forecast_round *round,
                        const struct forecast_job *job, double *own_ms);

/* WORKER is the one that JOB should go to; whether it goes or waits, it is ahead of those that
 * follow. Returns what it is in the backlog there. */
struct backlog_job forecast_count(struct forecast_round *round, const struct forecast_job *job,
                                  int worker);

/* The walk has found no room on WORKER for jobs of that DURATION; JOB_DURATIONS: for none. */
void forecast_is_full(struct forecast_round *round, int worker, enum job_duration duration);

/* Whether the job's operators alone make it long on WORKER. */
bool forecast_is_unbatched(const struct forecast *forecast, const struct forecast_job *job,
                           int worker);

/* The job of WORKER came back; BATCH as in struct job. */
void forecast_learn(struct forecast *forecast, int worker, const struct forecast_job *predicted,
                    const struct job *job);

void forecast_account(const struct forecast *forecast, int worker, struct worker_account *account);

/* ---- the backlog of one worker */

void backlog_add(struct backlog *backlog, const struct backlog_job *job);
void backlog_remove(struct backlog *backlog, const struct backlog_job *job); /* undone or lost */

/* Returns, where lanes are apart, whether one has room for a job of that DURATION. Of short ones
 * some wait there, so that no lane idles until the front has read an answer: it may have
 * to wait for a core itself. MEASURED: it is known by now how long jobs take. */
bool backlog_has_room(const struct backlog *backlog, enum job_duration duration, bool measured);

/* The worker has stood still for another reason than that it had nothing to do. */
void backlog_end_window(struct backlog *backlog);

#endif
