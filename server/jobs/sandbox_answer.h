// SPDX-License-Identifier: Apache-2.0
/* sandbox_answer.h - a job's answer, from the slot of a sandbox to the front's, as far as it can be
 * one.
 *
 * An operator may have written anything into the sandbox's slot, and may still write. So the job is
 * copied first and checked then, as every worker's is (answer.h).
 *
 * Used by:  operators_worker.c.
 * Owns:     nothing; both slots are the caller's.
 * Fails:    what cannot be an answer becomes one of STATUS_INTERNAL in the front's slot.
 * Threads:  one at a time for a slot.
 */
#ifndef BURIN_SANDBOX_ANSWER_H
#define BURIN_SANDBOX_ANSWER_H

#include "server/jobs/slot.h"

/* FRONT's slot TO has the job as it was asked; OWN's slot FROM has the answer. Returns whether it
 * could be one. */
bool sandbox_answer_take(const struct slots *front, int to, const struct slots *own, int from);

#endif
