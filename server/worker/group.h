// SPDX-License-Identifier: Apache-2.0
/* group.h - jobs that a lane takes at once, to run them in one batch.
 *
 * Used by:  pending.c chooses them, worker.c runs them.
 * Owns:     nothing.
 * Threads:  the lane's.
 * Limits:   RUN_BATCH_MAX jobs, and GROUP_MS of work unless codecs take the time.
 */
#ifndef BURIN_GROUP_H
#define BURIN_GROUP_H

#include "pipeline/run.h"
#include "server/jobs/slot.h"

/* Milliseconds of work, each job alone, that are enough for what a batch saves. */
enum { GROUP_MS = 20 };

struct group {
    int slots[RUN_BATCH_MAX];
    int count;      /* 0: nothing yet, or the self-test */
    bool self_test; /* the front asks for one */
    bool is_long;
    enum job_duration lane; /* of the lane that takes it, where lanes are apart (pending.h) */
};

/* The first of WAITING and those like it, MOST at most, in their order, into GROUP: the same plan,
 * the same kind of samples, a like cost. A job whose operators take long is alone. */
void group_choose(struct group *group, const struct slots *slots, const int *waiting, int count,
                  int most);

#endif
