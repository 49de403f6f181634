// SPDX-License-Identifier: Apache-2.0
/* worker.h - a process that owns one device and runs jobs on its lanes.
 *
 * Used by:  command_worker.c; operators_worker.c uses WORKER_FAILED and worker_finish_job.
 * Owns:     the device; SLOTS and the channel are the caller's.
 * Fails:    worker_run returns 0 when the front closes the channel, WORKER_FAILED when the device
 *           cannot be opened. After a failure that only a new process recovers from (the device is
 *           unusable, the system refuses a thread) the process exits at once with WORKER_FAILED,
 *           and the front runs its unfinished jobs again.
 * Threads:  one per lane, and the heartbeat's; on a GPU also codec_threads, which decode and encode
 *           a batch's files, and the GPU sampler's.
 * Limits:   256 lanes for each duration of jobs.
 */
#ifndef BURIN_WORKER_H
#define BURIN_WORKER_H

#include "config/config.h"
#include "pipeline/device.h"
#include "server/jobs/slot.h"

enum { WORKER_FAILED = 70 };

/* Stamps JOB of SLOT as finished and reports that to the front. From the stamp on the slot may hold
 * another request's job: the front also reads the stamp itself, since the message may be lost and
 * this thread may wait for a core. */
void worker_finish_job(struct job *job, int slot);

int worker_run(struct slots *slots, int channel, const struct config *config,
               const struct device_driver *driver, int index);

/* The same for users' operators, which are registered already: one job at a time, on a CPU with all
 * cores. Memory is erased between jobs. Kernels for a GPU are compiled at the start, before a job
 * needs them. Once the lane is open, the process may do little but compute
 * (sandbox_calls_confine). */
int worker_run_sandbox(struct slots *slots, int channel, const struct config *config,
                       const struct device_driver *driver, int index);

#endif
