// SPDX-License-Identifier: Apache-2.0
#include "server/worker/group.h"

/* Costs are alike if the larger is at most so many times the smaller, and a millisecond more. */
enum { LIKE_TIMES = 4, LIKE_MS = 1 };

/* Whoever shares a batch waits for all of it. */
static bool like_cost(const struct job *a, const struct job *b) {
    const bool more = a->predicted_ms > b->predicted_ms;
    const double most = more ? a->predicted_ms : b->predicted_ms;
    const double least = more ? b->predicted_ms : a->predicted_ms;
    return most <= LIKE_TIMES * least + LIKE_MS;
}

/* Whether a group of jobs like FIRST, of MS so far, may take JOB too. Other lanes are there for
 * more work; but where codecs make it long, cores work at as many files at once as there are. */
static bool may_join(const struct job *first, const struct job *job, double ms) {
    return !first->unbatched && job_is_alike(first, job) && like_cost(first, job) &&
           (first->duration == JOB_LONG || ms + job->predicted_ms <= GROUP_MS);
}

void group_choose(struct group *group, const struct slots *slots, const int *waiting, int count,
                  int most) {
    const struct job *first = slot_job(slots, waiting[0]);
    double ms = 0;
    *group = (struct group){ .is_long = first->duration == JOB_LONG, .lane = group->lane };
    for (int i = 0; i < count && group->count < most; i++) {
        const struct job *job = slot_job(slots, waiting[i]);
        if (i > 0 && !may_join(first, job, ms)) continue;
        ms += job->predicted_ms;
        group->slots[group->count++] = waiting[i];
    }
}
