// SPDX-License-Identifier: Apache-2.0
/* dispatcher_state.h - what the dispatcher knows of every job, for the files that decide by it.
 *
 * Used by:  dispatcher.c and admission.c.
 * Owns:     see dispatcher.h.
 * Threads:  one at a time, under the supervisor's lock.
 */
#ifndef BURIN_DISPATCHER_STATE_H
#define BURIN_DISPATCHER_STATE_H

#include "server/dispatch/dispatcher.h"
#include "server/dispatch/forecast.h"
#include "server/dispatch/queue.h"
#include "server/dispatch/runs.h"
#include "server/dispatch/sweep.h"

/* Values of job_state.worker that are no worker's number. */
enum { WAITING = -1, RETURNING = -2, NO_WORKER = -1 };

struct job_state {
    int worker;    /* its number; WAITING: queued, or not submitted; RETURNING: sent back by us */
    int died_on;   /* the worker that died with the job, or NO_WORKER */
    int io_thread; /* the job returns on its completion pipe */
    struct forecast_job forecast;
    struct earlier_runs earlier;
    double cells_ms;        /* predicted times of its runs in cells that have not ended */
    struct stillness lane;  /* of the thread that runs the job */
    struct sweep_mark sent; /* the job's last message; RETURNING: `ns` alone */
};

struct dispatcher {
    struct dispatcher_options options;
    struct queue *queue;
    int slots;
    struct job_state *states; /* by slot */
    uint32_t runs;            /* the last run number */
    int running;
    double service_ms; /* smoothed time of a job in a worker; 0 before the first */
    struct forecast forecast;
    struct runs_held held;                      /* by the runs of all jobs */
    int64_t whole_walk_ns;                      /* when a walk last looked at all queued jobs */
    int64_t sweep_ns;                           /* when lost messages were last looked for */
    struct sweep_channel channels[WORKERS_MAX]; /* to the workers */
};

static inline struct job *job_of(const struct dispatcher *dispatcher, int slot) {
    return slot_job(dispatcher->options.slots, slot);
}

/* The worker writes this copy: nothing in it is believed unchecked (answer.h). */
static inline struct job *shared_job_of(const struct dispatcher *dispatcher, int slot) {
    return slot_shared_job(dispatcher->options.slots, slot);
}

#endif
