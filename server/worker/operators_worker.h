// SPDX-License-Identifier: Apache-2.0
/* operators_worker.h - the worker for users' operators or of a cell: it passes each job on to a
 * sandbox, and runs none itself.
 *
 * To the front it is a worker like any other. It maps all slots, so it must not run users' code;
 * the sandbox, a separate process, does. The sandbox maps only one slot of its own: this worker
 * copies a job into it, and copies the checked answer back. So a wild pointer reaches only the
 * bytes of its own job.
 *
 * A job that crashes the sandbox is answered as failed, or runs once more if the sandbox had run
 * earlier jobs, which may be the cause. A job that does not stop within OPERATORS_GRACE_MS after
 * its deadline, or after its client has gone, is answered, and the sandbox killed. A sandbox that
 * makes no progress (stillness.h) is killed, and its job runs once more. In each case this worker
 * ends, and the front starts a new one.
 *
 * A decoding cell is such a sandbox (decoding_cell.h). It cannot be stopped otherwise, so it is
 * killed at the deadline, or when the client has gone. A job with which it dies runs once more, and
 * is then answered: an image that was decoded as damaged.
 *
 * Used by:  command_worker.c.
 * Owns:     the sandbox's process, channel and slot; SLOTS and the channel are the caller's.
 * Fails:    operators_worker_run returns 0 when the front closes the channel, else WORKER_FAILED or
 *           PROCESS_CANCELLED.
 * Threads:  one.
 * Limits:   one job at a time; the others wait in the front.
 */
#ifndef BURIN_OPERATORS_WORKER_H
#define BURIN_OPERATORS_WORKER_H

#include "server/jobs/slot.h"

int operators_worker_run(struct slots *slots, int channel, const char *device, bool cell);

#endif
