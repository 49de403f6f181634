// SPDX-License-Identifier: Apache-2.0
/* dispatcher_state.h - where every job is: what dispatcher.c and dispatcher_sweep.c know, and
 * nobody else.
 *
 * Used by:  dispatcher.c, dispatcher_sweep.c.
 * Threads:  one at a time, under the supervisor's lock.
 */
#ifndef BURIN_DISPATCHER_STATE_H
#define BURIN_DISPATCHER_STATE_H

#include "server/dispatch/dispatcher.h"
#include "server/dispatch/queue.h"
#include "server/dispatch/sweep.h"

enum { WAITING = -1, COMING_BACK = -2, NOWHERE = -1 };

struct place {
    short at;      /* WAITING, COMING_BACK, or the worker's number */
    short died_at; /* the worker that died with it, or NOWHERE */
    int io_thread; /* whose completion pipe it comes back on */
    struct forecast_job forecast;
    struct stillness lane;  /* of the thread that runs it */
    struct sweep_mark sent; /* the last message of it */
};

struct dispatcher {
    struct dispatcher_options options;
    struct queue *queue;
    struct place *places; /* by slot */
    uint32_t runs;        /* numbers them */
    int running;
    double service_ms; /* smoothed time of a job in a worker; 0 before the first */
    struct forecast forecast;
    int64_t whole_walk_ns;                      /* when all that waits was looked at last */
    int64_t sweep_ns;                           /* when lost messages were looked for last */
    struct sweep_channel channels[WORKERS_MAX]; /* to the workers */
};

static inline struct job *job_of(const struct dispatcher *dispatcher, int slot) {
    return slot_job(dispatcher->options.slots, slot);
}

/* The worker writes this copy, so nothing in it is believed unchecked (answer.h). */
static inline struct job *shared_job_of(const struct dispatcher *dispatcher, int slot) {
    return slot_shared_job(dispatcher->options.slots, slot);
}

#endif
