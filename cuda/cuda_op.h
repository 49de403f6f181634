// SPDX-License-Identifier: Apache-2.0
/* cuda_op.h - an operator's twin on the GPU.
 *
 * cuda/ops/<name>.cu defines `extern "C" const struct cuda_op cuda_op_<name>`. A twin queues work
 * on the lane's stream and never waits, allocates or copies to the host. Everything of a batch
 * shares parameters, channels and depth; sizes may differ.
 */
#ifndef BURIN_CUDA_OP_H
#define BURIN_CUDA_OP_H

#include "pipeline/op.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CUDA_BATCH_MAX = 64,        /* images of one call, RUN_BATCH_MAX of run.h */
    CUDA_ZEROED_WORDS = 1 << 19 /* of cuda_context.zeroed */
};

/* What a twin may know of its surroundings. */
struct cuda_context {
    cudaStream_t stream;
    int multiprocessors;
    int capability;   /* 90 for 9.0 */
    int shared_bytes; /* shared memory that one block may ask for */
    /* Device words that are 0 between kernels: whoever writes there leaves 0 behind. So a kernel
     * has counters ready without a memset before it. The lane's alone. */
    uint32_t *zeroed;
    struct cuda_marks *marks;
};

struct cuda_op {
    /* Scratch bytes for COUNT images at once, of which only params and shapes are set. NULL: none.
     */
    size_t (*scratch)(const struct cuda_context *context, const struct op_call *calls, int count);
    /* One launch for the whole batch, or one after the other where that is no slower. Scratch is
     * calls[0].scratch. Writes into calls[0].failure. */
    enum status (*run)(const struct cuda_context *context, struct op_call *calls, int count);
};

/* Tells the account that what was queued since the last mark was the kernel NAME, a constant. A
 * twin marks its last kernel too. */
void cuda_mark(const struct cuda_context *context, const char *name);

#ifdef __cplusplus
}
#endif
#endif
