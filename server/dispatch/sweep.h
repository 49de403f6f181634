// SPDX-License-Identifier: Apache-2.0
/* sweep.h - finds jobs whose message to a worker, or whose completion, was lost.
 *
 * A failed read or write loses a message unnoticed. The job's slot, which both sides see, has the
 * truth: whether the worker has received the message of this run, and whether the job has finished.
 * So the sender compares now and then, and resends; the reader of completions looks for missing
 * ones itself. A copy does no harm: its run number shows that it is one.
 *
 * A message that was not received may also be unread. Messages are read in order: it is lost if a
 * later one was received, or if nothing is unread.
 *
 * Used by:  dispatcher.c for workers, operators_worker.c for its sandbox.
 * Owns:     nothing.
 * Threads:  one at a time.
 * Limits:   a message is resent within SWEEP_OLD_MS + SWEEP_MS + 50 ms (the supervisor's turn);
 *           if the copy is lost too, after the same time again.
 */
#ifndef BURIN_SWEEP_H
#define BURIN_SWEEP_H

#include "server/dispatch/worker_handle.h"

/* How often to compare, and the age from which a message may count as lost. */
enum { SWEEP_MS = 100, SWEEP_OLD_MS = 250 };

enum sweep_finding {
    SWEEP_NOTHING,
    SWEEP_NOT_RECEIVED, /* lost or unread */
    SWEEP_NOT_REPORTED  /* the job has finished, and its completion has not come */
};

/* JOB: the copy that the worker writes. SENT_NS: when its last message was sent. */
enum sweep_finding sweep_look(const struct job *job, int64_t sent_ns, int64_t now);

/* True once the worker has the message of JOB's current run. */
bool sweep_is_received(const struct job *job);

/* Zeroed once; goes on counting when one process of a worker follows another. */
struct sweep_channel {
    uint64_t sent;     /* number of the last job's message that was sent */
    uint64_t received; /* of the last that is known to be received */
};

/* A job's last message. */
struct sweep_mark {
    uint64_t number; /* on its channel */
    int64_t ns;      /* when it was sent, a time of clock_ns */
};

void sweep_note_sent(struct sweep_channel *channel, struct sweep_mark *mark, int64_t now);
void sweep_note_received(struct sweep_channel *channel, const struct sweep_mark *mark);

/* A job on a worker. */
struct sweep_job {
    int slot;
    const struct job *job, *shared; /* the front's own, and the copy that the worker writes */
    const struct worker_handle *worker;
    const struct sweep_channel *channel;
    const struct sweep_mark *sent;
};

/* Resends the job's message if it was lost; returns whether it did. Never waits. */
bool sweep_send_again(const struct sweep_job *what, int64_t now);

/* Logs, at a limited rate, that a message of JOB was lost. */
void sweep_log_loss(const struct job *job, int64_t now);

#endif
