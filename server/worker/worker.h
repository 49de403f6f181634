// SPDX-License-Identifier: Apache-2.0
/* worker.h - the worker's end: a process that owns one device and runs jobs on its lanes.
 *
 * Used by:  command_worker.c; operators_worker.c, which ends with WORKER_FAILED and finishes jobs
 *           too.
 * Owns:     the device; SLOTS and the channel are the caller's.
 * Fails:    worker_run returns 0 when the front closes the channel, WORKER_FAILED when the device
 *           could not be opened. What only a new process recovers from, a spoilt device or a thread
 *           that the system refuses, ends the process at once with WORKER_FAILED. Jobs under way
 *           are then the front's to run again.
 * Threads:  one a lane, each waiting on the channel, and the heartbeat; on a GPU also codec_threads
 *           that decode and encode what a batch brings, and the GPU sampler.
 * Limits:   256 lanes.
 */
#ifndef BURIN_WORKER_H
#define BURIN_WORKER_H

#include "config/config.h"
#include "pipeline/device.h"
#include "server/jobs/slot.h"

enum { WORKER_FAILED = 70 };

/* JOB of SLOT is done, and told so. From the time at which it finished it may be another request's:
 * the front looks at that too, for the message may be lost, or this thread may wait for a core. */
void worker_finish_job(struct job *job, int slot);

int worker_run(struct slots *slots, int channel, const struct config *config,
               const struct device_driver *driver, int index);

/* The same for users' operators, which are registered already: one job at a time, on all cores
 * where DRIVER is the CPU's. What a job left in memory is gone before the next begins. A GPU's
 * kernels are compiled at the start, not when a job asks for them. Once the lane is open the
 * process may do little more than compute (confinement.h). */
int worker_run_sandbox(struct slots *slots, int channel, const struct config *config,
                       const struct device_driver *driver, int index);

#endif
