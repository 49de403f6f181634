// SPDX-License-Identifier: Apache-2.0
/* carry.h - carries a batch of jobs through a lane: decode, run the plan, encode, answer.
 *
 * Used by:  worker.c, one call a lane at a time.
 * Fails:    a job's own failure is written into the job and answered; STATUS_DEVICE in FAILURE
 * means that none of the rest was answered and the process should end.
 */
#ifndef BURIN_CARRY_H
#define BURIN_CARRY_H

#include "config/config.h"
#include "pipeline/codec.h"
#include "pipeline/run.h"
#include "server/jobs/slot.h"

/* What every lane of a worker shares; read-only once the lanes run. */
struct carrier {
    struct slots *slots;
    struct codec_limits limits;
    struct pool *codecs; /* NULL: a lane decodes and encodes by itself */
    size_t batch_bytes;  /* of a batch's pixels: what the staging holds */
    char device_name[DEVICE_NAME_MAX];
    void (*answer)(void *context, int slot); /* the slot is the front's again */
    void *context;
};

struct carrier carrier_make(struct slots *slots, const struct config *config,
                            const struct device_driver *driver, int index);

/* Takes the first of SLOTS and all that have the same plan for images of as many channels and as
 * deep, runs and answers them. The others are moved to the beginning of SLOTS; returns how many
 * they are. */
int carry_batch(const struct carrier *carrier, struct lane *lane, int *slots, int count,
                struct failure *failure);

#endif
