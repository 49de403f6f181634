// SPDX-License-Identifier: Apache-2.0
/* executor.h - runs a batch of jobs on a lane: decode, run the plan, encode, answer.
 *
 * Used by:  worker.c, one call per lane at a time.
 * Owns:     a job from the call until `answer` was called with its slot.
 * Fails:    a job's own failure is written into the job and answered. STATUS_DEVICE in FAILURE: the
 *           remaining jobs were not answered, and the process should end.
 * Threads:  any number of lanes share one executor, which is read-only once they run.
 * Limits:   RUN_BATCH_MAX jobs in one batch; batch_bytes of pixels that cores decode, or encode;
 *           arena_bytes of device memory for files that the GPU decodes or encodes.
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
    size_t batch_bytes;  /* pixels of a batch in each direction: the staging's size */
    size_t memory_bytes; /* of the device; 0: not known */
    int engines;         /* of the device, which decode HEVC */
    size_t arena_bytes;  /* device memory for files that the device decodes or encodes */
    char device_name[DEVICE_NAME_MAX];
    /* Returns the slot of a finished job to the front; the executor no longer reads it. */
    void (*answer)(void *context, int slot);
    /* Takes COUNT jobs that found no room in the batch, before it runs. NULL: executor_run()
     * returns them after the batch. */
    void (*leave)(void *context, const int *slots, int count);
    void *context;
};

/* The limits of codecs, in a process that serves more than one job. */
struct codec_limits executor_limits(const struct config *config);

struct executor executor_make(struct slots *slots, const struct config *config,
                              const struct device_driver *driver, int index);

/* Runs and answers the first of SLOTS and all with the same plan, channels and depth. Slots that
 * were not run are moved to the beginning; returns their number, or 0 if `leave` took them. */
int executor_run(const struct executor *executor, struct lane *lane, int *slots, int count,
                 struct failure *failure);

#endif
