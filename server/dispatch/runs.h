// SPDX-License-Identifier: Apache-2.0
/* runs.h - what a job keeps from one run to the next, and when it gets no further one.
 *
 * A job with files that are read or written in a cell has up to three runs that all succeed: a cell
 * leaves the image's pixels in the slot, behind the upload; then any worker runs the plan on these,
 * and leaves the pixels of results; then a cell makes files of them. Shapes are the front's own,
 * from the header. A worker that dies costs a run of its kind; such deaths are counted for each
 * kind alone.
 *
 * In place of the first two runs a job may have one on a GPU whose video engine decodes the image.
 * If the engine refuses it, or the worker dies, these two follow after all.
 *
 * Used by:  dispatcher.c and admission.c.
 * Owns:     nothing.
 * Fails:    never.
 * Threads:  one at a time, under the supervisor's lock.
 * Limits:   pixels of queue_bytes, or one job's, lie in slots: one kind of run may be faster than
 *           the next. The codecs of all cells take memory_cells(), or what one of them needs.
 */
#ifndef BURIN_RUNS_H
#define BURIN_RUNS_H

#include "config/config.h"
#include "server/jobs/slot.h"

/* Bytes of one job, or of all. */
struct runs_held {
    uint64_t pixels; /* in slots, from the first run's begin to the last one's end */
    uint64_t memory; /* that codecs may take in cells, during a run */
    bool crowded;    /* of all jobs: one found no room, and no smaller one passes it */
};

/* The times of a job's earlier runs, and what it holds. */
struct earlier_runs {
    double ms[STAGE_COUNT];
    struct runs_held held;
};

/* HELD: by all jobs; the caller clears `crowded` before each walk over the queue. True if there is
 * room for the run that JOB has now. */
bool runs_have_room(struct runs_held *held, const struct config *config, const struct job *job,
                    const struct earlier_runs *earlier);

/* JOB is sent to a worker. */
void runs_hold(struct runs_held *held, const struct config *config, const struct job *job,
               struct earlier_runs *earlier);

void runs_release(struct runs_held *held, struct earlier_runs *earlier);

enum { RUNS_MAX = 3 };

/* The runs of JOB, the last one first; ENGINE: a video engine decodes. Returns their number. */
int runs_list(const struct job *job, bool engine, int32_t runs[RUNS_MAX]);

/* The failure of a job that is taken from the queue to make room, with WAITING others in it. */
void runs_displace(struct job *job, int waiting);

/* JOB's run has ended with its worker: true if JOB needs no further one; its failure says why. */
bool runs_are_over(struct runs_held *held, struct job *job, struct earlier_runs *earlier);

/* If JOB's run succeeded and was not the last, makes JOB ready for the next; EARLIER keeps what the
 * answer must have. Else completes the answer with EARLIER, releases that, and returns false. */
bool runs_go_on(struct runs_held *held, struct job *job, struct earlier_runs *earlier);

/* The run of JOB by a video engine has failed, or there is no engine left for it: makes JOB ready
 * for a cell. */
void runs_leave_engine(struct runs_held *held, struct job *job, struct earlier_runs *earlier);

/* Writes JOB into SHARED, the copy that a worker gets. */
void runs_share(const struct job *job, struct job *shared);

#endif
