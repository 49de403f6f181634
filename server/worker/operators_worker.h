// SPDX-License-Identifier: Apache-2.0
/* operators_worker.h - the worker for users' operators: it runs none of them itself, and passes
 * each job on to a sandbox.
 *
 * To the front it is a worker as any other. It maps all slots, and so must not run what users
 * wrote; the sandbox, a process of its own, does. That one knows nothing but a slot of its own,
 * into which a job is copied, and from which the answer is copied back, checked, once it is there.
 * So a wild pointer finds the bytes of its own job and no others.
 *
 * A job that crashes the sandbox is answered as failed, or run once more if the sandbox had run
 * others before, for they may be why. One that does not stop OPERATORS_GRACE_MS after its deadline
 * or after its client has gone is answered, and the sandbox killed. One that stands still
 * (stillness.h) is killed too, and the job run once more. In each case this worker ends, and the
 * front starts the next.
 *
 * Used by:  command_worker.c.
 * Owns:     the sandbox's process, channel and slot; SLOTS and the channel are the caller's.
 * Fails:    operators_worker_run returns 0 when the front closes the channel, else WORKER_FAILED.
 * Threads:  one.
 * Limits:   one job at a time; the rest waits in the front.
 */
#ifndef BURIN_OPERATORS_WORKER_H
#define BURIN_OPERATORS_WORKER_H

#include "server/jobs/slot.h"

enum { OPERATORS_GRACE_MS = 500 };

int operators_worker_run(struct slots *slots, int channel, const char *device);

#endif
