// SPDX-License-Identifier: Apache-2.0
/* launch8.cuh - launches the kernel for 8-bit samples on as many blocks as run at once or, where
 * blocks may not wait for one another, its two parts.
 *
 * Used by:  cuda/ops/histeq.cu.
 * Fails:    as batch.cuh and check.cuh say.
 */
#ifndef BURIN_HISTEQ_LAUNCH8_CUH
#define BURIN_HISTEQ_LAUNCH8_CUH

#include "cuda/cooperative.cuh"
#include "cuda/ops/histeq/equalize8.cuh"

enum { BATCH_ARGUMENT = 3 }; /* of every kernel, in equalize8.cuh */

/* The multiprocessors that a long kernel leaves: fewer blocks with more work each are quicker there
 * than more blocks, of which some wait for others to end. */
static inline unsigned blocks_beside(const struct cuda_context *context) {
    const unsigned all = (unsigned)context->multiprocessors;
    const unsigned left = all - cooperative_share(all);
    return left ? left : 1;
}

/* Two launches, where a long kernel has the GPU, or where other processes share it and a
 * cooperative launch is refused. One pair of kernels serves single images too: such launches are
 * rare, and every kernel takes seconds to compile. */
template <int CHANNELS, int MODE>
static enum status launch_parts8(const struct cuda_context *context, struct op_call *calls,
                                 int count, void **arguments) {
    typedef layout8<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    const void *const kernels[] = { (const void *)count_kernel<CHANNELS, MODE>,
                                    (const void *)apply_kernel<CHANNELS, MODE> };
    static uint64_t prepared; /* a bit for each device */
    CUDA_TRY(failure, prepare_kernels(kernels, 2, L::SHARED_BYTES, &prepared));
    struct batch batch;
    const enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    arguments[BATCH_ARGUMENT] = &batch;
    const unsigned blocks = batch_divide(&batch, THREADS, blocks_beside(context));
    CUDA_TRY(failure, cudaLaunchKernel(kernels[0], blocks, THREADS, arguments, L::SHARED_BYTES,
                                       context->stream));
    const cudaError_t error =
        cudaLaunchKernel(kernels[1], blocks, THREADS, arguments, L::SHARED_BYTES, context->stream);
    if (error) /* the next launch expects counters of 0 */
        cudaMemsetAsync(context->zeroed, 0, CUDA_ZEROED_WORDS * sizeof(uint32_t), context->stream);
    CUDA_TRY(failure, error);
    return STATUS_OK;
}

/* One launch of one block a multiprocessor. CAPACITY is in images. */
template <int CHANNELS, int MODE, int CAPACITY>
static enum status launch_batch8(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    typedef layout8<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    const void *const kernel = (const void *)equalize_kernel<CHANNELS, MODE, CAPACITY>;
    static uint64_t prepared; /* a bit for each device */
    CUDA_TRY(failure, prepare_kernels(&kernel, 1, L::SHARED_BYTES, &prepared));
    struct batch_of<CAPACITY> batch;
    enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    struct histeq_rule rule = { (uint32_t)calls[0].params->number[HISTEQ_BINS],
                                (int)calls[0].params->number[HISTEQ_SCALE] };
    uint32_t *chunks_done = context->zeroed, *counts = chunks_done + SECTOR_WORDS;
    void *arguments[] = { &rule, &counts, &chunks_done, &batch };
    const struct cooperative_launch launch = { kernel, THREADS, L::SHARED_BYTES, arguments };
    const cudaError_t error = cooperative_launch(
        context, &launch, batch_divide(&batch, THREADS, (unsigned)context->multiprocessors));
    if (error == cudaErrorCooperativeLaunchTooLarge)
        status = launch_parts8<CHANNELS, MODE>(context, calls, count, arguments);
    else
        CUDA_TRY(failure, error);
    if (!status) cuda_record_kernel(context, "equalize");
    return status;
}

/* A launch with the parameters of a whole batch, 3.7 KB, takes 0.2 us more: the most frequent
 * requests, gray, RGB and RGBA by value, have a kernel for one image. */
template <int CHANNELS, int MODE>
static enum status launch8(const struct cuda_context *context, struct op_call *calls, int count) {
    if constexpr (MODE == HISTEQ_VALUE && CHANNELS != 2)
        if (count == 1) return launch_batch8<CHANNELS, MODE, 1>(context, calls, count);
    return launch_batch8<CHANNELS, MODE, CUDA_BATCH_MAX>(context, calls, count);
}

#endif
