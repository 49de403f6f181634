// SPDX-License-Identifier: Apache-2.0
/* forecast.h - predicts when each worker would answer a job, and whether that is in time.
 *
 * Used by:  dispatcher.c.
 * Owns:     the costs and backlogs of the workers; the caller keeps their list.
 * Fails:    the checks return STATUS_OK or why the job is refused; FAILURE may be NULL.
 * Threads:  one at a time, under the supervisor's lock.
 * Units:    milliseconds of wall time; a job's own time is that on an otherwise idle lane.
 */
#ifndef BURIN_FORECAST_H
#define BURIN_FORECAST_H

#include "config/config.h"
#include "server/dispatch/cost.h"
#include "server/dispatch/worker_list.h"

/* The work that a worker still has to do. On a GPU a job is short, long, or one of many abreast,
 * which counts as medium and has lanes of its own, or the GPU's video engines decode its image,
 * for one job at a time. Long jobs leave one lane free on every worker with two or more, so that a
 * short job waits for short jobs alone, and a long job for everything ahead of it. On a CPU a job
 * is short, medium or long, and each duration has as many lanes as there are cores: lanes of
 * shorter jobs have a higher priority, so the system gives them the cores first. No job waits for
 * a longer one, not even on a single core. A job that takes longer than predicted is expected to
 * take as long again. */
struct backlog {
    int lanes;  /* 0: not known yet, counts as one */
    bool apart; /* each duration has that many lanes of its own; false: all share them */
    int many;   /* on a GPU, the medium jobs that it takes; 0: none are */
    int room;   /* all others that it takes */
    int shorts, mediums, longs, engines;
    double short_ms;      /* predicted own times of the short jobs, summed */
    double moved_ms;      /* time of clock_ns when a job last returned, or the first short came */
    double medium_end_ms; /* sum of the times of clock_ns, in ms, at which the medium ones end */
    double long_end_ms;   /* the same of the long ones */
    double engine_ms;     /* for which jobs have the video engines, summed */
    double long_from_ms;  /* a job with an own time of this or more is long */
    double speed;         /* predicted ms of work done per ms of wall time by the busy worker */
    int busy_from;        /* fewer short jobs than this may leave a lane idle or a batch small */
    int64_t window_ns;    /* when the window began, a time of clock_ns; 0: there is none */
    double window_ms;     /* predicted work of short jobs done since then */
    int window_jobs;
    bool window_busy; /* so far no lane was idle and no batch small */
};

/* One job of a backlog. */
struct backlog_job {
    double ms; /* predicted own time */
    enum job_duration duration;
    double end_ms;    /* time of clock_ns, in ms, at which a medium or long job should be done */
    double engine_ms; /* the part of `ms` in which it has the video engines */
};

struct forecast {
    const struct worker_list *workers;
    struct cost costs[WORKERS_MAX]; /* by the worker's number in the list */
    int kin[WORKERS_MAX];           /* whose costs the worker has: all cells have the first one's */
    struct backlog backlogs[WORKERS_MAX];
    int64_t learned_ns[WORKERS_MAX]; /* when the worker's costs last learned or faded */
};

/* The prediction for one job. */
struct forecast_job {
    struct cost_work work;      /* a copy: a faulty worker may overwrite the slot's */
    float own_ms[WORKERS_MAX];  /* predicted own time, by worker; negative: may not run there */
    bool abreast;               /* a GPU works on many such jobs at once */
    bool engine;                /* a GPU's video engines decode the image, */
    float engine_ms;            /* in this time */
    float handicap;             /* factor on a CPU's answer time where a GPU could take the job */
    struct backlog_job backlog; /* as counted in the backlog of the worker that has the job */
};

/* One walk over the queue, oldest job first. */
struct forecast_round {
    int64_t now;
    struct backlog backlogs[WORKERS_MAX]; /* copies, with the queued jobs walked so far */
    bool healthy[WORKERS_MAX];
    uint8_t full[WORKERS_MAX]; /* bit d: no room left for jobs of duration d; unhealthy: all bits */
    int open;                  /* workers with room for some duration */
};

void forecast_init(struct forecast *forecast, const struct worker_list *workers);

void forecast_predict(const struct forecast *forecast, const struct job *job,
                      struct forecast_job *predicted);

/* The own time on the worker that is fastest for the job; 0: none serves it. */
double forecast_least_ms(const struct forecast *forecast, const struct forecast_job *predicted);

/* STATUS_TOO_LARGE: the job takes LEAST_MS or more, and would not be done within processing_ms even
 * if predictions are wrong by the factor refuse_times. */
enum status forecast_check_length(const struct config *config, double least_ms,
                                  struct failure *failure);

/* STATUS_BUSY: a job that waits for WAIT_MS and takes OWN_MS would miss its deadline, LEFT_MS from
 * now, even if its own time is wrong by the factor refuse_times. */
enum status forecast_check_time(const struct config *config, double wait_ms, double own_ms,
                                double left_ms, struct failure *failure);

/* Halves what was learned of workers that have not answered for a second. */
void forecast_begin(struct forecast *forecast, struct forecast_round *round);

/* True if WORKER has room for a job of that DURATION: backlog_has_room. */
bool forecast_has_room(const struct forecast *forecast, int worker, enum job_duration duration);

/* The healthy worker that is predicted to answer JOB first, or -1. Worker DIED_ON died with the job
 * before and comes last. A SUSPECT gets the worker with the fewest jobs, for it must run alone. */
int forecast_choose(const struct forecast *forecast, const struct forecast_round *round,
                    const struct forecast_job *job, int died_on, bool suspect);

/* The time that JOB would wait on the worker forecast_choose returns, and its own time there in
 * OWN_MS; 0 if there is none. */
double forecast_wait_ms(const struct forecast *forecast, const struct forecast_round *round,
                        const struct forecast_job *job, double *own_ms);

/* Counts JOB in WORKER's backlog for the rest of the round, whether it is sent now or waits. */
struct backlog_job forecast_reserve(struct forecast_round *round, const struct forecast_job *job,
                                    int worker);

/* WORKER has no room for jobs of that DURATION; or ALL: for no job. */
void forecast_mark_full(struct forecast_round *round, int worker, enum job_duration duration,
                        bool all);

/* True if the job's operators alone, without codecs, make it long on WORKER, and it goes not
 * abreast. */
bool forecast_needs_own_batch(const struct forecast *forecast, const struct forecast_job *job,
                              int worker);

/* A job of WORKER returned: removes it from the backlog and learns from its times. */
void forecast_learn(struct forecast *forecast, int worker, const struct forecast_job *predicted,
                    const struct job *job);

void forecast_statistics(const struct forecast *forecast, int worker,
                         struct worker_statistics *statistics);

/* ---- the backlog of one worker */

void backlog_add(struct backlog *backlog, const struct backlog_job *job);
void backlog_remove(struct backlog *backlog, const struct backlog_job *job);

/* True if the worker has room for a job of that DURATION: long jobs leave room for short ones.
 * Where lanes are apart some short jobs wait there already, so that no lane idles until the front,
 * which may wait for a core, has read an answer. MEASURED: the worker's cost has learned from a
 * job. */
bool backlog_has_room(const struct backlog *backlog, enum job_duration duration, bool measured);

/* The worker paused with work left: its current window says nothing of its speed. */
void backlog_end_window(struct backlog *backlog);

#endif
