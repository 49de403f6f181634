// SPDX-License-Identifier: Apache-2.0
/* supervisor.h - the front's end of the workers: starts them, gives them jobs, and replaces those
 * that die or hang.
 *
 * A submitted job comes back once through its completion pipe, whatever happens: done, failed,
 * timed out, cancelled, or its worker killed. Whoever reads the pipe asks supervisor_returned
 * whether the message is the job's last, and now and then supervisor_overdue what was lost there. A
 * worker that dies is started again at once; a job that it had begun runs once more, alone on a
 * worker so that it cannot take others along; a job with which a second worker dies is answered as
 * failed.
 *
 * Used by:  server/http.
 * Owns:     the worker processes, and a submitted job until supervisor_returned says true.
 * Fails:    STATUS_BUSY when the queue is full, the daemon drains or no worker is healthy;
 *           STATUS_BAD_PARAM when the job wants a device that is not served. A refused job stays
 *           with the caller.
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
    struct generation *generation;     /* the first: workers of their own are started for its users'
                                      operators; it is held */
    const struct worker_list *workers; /* by worker_list_make; none of them has begun; copied */
};

struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct failure *failure);
/* Ends the workers; jobs still there come back as busy, later ones are refused. */
void supervisor_stop(struct supervisor *supervisor);
void supervisor_destroy(struct supervisor *supervisor); /* stops it first where nobody did */

/* ---- a job's way */

/* The job's `io_thread` is set. */
enum status supervisor_submit(struct supervisor *supervisor, int slot, struct failure *failure);

/* Would a job of CLIENT be taken now, MORE others of it before? NULL: of a client unknown. */
enum status supervisor_has_room(struct supervisor *supervisor, const struct client *client,
                                int more, struct failure *failure);

/* A completion came: true when the job is the caller's again; false for late news of a run whose
 * worker died or whose job was answered otherwise. */
bool supervisor_returned(struct supervisor *supervisor, int slot, uint32_t run_number);

/* Up to COUNT completions that should have come through the pipe of IO_THREAD and did not: they are
 * asked for as those that came. Returns how many. Looks at every slot: for now and then. */
int supervisor_overdue(struct supervisor *supervisor, int io_thread, struct completion *completions,
                       int count);

/* The client has disconnected: a waiting job comes back at once, a running one when its worker sees
 * the flag. */
void supervisor_cancel(struct supervisor *supervisor, int slot);

void supervisor_drain(struct supervisor *supervisor); /* no new jobs from now on */

/* ---- the next generation of users' operators */

/* Starts workers for those of GENERATION, which is held until they have ended: that is when nobody
 * else holds it any more. false: the workers of two generations are there already. */
bool supervisor_start_operators(struct supervisor *supervisor, struct generation *generation);

/* They are healthy on one device at least, and on every device on which the workers of the
 * generation in force are; where it has none, the built-in ones. */
bool supervisor_operators_ready(struct supervisor *supervisor, const struct generation *generation);

/* ---- questions */

int supervisor_jobs(struct supervisor *supervisor, int *waiting); /* waiting and running together */
int supervisor_clients(struct supervisor *supervisor);            /* whose jobs wait */
/* Those for users' operators are the ones of the generation in force. */
int supervisor_workers(struct supervisor *supervisor, struct worker_facts facts[WORKERS_MAX]);

/* How far the request with that id is; false: it neither waits nor runs. */
bool supervisor_progress(struct supervisor *supervisor, const char *request_id,
                         struct job_progress *progress);

/* Waits until a worker has become ready since the last call, a signal came that MASK lets through,
 * or TIMEOUT_MS is over. One thread at a time. */
void supervisor_wait_worker(struct supervisor *supervisor, int timeout_ms, const sigset_t *mask);

/* Grows every 50 ms at least, while the thread that watches the workers goes on. */
uint64_t supervisor_turns(const struct supervisor *supervisor);

/* Seconds after which a refused client should try again. */
int supervisor_retry_after_s(struct supervisor *supervisor);

#endif
