// SPDX-License-Identifier: Apache-2.0
/* culprit.h - the users' operator that crashed or did not stop, for the message of its job.
 *
 * Used by:  dispatcher.c.
 * Fails:    without memory, the message stays as it is.
 * Threads:  one at a time, under the supervisor's lock.
 */
#ifndef BURIN_CULPRIT_H
#define BURIN_CULPRIT_H

#include "server/generation.h"
#include "server/jobs/job.h"

/* Puts operator and file before the message of JOB, if its worker wrote that one is the cause.
 * IN_ORDER: the worker runs steps one by one, as a CPU does; else every users' operator of the plan
 * may be the cause. */
void culprit_name(struct job *job, const struct generation *generation, bool in_order);

#endif
