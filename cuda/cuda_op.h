// SPDX-License-Identifier: Apache-2.0
/* cuda_op.h - an operator's twin on the GPU.
 *
 * cuda/ops/<name>.cu defines `extern "C" const struct cuda_op cuda_op_<name>`. A twin queues work on
 * the lane's stream and never waits, allocates or copies to the host.
 * Everything of a batch shares parameters, channels and depth; sizes may differ.
 */
#ifndef BURIN_CUDA_OP_H
#define BURIN_CUDA_OP_H

#include "pipeline/op.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a twin may know of its surroundings. */
struct cuda_context {
    cudaStream_t stream;
    int multiprocessors;
    int capability; /* 90 for 9.0 */
    struct cuda_marks *marks;
};

struct cuda_op {
    /* Scratch bytes for COUNT images at once, of which only params and shapes are set. NULL: none. */
    size_t (*scratch)(const struct cuda_context *context, const struct op_call *calls, int count);
    /* One launch for the whole batch, or one after the other where that is no slower. Scratch is
     * calls[0].scratch. Writes into calls[0].failure. */
    enum status (*run)(const struct cuda_context *context, struct op_call *calls, int count);
};

/* Tells the account that what was queued since the last mark was the kernel NAME. */
void cuda_mark(const struct cuda_context *context, const char *name);

#ifdef __cplusplus
}
#endif
#endif
