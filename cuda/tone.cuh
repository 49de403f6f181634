// SPDX-License-Identifier: Apache-2.0
/* tone.cuh - samples looked up in a table, 8 or 16 bits: pipeline/ops/tone.h's operators on a GPU.
 *
 * Used by:  cuda/ops/{gamma,contrast,levels}.cu.
 * Fails:    as batch.cuh and check.cuh say.
 * Threads:  the lane's.
 */
#ifndef BURIN_TONE_CUH
#define BURIN_TONE_CUH

#include "cuda/cuda_op.h"
#include "cuda/device_tables.cuh"
#include "pipeline/ops/tone.h"

/* A table's key has the first parameters, which decide it, and the operator's number. */
enum { TONE_KEY_PARAMS = DEVICE_TABLE_NUMBERS - 1 };

template <tone_fill *FILL>
static uint32_t tone_make16(const struct device_table_key *key, void *memory) {
    struct params params = {};
    for (int i = 0; i < TONE_KEY_PARAMS; i++) params.number[i] = (int32_t)key->numbers[i];
    FILL(&params, 16, 0, TONE_LEVELS16, memory);
    return 1;
}

struct tone_operator {
    tone_fill *fill;
    device_table_make *make16; /* tone_make16<fill> */
    uint32_t number;           /* no other operator's */
    const char *name;          /* for the timing report; a constant */
};

/* Queues one launch for all CALLS. CHANNEL of each image changes, or TONE_ALL. */
enum status tone_run(const struct cuda_context *context, const struct op_call *calls, int count,
                     int channel, const struct tone_operator &op);

#endif
