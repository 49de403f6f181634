// SPDX-License-Identifier: Apache-2.0
/* admission.h - whether a job that comes is taken: room for users' operators, and time.
 *
 * Used by:  dispatcher.c.
 * Owns:     nothing.
 * Fails:    STATUS_BUSY, with a sentence.
 * Threads:  one at a time, under the supervisor's lock.
 */
#ifndef BURIN_ADMISSION_H
#define BURIN_ADMISSION_H

#include "server/dispatch/dispatcher_state.h"

/* The worker that the job in SLOT should go to, or NO_WORKER. */
int dispatcher_choose(const struct dispatcher *dispatcher, const struct forecast_round *round,
                      int slot);

/* A worker for users' operators runs one job at a time, each perhaps until its deadline: without a
 * limit these jobs could fill the queue, and with it all slots. */
enum status admission_check_operators(const struct dispatcher *dispatcher, struct failure *failure);

/* Removes a queued job, which is the caller's again, if it would finish after its deadline. */
enum status admission_check_time(struct dispatcher *dispatcher, int newcomer,
                                 struct failure *failure);

#endif
