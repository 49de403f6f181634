// SPDX-License-Identifier: Apache-2.0
/* sweep.h - finds jobs of which a message was lost, on the way to a worker or back.
 *
 * A read or a write may fail, and then nobody knows of the message. What became of a job stands in
 * its slot, where both sides see it: that the worker has the message of this run, and that it has
 * finished. So whoever sent the job looks now and then, and sends again what should have come; who
 * waits for its answer looks for that itself. A copy does no harm: the number of the run tells that
 * it is one.
 *
 * A message that was not received may also wait to be read. Messages are read in order: it is lost
 * if a later one was received, or if nothing is unread.
 *
 * Used by:  dispatcher.c and dispatcher_sweep.c for workers, operators_worker.c for its sandbox.
 * Owns:     nothing.
 * Threads:  one at a time.
 * Limits:   a message is made good within SWEEP_OLD_MS and SWEEP_MS, and 50 ms for the supervisor's
 *           turn; where the copy is lost too, so much later again.
 */
#ifndef BURIN_SWEEP_H
#define BURIN_SWEEP_H

#include "server/dispatch/worker_handle.h"

/* How often to look, and how old a message is before it may be taken for lost. */
enum { SWEEP_MS = 100, SWEEP_OLD_MS = 250 };

enum sweep_finding {
    SWEEP_NOTHING,
    SWEEP_NOT_RECEIVED, /* lost, or it waits to be read */
    SWEEP_NOT_TOLD      /* the job has finished, and its completion has not come */
};

/* JOB, as its worker writes it, was sent, or a message of it sent again, at SENT_NS. */
enum sweep_finding sweep_look(const struct job *job, int64_t sent_ns, int64_t now);

/* By the worker that it was sent to. */
bool sweep_is_received(const struct job *job);

/* All zero at first, for as many processes as follow one another. */
struct sweep_channel {
    uint64_t sent;     /* messages of jobs */
    uint64_t received; /* the last that is known to be */
};

/* The message of a job. */
struct sweep_mark {
    uint64_t number; /* on its channel */
    int64_t ns;      /* when it was sent */
};

void sweep_note_sent(struct sweep_channel *channel, struct sweep_mark *mark, int64_t now);
void sweep_note_received(struct sweep_channel *channel, const struct sweep_mark *mark);

/* A job that is on its way to a worker. */
struct sweep_job {
    int slot;
    const struct job *job, *shared; /* the front's, and what the worker writes */
    const struct worker_handle *worker;
    const struct sweep_channel *channel;
    const struct sweep_mark *sent;
};

/* Whether its message was lost, and has been sent again. Never waits. */
bool sweep_send_again(const struct sweep_job *what, int64_t now);

/* Logs that a message of JOB was lost. */
void sweep_tell(const struct job *job, int64_t now);

#endif
