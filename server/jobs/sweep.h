// SPDX-License-Identifier: Apache-2.0
/* sweep.h - finds jobs of which a message was lost, on the way to a worker or back.
 *
 * A read or a write may fail, and then nobody knows of the message. What became of a job stands in
 * its slot, where both sides see it: that the worker has the message of this run, and that it has
 * finished. So whoever sent the job looks now and then, and sends again what should have come. A
 * copy does no harm: the number of the run tells that it is one.
 *
 * Used by:  dispatcher.c for workers, operators_worker.c for its sandbox.
 * Threads:  one at a time.
 */
#ifndef BURIN_SWEEP_H
#define BURIN_SWEEP_H

#include "server/jobs/worker_handle.h"

/* How often to look, and how old a message is before it may be taken for lost. */
enum { SWEEP_MS = 250 };

enum sweep_finding {
    SWEEP_NOTHING,
    SWEEP_NOT_RECEIVED, /* lost, or it waits to be read: channel_is_read() tells */
    SWEEP_NOT_TOLD      /* the job has finished, and its completion has not come */
};

/* JOB was sent, or a message of it sent again, at SENT_NS. */
enum sweep_finding sweep_look(const struct job *job, int64_t sent_ns, int64_t now);

/* A job that is on its way. */
struct sweep_job {
    int slot;
    const struct job *job;
    const struct worker_handle *worker; /* that it was sent to; NULL: it was sent back */
    int pipe;                           /* that it comes back through */
    int64_t sent_ns;                    /* as above */
};

/* Whether a message of it was lost, and has been sent again. Never waits. */
bool sweep_send_again(const struct sweep_job *what, int64_t now);

#endif
