// SPDX-License-Identifier: Apache-2.0
/* launch8.cuh - launches the kernel for 8-bit samples on as many blocks as run at once.
 *
 * Used by:  cuda/ops/histeq.cu.
 * Fails:    as batch.cuh and check.cuh say.
 */
#ifndef BURIN_HISTEQ_LAUNCH8_CUH
#define BURIN_HISTEQ_LAUNCH8_CUH

#include "cuda/cooperative.cuh"
#include "cuda/ops/histeq/equalize8.cuh"

/* One block a multiprocessor; fewer where the GPU, shared with other processes, refuses that. */
template <int CAPACITY>
static cudaError_t launch_divided(const struct cuda_context *context,
                                  const struct cooperative_launch *launch,
                                  struct batch_of<CAPACITY> *batch) {
    cudaError_t error;
    unsigned most = context->multiprocessors;
    do {
        const unsigned blocks = batch_divide(batch, THREADS, most);
        error = cooperative_launch(context, launch, blocks);
        most = blocks / 2;
    } while (error == cudaErrorCooperativeLaunchTooLarge && most);
    return error;
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
    const void *kernel = (const void *)equalize_kernel<CHANNELS, MODE, CAPACITY>;
    const struct cooperative_launch launch = { kernel, THREADS, L::SHARED_BYTES, arguments };
    if (L::SHARED_BYTES > 48 << 10)
        CUDA_TRY(failure, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               L::SHARED_BYTES));
    CUDA_TRY(failure, launch_divided(context, &launch, &batch));
    cuda_record_kernel(context, "equalize");
    return STATUS_OK;
}

template <int CHANNELS, int MODE>
static enum status launch8(const struct cuda_context *context, struct op_call *calls, int count) {
    return count == 1 ? launch_batch8<CHANNELS, MODE, 1>(context, calls, count)
                      : launch_batch8<CHANNELS, MODE, CUDA_BATCH_MAX>(context, calls, count);
}

#endif
