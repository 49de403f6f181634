// SPDX-License-Identifier: Apache-2.0
/* cuda_op.h - an operator's twin on the GPU, and what it is given.
 *
 * Used by:  cuda/ops/<name>.cu, which defines `extern "C" const struct cuda_op cuda_op_<name>`;
 *           device_cuda.cu, which runs it.
 * Fails:    a twin writes into calls[0].failure, as check.cuh says.
 * Threads:  the lane's. A twin queues work on the lane's stream; it never waits, allocates or
 *           copies to the host.
 * Limits:   CUDA_BATCH_MAX images, which share channels and depth and, but for those calls that
 *           op.common asks for, parameters; sizes may differ.
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

/* What a kernel that runs for milliseconds shares with the lane that waits for it, in pinned host
 * memory. The kernel looks at `stop` at every step and leaves early; what it leaves undone is not
 * read. It writes the rest now and then, with volatile stores. */
struct kernel_progress {
    uint32_t stop;                    /* nobody wants the result any more */
    uint32_t done, total;             /* an operator's own unit */
    uint32_t span_us[CUDA_SPANS_MAX]; /* time in each of its parts, told when it ends */
};

/* What a twin may know of its surroundings. */
struct cuda_context {
    cudaStream_t stream;
    int multiprocessors;
    int capability;   /* 90 for 9.0 */
    int shared_bytes; /* shared memory that one block may ask for */
    /* Launches of more blocks than this that must run at once are refused as the GPU itself would;
     * 0: by the GPU alone. Tests set it. */
    unsigned cooperative_blocks_max;
    /* Device words that are 0 between kernels: whoever writes there leaves 0 behind. So a kernel
     * has counters ready without a memset before it. The lane's alone. */
    uint32_t *zeroed;
    struct device_tables *tables;         /* of the lane; NULL: there are none, in a ladder */
    struct cooperative_lane *cooperative; /* NULL: there are no other lanes */
    struct timeline *timeline;            /* NULL: no times are taken */
    struct kernel_progress_table *kernel_progress;
};

struct cuda_op {
    /* Scratch bytes for COUNT images at once, of which only params and shapes are set. NULL: none.
     */
    size_t (*scratch)(const struct cuda_context *context, const struct op_call *calls, int count);
    /* One launch for the whole batch, or one after the other where that is no slower. Scratch is
     * calls[0].scratch; each call's `values` are device memory too. Writes into calls[0].failure.
     */
    enum status (*run)(const struct cuda_context *context, struct op_call *calls, int count);
    /* As struct device_driver has it; NULL: this operator's kernels do no other's work. */
    int (*chain)(const struct cuda_context *context, const struct op *const *ops, int count,
                 const struct image *in, bool *ready);
};

/* NULL where OP runs on the CPU alone. */
const struct cuda_op *cuda_twin(const struct op *op);

/* What was queued since the last such call was the kernel NAME, a constant: its time goes into the
 * timing report. NULL: it is told otherwise. A twin calls this after its last kernel too. */
void cuda_record_kernel(const struct cuda_context *context, const char *name);

/* A cleared kernel_progress for CALL, as the device addresses it. From then on the lane passes its
 * progress on and stops it when the client leaves or the deadline passes. NAMES: of the spans,
 * constants, NULL behind the last; those of a batch are the longest of its images. NULL where the
 * lane has none left (or, in a benchmark, none at all): a kernel must do without. */
struct kernel_progress *kernel_progress_add(const struct cuda_context *context,
                                            const struct op_call *call, const char *const *names);

#ifdef __cplusplus
}
#endif
#endif
