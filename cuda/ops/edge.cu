// SPDX-License-Identifier: Apache-2.0
/* How it works. A thread goes down a strip of the image with its window in registers
 * (edge/kernel.cuh): rows of luma (luma_row.cuh) become magnitudes (sobel.cuh) and output rows
 * (output.cuh). Each kind of image and window has a kernel; gray, RGB and RGBA of 8 bits have
 * another one for requests of only the magnitude. The numbers of rows and blocks were tried on an
 * H200 at 4K and 66 MP (tests/bench/results/edge-h200.txt). No block waits for another, so any
 * share of a GPU works.
 */
#include "pipeline/ops/edge.h"

#include "cuda/ops/edge/kernel.cuh"

/* ---- strips */

template <class TRAITS> static constexpr bool is_sobel3_of_bytes(void) {
    return TRAITS::DEPTH == 8 && TRAITS::REACH == 1;
}

/* Blocks of a multiprocessor: as many as registers allow. */
template <class TRAITS> static constexpr int blocks_per_multiprocessor(void) {
    constexpr bool GRAY = TRAITS::CHANNELS == 1 && TRAITS::PLAIN;
    if (is_sobel3_of_bytes<TRAITS>()) return GRAY ? 5 : 4;
    return TRAITS::REACH == 1 || TRAITS::DEPTH == 16 || GRAY ? 4 : 3;
}

/* More rows spread the GPU's concurrent reads too far (RGB of 66 MP: 8 rows take 76 us, 16 take
 * 81). */
template <class TRAITS> static constexpr uint32_t strip_rows_max(void) {
    if (is_sobel3_of_bytes<TRAITS>()) return TRAITS::CHANNELS < 4 ? 8 : 32;
    return TRAITS::REACH == 1 && TRAITS::CHANNELS == 1 ? 16 : 32;
}

template <class TRAITS> static uint32_t resident_threads(const struct cuda_context *context) {
    return (uint32_t)context->multiprocessors * blocks_per_multiprocessor<TRAITS>() * EDGE_THREADS;
}

/* Rows of a strip, a power of two: the fewest with which all threads run at once. Besides them a
 * strip reads two more rows above and below it, with sobel5 four, so that higher strips are less
 * work. */
template <class TRAITS>
static uint32_t strip_rows(const struct cuda_context *context, const struct op_call *calls,
                           int count) {
    const uint64_t threads = resident_threads<TRAITS>(context);
    uint64_t thread_rows = 0;
    for (int i = 0; i < count; i++)
        thread_rows += (uint64_t)(calls[i].in.width + TRAITS::PIXELS - 1) / TRAITS::PIXELS *
                       calls[i].in.height;
    uint32_t rows = 2 * TRAITS::REACH;
    while (rows < strip_rows_max<TRAITS>() && rows * threads < thread_rows) rows *= 2;
    return rows;
}

template <class TRAITS, int AHEAD>
static void launch_kernel(cudaStream_t stream, const struct edge_args &args) {
    const unsigned blocks = (args.batch.chunks + EDGE_THREADS - 1) / EDGE_THREADS;
    edge_kernel<TRAITS, blocks_per_multiprocessor<TRAITS>(), AHEAD>
        <<<blocks, EDGE_THREADS, 0, stream>>>(args);
}

/* Two rows are prefetched into the L2 cache, which holds little of one strip's reads when the next
 * strip needs them. Where all strips run at once, short strips are quicker without; only plain ones
 * have a kernel for that. */
template <class TRAITS>
static enum status run_traits(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct edge_rule &rule) {
    struct edge_args args;
    args.rule = rule;
    args.rows = strip_rows<TRAITS>(context, calls, count);
    const enum status status =
        batch_init_tiles(&args.batch, calls, count, TRAITS::PIXELS, args.rows);
    if (status) return status;
    if (args.batch.chunks <= resident_threads<TRAITS>(context))
        launch_kernel<TRAITS, TRAITS::PLAIN && is_sobel3_of_bytes<TRAITS>() ? 0 : 2>(
            context->stream, args);
    else
        launch_kernel<TRAITS, 2>(context->stream, args);
    return STATUS_OK;
}

/* ---- which kind */

/* Only the magnitude is wanted, and every row starts at 16 bytes. */
static bool is_plain(const struct op_call *calls, int count, const struct edge_rule &rule) {
    uintptr_t bits = 0;
    for (int i = 0; i < count; i++)
        bits |= (uintptr_t)calls[i].in.pixels | (uintptr_t)calls[i].out.pixels |
                calls[i].in.stride | calls[i].out.stride;
    return bits % 16 == 0 && !rule.shift.add && !rule.threshold && !rule.white && !rule.margin;
}

template <int DEPTH, int REACH, int CHANNELS>
static enum status run_channels(const struct cuda_context *context, const struct op_call *calls,
                                int count, const struct edge_rule &rule) {
    if constexpr (DEPTH == 8 && CHANNELS != 2)
        if (is_plain(calls, count, rule))
            return run_traits<edge_traits<8, REACH, CHANNELS, true>>(context, calls, count, rule);
    return run_traits<edge_traits<DEPTH, REACH, CHANNELS, false>>(context, calls, count, rule);
}

template <int DEPTH, int REACH>
static enum status run_window(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct edge_rule &rule) {
    switch (calls[0].in.channels) {
    case 1: return run_channels<DEPTH, REACH, 1>(context, calls, count, rule);
    case 2: return run_channels<DEPTH, REACH, 2>(context, calls, count, rule);
    case 3: return run_channels<DEPTH, REACH, 3>(context, calls, count, rule);
    default: return run_channels<DEPTH, REACH, 4>(context, calls, count, rule);
    }
}

template <int DEPTH>
static enum status run_depth(const struct cuda_context *context, const struct op_call *calls,
                             int count, const struct edge_rule &rule) {
    return rule.reach == 1 ? run_window<DEPTH, 1>(context, calls, count, rule)
                           : run_window<DEPTH, 2>(context, calls, count, rule);
}

/* ---- run */

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const unsigned depth = calls[0].in.depth;
    const struct edge_rule rule = edge_rule_of(calls[0].params, depth);
    const enum status status = depth == 8 ? run_depth<8>(context, calls, count, rule)
                                          : run_depth<16>(context, calls, count, rule);
    if (status) return status;
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "edge");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_edge = { NULL, run };
