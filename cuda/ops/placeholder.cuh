// SPDX-License-Identifier: Apache-2.0
/* placeholder.cuh - shrinks a batch of images, with resize's own twin, into their values.
 *
 * Used by:  blurhash.cu, thumbhash.cu.
 * Owns:     nothing; scratch is the calls'.
 * Fails:    as resize's twin does.
 */
#ifndef BURIN_PLACEHOLDER_CUH
#define BURIN_PLACEHOLDER_CUH

#include "cuda/cuda_op.h"
#include "pipeline/ops/placeholder.h"

/* The calls of resize for a batch: all share the first one's parameters. */
struct placeholder_batch {
    struct placeholder first;
    struct op_call calls[CUDA_BATCH_MAX];
};

static inline void placeholder_ask_batch(struct placeholder_batch *batch,
                                         const struct op_call *calls, int count) {
    for (int i = 0; i < count; i++) {
        placeholder_ask(&batch->first, &calls[i]);
        batch->calls[i] = batch->first.call;
    }
}

static size_t placeholder_batch_scratch(const struct cuda_context *context,
                                        const struct op_call *calls, int count) {
    struct placeholder_batch batch;
    placeholder_ask_batch(&batch, calls, count);
    return cuda_twin(placeholder_resize())->scratch(context, batch.calls, count);
}

static enum status placeholder_batch_run(const struct cuda_context *context, struct op_call *calls,
                                         int count) {
    struct placeholder_batch batch;
    placeholder_ask_batch(&batch, calls, count);
    return cuda_twin(placeholder_resize())->run(context, batch.calls, count);
}

#endif
