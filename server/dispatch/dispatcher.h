// SPDX-License-Identifier: Apache-2.0
/* dispatcher.h - where every job is, and which worker runs it next.
 *
 * A job waits in the queue, runs on a worker, or is on its way back through its completion pipe.
 * In the queue's order, which is fair by client, each goes to the healthy worker that may run it
 * and is predicted to answer first; it waits where that one has no room. A long job leaves a lane
 * of every worker to short ones.
 *
 * Used by:  supervisor.c, under its lock; a dispatcher has none of its own.
 * Owns:     the queue, and a submitted job until dispatcher_completed says true.
 * Fails:    dispatcher_submit returns STATUS_BUSY or STATUS_BAD_PARAM; the job stays with the
 *           caller.
 * Limits:   queue_jobs may wait, a quarter of them for users' operators; a job is tried on two
 *           workers at most.
 */
#ifndef BURIN_DISPATCHER_H
#define BURIN_DISPATCHER_H

#include "config/config.h"
#include "server/dispatch/forecast.h"
#include "server/dispatch/worker_list.h"
#include "server/jobs/completion_pipe.h"
#include "server/jobs/slot.h"

/* All borrowed. */
struct dispatcher_options {
    const struct config *config;
    struct slots *slots;
    const int *pipes; /* write ends of the completion pipes, by I/O thread */
    struct worker_list *workers;
};

/* How far a job is; what its worker tells of the step that was begun last. */
struct job_progress {
    bool waiting;               /* no worker has it */
    bool in_order;              /* a step begins when the one before is done: not so on a GPU */
    uint32_t step, done, total; /* of the plan; total 0: the step does not tell */
    struct plan_data plan;
    uint32_t generation; /* whose operators the plan has; 0: built-in ones alone */
};

struct dispatcher;

struct dispatcher *dispatcher_create(const struct dispatcher_options *options,
                                     struct failure *failure);
void dispatcher_destroy(struct dispatcher *dispatcher);

/* ---- a job's way */

/* Queues the job, and hands it out at once where a worker has room. */
enum status dispatcher_submit(struct dispatcher *dispatcher, int slot, struct failure *failure);

/* Asks queue_has_room; returns STATUS_BUSY if there is none. */
enum status dispatcher_has_room(const struct dispatcher *dispatcher, const struct client *client,
                                int more, struct failure *failure);

/* Hands out what waits, as far as workers have room. */
void dispatcher_hand_out(struct dispatcher *dispatcher);

/* A completion came: true when it is the job's last, and the job the caller's again. */
bool dispatcher_completed(struct dispatcher *dispatcher, int slot, uint32_t run_number);

/* A waiting job comes back at once, a running one when its worker sees the flag. */
void dispatcher_cancel(struct dispatcher *dispatcher, int slot);

/* ---- what the supervisor finds */

/* Sends back the waiting jobs whose time is over, or for which no worker is left. */
void dispatcher_expire(struct dispatcher *dispatcher);

/* Finds messages that were lost on their way to the workers, and sends them again. */
void dispatcher_sweep(struct dispatcher *dispatcher, int64_t now);

/* Up to COUNT of the jobs that came back through the pipe of IO_THREAD long ago, as if they were
 * read there now. Returns how many. */
int dispatcher_overdue(const struct dispatcher *dispatcher, int io_thread, int64_t now,
                       struct completion *completions, int count);

/* Tells the worker when its jobs last went on. True if one of them hangs: it is past its deadline
 * by processing_ms and more, so nothing looks at its progress any more, whatever the other lanes
 * do; or its lane, on a CPU, has slept in it for worker_still_ms (lane_watch.h). */
bool dispatcher_hangs(struct dispatcher *dispatcher, struct worker_handle *worker, int64_t now);

/* The worker's process has ended: its jobs are queued first, or sent back where that makes no
 * sense. */
void dispatcher_recover(struct dispatcher *dispatcher, const struct worker_handle *worker);

/* Sends back all jobs as busy, waiting or running: no worker is left. */
void dispatcher_send_back_all(struct dispatcher *dispatcher);

/* ---- questions */

int dispatcher_waiting(const struct dispatcher *dispatcher);
int dispatcher_clients(const struct dispatcher *dispatcher); /* whose jobs wait */
int dispatcher_running(const struct dispatcher *dispatcher);

/* Of the request with that id; false: no job of it waits or runs. Looks at every job: for those who
 * ask now and then. */
bool dispatcher_progress(const struct dispatcher *dispatcher, const char *request_id,
                         struct job_progress *progress);

/* Of the worker with that number in the list. */
void dispatcher_account(const struct dispatcher *dispatcher, int worker,
                        struct worker_account *account);

/* Seconds after which a refused client should try again: 1 to 30. */
int dispatcher_retry_after_s(const struct dispatcher *dispatcher);

#endif
