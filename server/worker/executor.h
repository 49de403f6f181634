// SPDX-License-Identifier: Apache-2.0
/* executor.h - runs a batch of jobs on a lane: decode, run the plan, encode, answer.
 *
 * Used by:  worker.c, one call a lane at a time.
 * Owns:     a job from the call until `answer` was called with its slot.
 * Fails:    a job's own failure is written into the job and answered. STATUS_DEVICE in FAILURE: the
 *           rest was not answered, and the process should end.
 * Threads:  any number of lanes share one executor, which is read-only once they run.
 * Limits:   RUN_BATCH_MAX jobs in one batch, batch_bytes of what cores decode and encode,
 *           arena_bytes of what the GPU does.
 */
#ifndef BURIN_EXECUTOR_H
#define BURIN_EXECUTOR_H

#include "config/config.h"
#include "pipeline/codec.h"
#include "pipeline/run.h"
#include "server/jobs/slot.h"

struct executor {
    struct slots *slots;
    struct codec_limits limits;
    struct pool *codecs; /* NULL: a lane decodes and encodes by itself */
    size_t batch_bytes;  /* of a batch's pixels: what the staging holds */
    size_t arena_bytes;  /* of device memory for files that the device decodes or encodes */
    char device_name[DEVICE_NAME_MAX];
    /* The job is done. Gives the slot back to the front; nothing of it is looked at any more. */
    void (*answer)(void *context, int slot);
    /* COUNT jobs found no place in a batch, which is about to run. NULL: executor_run() returns
     * them when it has run. */
    void (*leave)(void *context, const int *slots, int count);
    void *context;
};

struct executor executor_make(struct slots *slots, const struct config *config,
                              const struct device_driver *driver, int index);

/* Takes the first of SLOTS and all that have the same plan for images of as many channels and as
 * deep, runs and answers them. The others are moved to the beginning of SLOTS; returns how many
 * they are, 0 where they were left to somebody else. */
int executor_run(const struct executor *executor, struct lane *lane, int *slots, int count,
                 struct failure *failure);

#endif
