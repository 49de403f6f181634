// SPDX-License-Identifier: Apache-2.0
/* runs.h - what a job keeps from one run to the next, and when it gets no further one.
 *
 * A job whose image is decoded apart has two runs that both succeed: the decoding cell leaves the
 * pixels in the slot, behind the upload, and then any worker runs the plan on these. Shape and
 * place of the pixels are the front's own, from the header. A worker that dies costs a run of
 * either kind; such deaths are counted for each kind alone.
 *
 * Used by:  dispatcher.c.
 * Owns:     nothing.
 * Fails:    never.
 * Threads:  one at a time, under the supervisor's lock.
 * Limits:   pixels of queue_bytes, or one job's, lie in slots: cells may be faster than what
 *           follows. The decoders of all cells take cpu_memory_bytes, or what one of them needs.
 */
#ifndef BURIN_RUNS_H
#define BURIN_RUNS_H

#include "config/config.h"
#include "server/jobs/slot.h"

/* Bytes of one job, or of all. */
struct runs_held {
    uint64_t pixels; /* in slots, from the time a job is sent to a cell until its last run ends */
    uint64_t memory; /* that decoders may take, until the first run ends */
};

/* A first run: results, which the answer of the second does not have, and what it holds. */
struct first_run {
    double decode_ms;
    uint32_t notes;
    struct runs_held held;
};

/* HELD: by all jobs. True if JOB has no first run to come, or there is room for that. */
bool runs_have_room(const struct runs_held *held, const struct config *config,
                    const struct job *job);

/* JOB is sent to a worker. */
void runs_hold(struct runs_held *held, const struct config *config, const struct job *job,
               struct first_run *first);

void runs_release(struct runs_held *held, struct first_run *first);

enum { RUNS_MAX = 2 };

/* The values of `decoding` in the runs of JOB, which is to begin its first; the last one comes
 * first. Returns their number. */
int runs_list(const struct job *job, int32_t decodings[RUNS_MAX]);

/* The failure of a job that is taken from the queue to make room, with WAITING others in it. */
void runs_displace(struct job *job, int waiting);

/* JOB's run has ended with its worker: true if JOB needs no further one; its failure says why. */
bool runs_are_over(struct runs_held *held, struct job *job, struct first_run *first);

/* If JOB's run was a first one that succeeded, makes JOB ready for the second; FIRST keeps what the
 * answer must have. Else completes the answer with FIRST, releases that, and returns false. */
bool runs_go_on(struct runs_held *held, struct job *job, struct first_run *first);

/* Writes JOB into SHARED, the copy that a worker gets. */
void runs_share(const struct job *job, struct job *shared);

#endif
