// SPDX-License-Identifier: Apache-2.0
/* launch16.cuh - histogram equalization of 16-bit samples: count, table and apply, a launch each.
 *
 * Used by:  cuda/ops/histeq.cu.
 * Fails:    as batch.cuh and check.cuh say.
 * Limits:   histeq16_scratch() bytes of scratch. No block waits for another.
 *
 * How it works.
 * Count:  a window of bins is in shared memory, as wide as the GPU allows (65536 bins are two
 *         windows where a block may have 128 KB), and the image is read once for every window. With
 *         few bins there is a copy for each bank, so that lanes never conflict.
 * Table:  1024 bins a block; each sums all bins before its own, which costs less than waiting for
 *         another block to do it.
 * Apply:  a block copies the levels into its shared memory where they fit: random look-ups are
 *         several times faster there than in the L1 cache.
 */
#ifndef BURIN_HISTEQ_LAUNCH16_CUH
#define BURIN_HISTEQ_LAUNCH16_CUH

#include "cuda/ops/histeq/apply16.cuh"
#include "cuda/ops/histeq/histogram16.cuh"
#include "cuda/ops/histeq/table16.cuh"

static inline int table_count16(const struct op_call *calls) {
    return calls[0].params->number[HISTEQ_CHANNEL] == HISTEQ_EACH ? (int)image_colours(&calls[0].in)
                                                                  : 1;
}

static inline uint32_t pitch16(const struct op_call *calls) {
    return ((uint32_t)calls[0].params->number[HISTEQ_BINS] + 63) / 64 * 64;
}

static inline size_t histeq16_scratch(const struct op_call *calls, int count) {
    const size_t tables = (size_t)count * table_count16(calls);
    return tables * pitch16(calls) * 6 + (tables + 63) / 64 * 256;
}

static inline struct histeq16_args histeq16_args_of(const struct cuda_context *context,
                                                    const struct op_call *calls, int count) {
    struct histeq16_args args = {};
    args.tables = table_count16(calls);
    args.bins = (uint32_t)calls[0].params->number[HISTEQ_BINS];
    args.scale = (int)calls[0].params->number[HISTEQ_SCALE];
    args.pitch = pitch16(calls);
    const size_t tables = (size_t)count * args.tables;
    args.counts = (uint32_t *)calls[0].scratch;
    args.identity = args.counts + tables * args.pitch;
    args.levels = (uint16_t *)(args.identity + (tables + 63) / 64 * 64);
    set_window(&args, context->shared_bytes);
    args.levels_fit = (int)(2 * args.tables * args.pitch) <= context->shared_bytes;
    return args;
}

template <int CHANNELS, int MODE>
static enum status launch16(const struct cuda_context *context, struct op_call *calls, int count) {
    typedef layout16<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    struct batch batch;
    const enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    const struct histeq16_args args = histeq16_args_of(context, calls, count);
    const unsigned tables = (unsigned)(count * args.tables);
    const int level_bytes = args.levels_fit ? (int)(2 * args.tables * args.pitch) : 0;
    const dim3 table_blocks((args.bins + THREADS16 - 1) / THREADS16, tables);
    const cudaFuncAttribute most_shared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(failure, cudaFuncSetAttribute(apply16_kernel<CHANNELS, MODE>, most_shared,
                                           context->shared_bytes));
    enum status counted = launch_count16<CHANNELS, MODE>(context, &batch, args, failure);
    if (counted) return counted;
    cuda_record_kernel(context, "count");
    table16_kernel<<<table_blocks, THREADS16, 0, context->stream>>>(batch, args);
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, "table");
    const unsigned blocks = batch_divide(&batch, THREADS16, context->multiprocessors);
    apply16_kernel<CHANNELS, MODE>
        <<<blocks, THREADS16, level_bytes, context->stream>>>(batch, args);
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, "apply");
    return STATUS_OK;
}

#endif
