// SPDX-License-Identifier: Apache-2.0
/* Samples of 8 and of 16 bit go different ways: 256 counters fit into every bank of shared memory,
 * 65536 barely into all of it. */
#include "pipeline/ops/histeq.h"

#include "cuda/ops/histeq/equalize8.cuh"
#include "cuda/ops/histeq/launch16.cuh"

template <int CHANNELS, int MODE, int MOST>
static enum status launch_batch(const struct cuda_context *context, struct op_call *calls,
                                int count) {
    typedef layout8<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    struct batch_of<MOST> batch;
    const enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    struct histeq_rule rule = { (uint32_t)calls[0].params->number[HISTEQ_BINS],
                                (int)calls[0].params->number[HISTEQ_SCALE] };
    uint32_t *blocks_done = context->zeroed, *counts = blocks_done + SECTOR_WORDS;
    const unsigned blocks = batch_divide(&batch, THREADS, context->multiprocessors);
    void *arguments[] = { &rule, &counts, &blocks_done, &batch };
    const void *kernel = (const void *)equalize_kernel<CHANNELS, MODE, MOST>;
    if (L::SHARED_BYTES > 48 << 10)
        CUDA_TRY(failure, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               L::SHARED_BYTES));
    CUDA_TRY(failure, cudaLaunchCooperativeKernel(kernel, blocks, THREADS, arguments,
                                                  L::SHARED_BYTES, context->stream));
    cuda_mark(context, "equalize");
    return STATUS_OK;
}

template <int CHANNELS, int MODE>
static enum status launch(const struct cuda_context *context, struct op_call *calls, int count) {
    return count == 1 ? launch_batch<CHANNELS, MODE, 1>(context, calls, count)
                      : launch_batch<CHANNELS, MODE, CUDA_BATCH_MAX>(context, calls, count);
}

template <int CHANNELS>
static enum status launch_colour(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    switch (calls[0].params->number[HISTEQ_CHANNEL]) {
    case HISTEQ_VALUE: return launch<CHANNELS, HISTEQ_VALUE>(context, calls, count);
    case HISTEQ_LUMA: return launch<CHANNELS, HISTEQ_LUMA>(context, calls, count);
    default: return launch<CHANNELS, HISTEQ_EACH>(context, calls, count);
    }
}

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    return calls[0].in.depth == 16 ? histeq16_scratch(calls, count) : 0;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    if (calls[0].in.depth == 16) return histeq16_run(context, calls, count);
    switch (calls[0].in.channels) {
    case 1: return launch<1, HISTEQ_VALUE>(context, calls, count);
    case 2: return launch<2, HISTEQ_VALUE>(context, calls, count);
    case 3: return launch_colour<3>(context, calls, count);
    default: return launch_colour<4>(context, calls, count);
    }
}

extern "C" const struct cuda_op cuda_op_histeq = { scratch, run };
