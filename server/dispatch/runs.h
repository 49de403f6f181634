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
 * Limits:   pixels of queue_bytes, or one job's, lie in slots: the cell may be faster than what
 *           follows.
 */
#ifndef BURIN_RUNS_H
#define BURIN_RUNS_H

#include "server/jobs/slot.h"

/* A first run: results, which the answer of the second does not have, and its pixels in the slot.
 */
struct first_run {
    double decode_ms;
    uint32_t notes;
    uint64_t bytes;
};

/* HELD: bytes of pixels in the slots of all jobs, from the time a job is sent to the cell until
 * its last run has ended. True if JOB has no first run to come, or HELD and its pixels are at most
 * MOST, or nothing is held. */
bool runs_have_room(uint64_t held, uint64_t most, const struct job *job);

/* JOB is sent to a worker. */
void runs_hold(uint64_t *held, const struct job *job, struct first_run *first);

void runs_release(uint64_t *held, struct first_run *first);

enum { RUNS_MAX = 2 };

/* The values of `decoding` in the runs of JOB, which is to begin its first; the last one comes
 * first. Returns their number. */
int runs_list(const struct job *job, int32_t decodings[RUNS_MAX]);

/* The failure of a job that is taken from the queue to make room, with WAITING others in it. */
void runs_displace(struct job *job, int waiting);

/* JOB's run has ended with its worker: true if JOB needs no further one; its failure says why. */
bool runs_are_over(uint64_t *held, struct job *job, struct first_run *first);

/* If JOB's run was a first one that succeeded, makes JOB ready for the second; FIRST keeps what the
 * answer must have. Else completes the answer with FIRST, releases that, and returns false. */
bool runs_go_on(uint64_t *held, struct job *job, struct first_run *first);

/* Writes JOB into SHARED, the copy that a worker gets. */
void runs_share(const struct job *job, struct job *shared);

#endif
