// SPDX-License-Identifier: Apache-2.0
/* pending.h - the jobs that wait inside a worker, shared by its lanes.
 *
 * A lane takes one group of jobs that run together; the others are there for the next lane at once.
 * On a GPU a long job is not taken by the last lane that is free, so that a short one never
 * waits for it; but once it has waited for as long as it takes, it gets the next lane, as long as
 * another one has no long job. On a CPU lanes are apart: each takes jobs of one duration alone.
 *
 * Used by:  worker.c, a call of each lane at a time.
 * Owns:     a job from its message to its lane; the channel is the caller's.
 * Fails:    pending_create returns NULL without memory.
 * Threads:  the lanes'.
 * Limits:   `capacity` jobs; further messages stay in the channel. A group has RUN_BATCH_MAX jobs,
 *           and GROUP_MS of work unless codecs take the time.
 */
#ifndef BURIN_PENDING_H
#define BURIN_PENDING_H

#include "pipeline/run.h"
#include "server/jobs/slot.h"

/* Jobs that a lane takes at once, to run them in one batch. */
struct group {
    int slots[RUN_BATCH_MAX];
    int count;      /* 0: nothing yet, or the self-test */
    bool self_test; /* the front asks for one */
    bool is_long;
    enum job_duration lane; /* of the lane that takes it, where lanes are apart */
};

struct pending;

struct pending_options {
    int channel;
    int lanes;    /* where they are apart, of each duration */
    bool apart;   /* then batch is 1 */
    int batch;    /* jobs in a group */
    int capacity; /* jobs */
    struct slots *slots;
};

struct pending *pending_create(const struct pending_options *options);
void pending_destroy(struct pending *pending); /* no lane is in it */

enum pending_outcome { PENDING_CLOSED, PENDING_TAKEN, PENDING_NONE };

/* The lane is done with GROUP, all zero at first but for its `lane`, and takes the next: waits for
 * WAIT_MS, or CHANNEL_FOREVER. PENDING_NONE: there was none in that time. PENDING_CLOSED: the other
 * end of the channel is closed, and what waits is nobody's any more. */
enum pending_outcome pending_take(struct pending *pending, struct group *group, int wait_ms);

/* Jobs of a lane's group that it does not run after all: they are first again, and at once there
 * for lanes that sleep. */
void pending_return(struct pending *pending, const int *slots, int count);

#endif
