// SPDX-License-Identifier: Apache-2.0
/* supervisor.h - starts the workers, sends them jobs, and replaces those that die or hang.
 *
 * A submitted job returns exactly once through its completion pipe: done, failed, timed out,
 * cancelled, or with its worker killed. The pipe's reader asks supervisor_returned whether a
 * completion is the job's last, and from time to time supervisor_overdue for lost completions. A
 * worker that dies is restarted at once. A job that it had begun runs once more, alone on a worker
 * so that no other job suffers; if a second worker dies with it, it is answered as failed.
 *
 * Used by:  server/http, server/request and server/api.
 * Owns:     the worker processes, which its thread reaps; the front's ends of their channels; a
 *           submitted job until supervisor_returned returns true.
 * Fails:    STATUS_BUSY: the queue is full, the daemon drains, no worker is healthy, or the job
 *           would miss its deadline. STATUS_BAD_PARAM: the device is not served. STATUS_TOO_LARGE:
 *           the job can never be done in time. A refused job stays with the caller.
 * Threads:  any may submit, cancel and ask; one thread of its own watches the workers.
 */
#ifndef BURIN_SUPERVISOR_H
#define BURIN_SUPERVISOR_H

#include "config/config.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/worker_list.h"
#include "server/jobs/slot.h"

#include <signal.h>
#include <stdbool.h>

struct supervisor;

struct supervisor_options {
    const struct config *config;
    struct slots *slots;
    const int *pipes; /* write ends of the I/O threads' completion pipes, borrowed */
    int pipe_count;
    struct generation *generation;     /* the first one, held; its users' operators get workers */
    const struct worker_list *workers; /* from worker_list_make, without processes; copied */
};

struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct failure *failure);
/* Ends the workers; remaining jobs return as busy, later ones are refused. */
void supervisor_stop(struct supervisor *supervisor);
void supervisor_destroy(struct supervisor *supervisor); /* stops it first if needed */

/* ---- a job's way */

/* Takes over the job in SLOT, whose `io_thread` is set. */
enum status supervisor_submit(struct supervisor *supervisor, int slot, struct failure *failure);

/* STATUS_OK if one more job of CLIENT, after MORE others, would find room in the queue now. NULL:
 * an unknown client. */
enum status supervisor_has_room(struct supervisor *supervisor, const struct client *client,
                                int more, struct failure *failure);

/* Takes a completion; true: the caller owns the job again; false: it belongs to an earlier run,
 * whose worker died or whose job was answered without it. */
bool supervisor_returned(struct supervisor *supervisor, int slot, uint32_t run_number);

/* Finds up to COUNT completions that should have come through the pipe of IO_THREAD and did not.
 * Returns their number; supervisor_returned takes them too. Looks at every slot: call it rarely. */
int supervisor_overdue(struct supervisor *supervisor, int io_thread, struct completion *completions,
                       int count);

/* The client has disconnected: a queued job returns immediately, a running one once its worker
 * notices `cancelled`. */
void supervisor_cancel(struct supervisor *supervisor, int slot);

void supervisor_drain(struct supervisor *supervisor); /* no new jobs from now on */

/* ---- the next generation of users' operators */

/* Starts workers for GENERATION, which is held until these have ended: after its last other holder
 * released it. false: the workers of two generations are there already. */
bool supervisor_start_operators(struct supervisor *supervisor, struct generation *generation);

/* True once GENERATION has a healthy worker on every device where the generation in force has one
 * (if that has no users' operators: where there is a healthy built-in worker), and one at least. */
bool supervisor_operators_ready(struct supervisor *supervisor, const struct generation *generation);

/* ---- questions */

int supervisor_jobs(struct supervisor *supervisor, int *waiting); /* queued and running ones */
int supervisor_clients(struct supervisor *supervisor);            /* clients with queued jobs */
/* Describes the workers, without those for users' operators of other generations than that in
 * force. All decoding cells count as one worker, the last, if one of them has a process. Returns
 * their number. */
int supervisor_workers(struct supervisor *supervisor, struct worker_facts facts[WORKERS_MAX]);

/* The progress of the request with that id; false: it is neither queued nor running. */
bool supervisor_progress(struct supervisor *supervisor, const char *request_id,
                         struct job_progress *progress);

/* Waits until a worker has become ready since the last call, a signal comes that MASK lets through,
 * or TIMEOUT_MS is over. One thread at a time. */
void supervisor_wait_worker(struct supervisor *supervisor, int timeout_ms, const sigset_t *mask);

/* A counter that grows at least every 50 ms while the watching thread runs. */
uint64_t supervisor_turns(const struct supervisor *supervisor);

/* Seconds after which a refused client should try again. */
int supervisor_retry_after_s(struct supervisor *supervisor);

#endif
