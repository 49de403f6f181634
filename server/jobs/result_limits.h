// SPDX-License-Identifier: Apache-2.0
/* result_limits.h - whether a result may be encoded: by the time in which its encoder cannot be
 * stopped, and by a cell's memory.
 *
 * Used by:  request/submit.c, by the size that the header leads to; batch_answer.c, for results
 *           whose size the pixels decide.
 * Owns:     nothing.
 * Fails:    STATUS_TOO_LARGE.
 * Threads:  any.
 */
#ifndef BURIN_RESULT_LIMITS_H
#define BURIN_RESULT_LIMITS_H

#include "server/jobs/job.h"

/* OUTPUT, a result of JOB, has its type and its size. */
enum status result_limits_check(const struct job *job, const struct job_output *output,
                                struct failure *failure);

#endif
