// SPDX-License-Identifier: Apache-2.0
/* admission.h - whether a job is taken at all, and the sentence for a client whose job is not.
 *
 * Used by:  dispatcher.c, under the supervisor's lock.
 * Owns:     nothing.
 * Fails:    each check returns STATUS_OK or what the client is told; FAILURE may be NULL.
 * Threads:  one at a time.
 */
#ifndef BURIN_ADMISSION_H
#define BURIN_ADMISSION_H

#include "config/config.h"
#include "server/dispatch/worker_list.h"

/* STATUS_BAD_PARAM: its device is not served here. STATUS_BUSY: as admission_check_hope.
 * STATUS_TOO_LARGE: it is predicted to take LEAST_MS on the worker that is fastest for it, which is
 * never done in time. */
enum status admission_check(const struct config *config, struct worker_list *workers,
                            const struct job *job, double least_ms, struct failure *failure);

/* STATUS_BUSY: no worker that JOB may wait for is healthy, or soon will be. Asks all of them, to
 * keep their time. */
enum status admission_check_hope(const struct config *config, struct worker_list *workers,
                                 const struct job *job, struct failure *failure);

/* STATUS_BUSY: as many jobs for users' operators WAIT as may. */
enum status admission_check_operators(const struct config *config, int wait,
                                      struct failure *failure);

/* STATUS_BUSY: a job that is predicted to wait for WAIT_MS and then to take OWN_MS would be late by
 * its deadline, which is in LEFT_MS. */
enum status admission_check_time(const struct config *config, double wait_ms, double own_ms,
                                 double left_ms, struct failure *failure);

#endif
