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

#include "server/dispatch/backlog.h"
#include "server/dispatch/cost.h"
#include "server/dispatch/worker_list.h"

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

#endif
