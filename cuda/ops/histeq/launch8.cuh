// SPDX-License-Identifier: Apache-2.0
/* launch8.cuh - launches the kernel for 8-bit samples on as many blocks as run at once, or, where
 * none may wait for another, its two parts.
 *
 * Used by:  cuda/ops/histeq.cu.
 * Fails:    as batch.cuh and check.cuh say.
 */
#ifndef BURIN_HISTEQ_LAUNCH8_CUH
#define BURIN_HISTEQ_LAUNCH8_CUH

#include "cuda/cooperative.cuh"
#include "cuda/ops/histeq/equalize8.cuh"

/* The multiprocessors that a long kernel leaves: fewer blocks with more work each are quicker there
 * than blocks that wait for one another's end. */
static inline unsigned blocks_beside(const struct cuda_context *context) {
    const unsigned all = (unsigned)context->multiprocessors;
    const unsigned left = all - cooperative_share(all);
    return left ? left : 1;
}

template <class BATCH> struct equalization {
    const void *both, *count, *apply; /* kernels */
    size_t shared_bytes;
    void **arguments; /* of each; the last is the batch */
    BATCH *batch;
};

/* Counters that nobody looks at would be the next launch's: they are cleared. */
template <class BATCH>
static cudaError_t launch_parts(const struct cuda_context *context,
                                const struct equalization<BATCH> &work) {
    const unsigned blocks = batch_divide(work.batch, THREADS, blocks_beside(context));
    cudaError_t error = cudaLaunchKernel(work.count, blocks, THREADS, work.arguments,
                                         work.shared_bytes, context->stream);
    if (error) return error;
    error = cudaLaunchKernel(work.apply, blocks, THREADS, work.arguments, work.shared_bytes,
                             context->stream);
    if (error)
        cudaMemsetAsync(context->zeroed, 0, CUDA_ZEROED_WORDS * sizeof(uint32_t), context->stream);
    return error;
}

/* One block a multiprocessor; in parts where a long kernel has the GPU, or where it is shared with
 * other processes and refuses that. */
template <class BATCH>
static cudaError_t launch_whole(const struct cuda_context *context,
                                const struct equalization<BATCH> &work) {
    const unsigned blocks = batch_divide(work.batch, THREADS, (unsigned)context->multiprocessors);
    const struct cooperative_launch launch = { work.both, THREADS, work.shared_bytes,
                                               work.arguments };
    const cudaError_t error = cooperative_launch(context, &launch, blocks);
    return error == cudaErrorCooperativeLaunchTooLarge ? launch_parts(context, work) : error;
}

template <int CHANNELS, int MODE, int CAPACITY>
static enum status launch_batch8(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    typedef layout8<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    struct batch_of<CAPACITY> batch;
    const enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    struct histeq_rule rule = { (uint32_t)calls[0].params->number[HISTEQ_BINS],
                                (int)calls[0].params->number[HISTEQ_SCALE] };
    uint32_t *chunks_done = context->zeroed, *counts = chunks_done + SECTOR_WORDS;
    void *arguments[] = { &rule, &counts, &chunks_done, &batch };
    const void *const kernels[] = { (const void *)equalize_kernel<CHANNELS, MODE, CAPACITY>,
                                    (const void *)count_kernel<CHANNELS, MODE, CAPACITY>,
                                    (const void *)apply_kernel<CHANNELS, MODE, CAPACITY> };
    static uint64_t prepared; /* a bit for each device */
    CUDA_TRY(failure, prepare_kernels(kernels, 3, L::SHARED_BYTES, &prepared));
    const struct equalization<struct batch_of<CAPACITY>> work = {
        kernels[0], kernels[1], kernels[2], L::SHARED_BYTES, arguments, &batch
    };
    CUDA_TRY(failure, launch_whole(context, work));
    cuda_record_kernel(context, "equalize");
    return STATUS_OK;
}

template <int CHANNELS, int MODE>
static enum status launch8(const struct cuda_context *context, struct op_call *calls, int count) {
    return count == 1 ? launch_batch8<CHANNELS, MODE, 1>(context, calls, count)
                      : launch_batch8<CHANNELS, MODE, CUDA_BATCH_MAX>(context, calls, count);
}

#endif
