// SPDX-License-Identifier: Apache-2.0
/* cuda_op.h - an operator's twin on the GPU, and the surroundings that it gets.
 *
 * Used by:  cuda/ops/<name>.cu, which defines `extern "C" const struct cuda_op cuda_op_<name>`;
 *           device_cuda.cu, which runs it.
 * Fails:    a twin writes into calls[0].failure, as check.cuh says.
 * Threads:  the lane's. A twin queues work on the lane's stream and allocates nothing. It waits
 *           only where what is still to be queued depends on what was (carve/clearing.cuh), or
 *           where tables leave no room.
 * Limits:   CUDA_BATCH_MAX images with the same channels and depth and, unless op.common asks for
 *           less, the same parameters; sizes may differ.
 */
#ifndef BURIN_CUDA_OP_H
#define BURIN_CUDA_OP_H

#include "cuda/cuda_limits.h"
#include "pipeline/op.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CUDA_ZEROED_WORDS = 1 << 21, /* of cuda_context.zeroed */
    CUDA_SPANS_MAX = 6,
};

/* Shared by a kernel that runs for milliseconds and the lane that waits for it, in pinned host
 * memory. The kernel reads `stop` at every step and leaves early; its unfinished results are not
 * used. It writes the other members now and then, with volatile stores. */
struct kernel_progress {
    uint32_t stop;                    /* set when the result is no longer wanted */
    uint32_t done, total;             /* an operator's own unit */
    uint32_t span_us[CUDA_SPANS_MAX]; /* time in each of its parts, written at its end */
};

/* The surroundings of a twin. */
struct cuda_context {
    cudaStream_t stream;
    int multiprocessors;
    int capability;   /* 90 for 9.0 */
    int shared_bytes; /* shared memory that one block may ask for */
    /* Launches that must run at once are refused beyond this many blocks, just as the GPU would
     * refuse them; 0: only the GPU refuses. Tests set it. */
    unsigned cooperative_blocks_max;
    /* The lane's own device words, which are 0 between kernels: a kernel that writes there leaves 0
     * behind. So kernels have counters without a memset before them. */
    uint32_t *zeroed;
    struct device_tables *tables;         /* of the lane; NULL in a ladder */
    struct cooperative_lane *cooperative; /* NULL: there are no other lanes */
    struct timeline *timeline;            /* NULL: no times are taken */
    struct kernel_progress_table *kernel_progress;
};

struct cuda_op {
    /* Scratch bytes for COUNT images at once; reads their params and shapes only. NULL: none. */
    size_t (*scratch)(const struct cuda_context *context, const struct op_call *calls, int count);
    /* Queues one launch for the whole batch, or one for each image where that is no slower. Scratch
     * is calls[0].scratch; each call's `values` are device memory too. Failures go to
     * calls[0].failure. */
    enum status (*run)(const struct cuda_context *context, struct op_call *calls, int count);
    /* The same as in struct device_driver; NULL: its kernels cannot run other operators too. */
    int (*chain)(const struct cuda_context *context, const struct op *const *ops, int count,
                 const struct image *in, bool *ready);
};

/* NULL where OP runs on the CPU alone. */
const struct cuda_op *cuda_twin(const struct op *op);

/* Attributes the time since the last such call to the kernel NAME, a constant, in the timing
 * report. NULL: to the operator as a whole. A twin calls this after its last kernel too. */
void cuda_record_kernel(const struct cuda_context *context, const char *name);

/* Returns a cleared kernel_progress for CALL, at its device address. The lane passes its progress
 * on and stops it when the client leaves or the deadline passes. NAMES: constants that name the
 * spans, ended by NULL; a batch reports its images' longest spans. Returns NULL where the lane has
 * none left, or in a benchmark: the kernel must work without it. */
struct kernel_progress *kernel_progress_add(const struct cuda_context *context,
                                            const struct op_call *call, const char *const *names);

#ifdef __cplusplus
}
#endif
#endif
