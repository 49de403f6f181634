// SPDX-License-Identifier: Apache-2.0
/* contained_run.h - runs a plan with users' operators on one picture, in a process of its own: if
 * one crashes, the command goes on, and its message names operator and file.
 *
 * Used by:  one_run.c, on a CPU.
 * Owns:     the process, until it returns.
 * Fails:    as run_batch; STATUS_INTERNAL if an operator crashed, STATUS_CANCELLED if a signal
 *           stopped it.
 * Threads:  one; others may run.
 */
#ifndef BURIN_CONTAINED_RUN_H
#define BURIN_CONTAINED_RUN_H

#include "pipeline/run.h"

/* Whether some step of PLAN is a user's operator. */
bool contained_run_wanted(const struct plan *plan);

/* Does what run_batch(LANE, PLAN, ITEM, 1) does after run_reserve, which has placed the pixels.
 * THREADS: those of the new process. */
enum status contained_run(struct lane *lane, const struct plan *plan, struct run_item *item,
                          int threads, uint64_t pixels_max, struct failure *failure);

#endif
