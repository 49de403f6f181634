// SPDX-License-Identifier: Apache-2.0
/* work.h - what a request comes to once its image's header is read: the plan in its parts, and the
 * shapes after every step.
 *
 * Used by:  handle_process.c; upload_aux.c looks at the shapes.
 * Owns:     nothing; some 100 KB, for a stack.
 * Fails:    STATUS_BAD_PARAM, STATUS_TOO_LARGE, STATUS_MISMATCH, as the plan says.
 * Threads:  one at a time.
 */
#ifndef BURIN_WORK_H
#define BURIN_WORK_H

#include "pipeline/plan_tree.h"
#include "server/jobs/job.h"

struct work {
    struct plan_tree plans;
    struct image shapes[PLAN_PARTS_MAX][PLAN_STEPS_MAX + 1]; /* of each part: plan_shapes' */
};

static inline const struct image *work_result(const struct work *work, int part) {
    return &work->shapes[part][work->plans.parts[part].count];
}

/* Fills the shapes, from IN on. */
enum status work_shape(struct work *work, const struct image *in, uint64_t pixels_max,
                       struct failure *failure);

/* The shapes of JOB's results, which are within PIXELS_MAX together. */
enum status work_size_results(const struct work *work, struct job *job, uint64_t pixels_max,
                              struct failure *failure);

/* Sets COUNT to how many numbers all steps report; STATUS_BAD_PARAM beyond PLAN_VALUES_MAX. */
enum status work_count_values(const struct work *work, uint32_t *count, struct failure *failure);

/* True if every step reports values: none makes an image. */
bool work_only_reports(const struct work *work);

/* Adds the time that JOB is predicted to take: all of its files, parts and results. */
void work_add_cost(const struct work *work, struct job *job);

#endif
