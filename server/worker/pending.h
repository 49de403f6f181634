// SPDX-License-Identifier: Apache-2.0
/* pending.h - the jobs that wait inside a worker, shared by its lanes.
 *
 * A lane takes a group of jobs that run together; the next lane can take the others at once. On a
 * GPU the last free lane takes no long job, so that a short one never waits for it. A long job that
 * has waited for its predicted time gets the next lane, as long as one lane remains without a long
 * job. Jobs abreast, which are medium there, have lanes of their own; another lane takes them only
 * while it and all others of its kind are free. On a CPU durations have separate lanes: each lane
 * takes jobs of one duration only.
 *
 * Used by:  worker.c, one call per lane at a time.
 * Owns:     a job from its message until a lane takes it; the channel is the caller's.
 * Fails:    pending_create returns NULL without memory.
 * Threads:  the lanes'.
 * Limits:   `capacity` jobs; further messages stay in the channel. A group has at most
 *           RUN_BATCH_MAX jobs, and GROUP_MS of predicted work, unless codecs take the time
 *           or the jobs go abreast.
 */
#ifndef BURIN_PENDING_H
#define BURIN_PENDING_H

#include "pipeline/run.h"
#include "server/jobs/slot.h"

/* The front asks to unregister what a free slot has grown by. */
struct unpin {
    int slot;
    uint32_t number; /* of the request; 0: none */
};

/* Jobs that a lane takes at once, to run them in one batch. */
struct group {
    int slots[RUN_BATCH_MAX];
    int count; /* 0: nothing yet, or what the front asks for: */
    bool self_test;
    struct unpin unpin;
    bool is_long;
    enum job_duration lane; /* of the lane's jobs, where durations are separate; else JOB_SHORT, or
                               JOB_MEDIUM of a lane for these alone */
};

struct pending;

struct pending_options {
    int channel;
    int lanes;    /* for all jobs, or of each duration where `apart` */
    int many;     /* further lanes, for medium jobs alone: on a GPU those abreast */
    bool apart;   /* durations have separate lanes; then batch is 1 */
    int batch;    /* the most jobs in a group */
    int capacity; /* jobs */
    struct slots *slots;
};

struct pending *pending_create(const struct pending_options *options);
void pending_destroy(struct pending *pending); /* accepts NULL; no lane may be in a call */

enum pending_outcome { PENDING_CLOSED, PENDING_TAKEN, PENDING_NONE };

/* Ends the lane's last GROUP, all zero at first but for `lane`, and takes the next: waits for
 * WAIT_MS, or CHANNEL_FOREVER. PENDING_NONE: no job came in that time. PENDING_CLOSED: the front
 * has closed the channel, and queued jobs are abandoned. */
enum pending_outcome pending_take(struct pending *pending, struct group *group, int wait_ms);

/* Puts jobs of a lane's group that the lane does not run back to the front of the list, and wakes a
 * sleeping lane for them. */
void pending_return(struct pending *pending, const int *slots, int count);

#endif
