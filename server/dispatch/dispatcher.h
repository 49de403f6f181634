// SPDX-License-Identifier: Apache-2.0
/* dispatcher.h - tracks every submitted job and decides which worker runs it next.
 *
 * A job waits in the queue, runs on a worker, or returns through its completion pipe. The queue's
 * order is fair by client. In that order each job goes to the healthy worker that may run it and is
 * predicted to answer first; it waits while that worker is full. Long jobs leave one lane of every
 * worker to short jobs.
 *
 * Used by:  supervisor.c.
 * Owns:     the queue, and a submitted job until dispatcher_completed returns true. What struct
 *           dispatcher_options points to stays the caller's.
 * Fails:    dispatcher_submit returns STATUS_BUSY, STATUS_BAD_PARAM (device not served) or
 *           STATUS_TOO_LARGE (never done in time); the job stays with the caller.
 * Threads:  one at a time, under the supervisor's lock.
 * Limits:   queue_jobs queued jobs, a quarter of them with users' operators; two runs of a job with
 *           which a worker dies.
 */
#ifndef BURIN_DISPATCHER_H
#define BURIN_DISPATCHER_H

#include "config/config.h"
#include "server/dispatch/worker_list.h"
#include "server/jobs/completion_pipe.h"
#include "server/jobs/slot.h"

struct dispatcher_options {
    const struct config *config;
    struct slots *slots;
    const int *pipes; /* write ends of the completion pipes, by I/O thread */
    struct worker_list *workers;
};

/* A job's progress; the worker reports the step that was begun last. */
struct job_progress {
    bool waiting;               /* no worker has the job */
    bool in_order;              /* steps run one after the other: not so on a GPU */
    uint32_t step, done, total; /* of the plan; total 0: the step reports no progress */
    struct plan_data plan;
    uint32_t generation; /* of the plan's users' operators; 0: built-in ones alone */
};

struct dispatcher;

struct dispatcher *dispatcher_create(const struct dispatcher_options *options,
                                     struct failure *failure);
void dispatcher_destroy(struct dispatcher *dispatcher);

/* ---- a job's way */

/* Queues the job and sends it at once if a worker has room. */
enum status dispatcher_submit(struct dispatcher *dispatcher, int slot, struct failure *failure);

/* Asks queue_has_room; returns STATUS_BUSY if there is none. */
enum status dispatcher_has_room(const struct dispatcher *dispatcher, const struct client *client,
                                int more, struct failure *failure);

/* Sends queued jobs to workers, as far as these have room. */
void dispatcher_assign(struct dispatcher *dispatcher);

/* Takes a completion; true: it is the job's last, and the caller owns the job again. */
bool dispatcher_completed(struct dispatcher *dispatcher, int slot, uint32_t run_number);

/* Returns a queued job immediately, a running one once its worker notices `cancelled`. */
void dispatcher_cancel(struct dispatcher *dispatcher, int slot);

/* ---- faults, found by the supervisor */

/* Returns queued jobs whose deadline has passed or that no worker is left for. */
void dispatcher_expire(struct dispatcher *dispatcher);

/* Resends messages to workers that were lost. */
void dispatcher_sweep(struct dispatcher *dispatcher, int64_t now);

/* Finds up to COUNT completions that should have come through the pipe of IO_THREAD long ago.
 * Returns their number; the caller treats them as read there. */
int dispatcher_overdue(const struct dispatcher *dispatcher, int io_thread, int64_t now,
                       struct completion *completions, int count);

/* Reports to WORKER when its jobs last made progress. True if one of them hangs: its deadline
 * passed more than processing_ms ago, so nothing checks its progress any more, even if other lanes
 * go on; or its lane, on a CPU, hangs (worker_handle_lane_hangs). */
bool dispatcher_hangs(struct dispatcher *dispatcher, struct worker_handle *worker, int64_t now);

/* The worker's process has ended: queues its jobs in front of all others, or returns those that
 * need no further run. */
void dispatcher_recover(struct dispatcher *dispatcher, const struct worker_handle *worker);

/* Returns all jobs, queued or running, as busy: no worker is left. */
void dispatcher_send_back_all(struct dispatcher *dispatcher);

/* ---- questions */

int dispatcher_waiting(const struct dispatcher *dispatcher); /* queued jobs */
int dispatcher_clients(const struct dispatcher *dispatcher); /* clients with queued jobs */
int dispatcher_running(const struct dispatcher *dispatcher); /* jobs on workers */

/* The progress of the request with that id; false: none of its jobs is queued or running. Looks at
 * every slot, so it is too slow for every request. */
bool dispatcher_progress(const struct dispatcher *dispatcher, const char *request_id,
                         struct job_progress *progress);

/* WORKER: its number in the list. */
void dispatcher_statistics(const struct dispatcher *dispatcher, int worker,
                           struct worker_statistics *statistics);

/* Seconds after which a refused client should try again: 1 to 30. */
int dispatcher_retry_after_s(const struct dispatcher *dispatcher);

#endif
