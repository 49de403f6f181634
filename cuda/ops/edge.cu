// SPDX-License-Identifier: Apache-2.0
/* Strips whose rows slide down in registers: a kernel for each kind of image and window, and one
 * more for each where nothing but the magnitude is asked for. How many rows and blocks each has was
 * tried on an H200 at 4K and 66 MP (tests/bench/results/edge-h200.txt). */
#include "pipeline/ops/edge.h"

#include "cuda/ops/edge/kernel.cuh"

/* ---- strips */

template <class KIND> static constexpr bool is_sobel3_of_bytes(void) {
    return KIND::DEPTH == 8 && KIND::REACH == 1;
}

/* Blocks of a multiprocessor: as many as registers allow. */
template <class KIND> static constexpr int blocks_of(void) {
    constexpr bool GRAY = KIND::CHANNELS == 1 && KIND::PLAIN;
    if (is_sobel3_of_bytes<KIND>()) return GRAY ? 5 : 4;
    return KIND::REACH == 1 || KIND::DEPTH == 16 || GRAY ? 4 : 3;
}

/* More rows lie too far apart for what the GPU reads at a time (RGB of 66 MP: 8 rows take 76 us, 16
 * take 81). */
template <class KIND> static constexpr uint32_t rows_most(void) {
    if (is_sobel3_of_bytes<KIND>()) return KIND::CHANNELS < 4 ? 8 : 32;
    return KIND::REACH == 1 && KIND::CHANNELS == 1 ? 16 : 32;
}

template <class KIND> static uint32_t threads_at_once(const struct cuda_context *context) {
    return (uint32_t)context->multiprocessors * blocks_of<KIND>() * EDGE_THREADS;
}

/* Rows of a strip, a power of two: the fewest with which the GPU holds all threads at once. Two
 * more, of sobel5 four, are read above and below, so more rows are less work. */
template <class KIND>
static uint32_t strip_rows(const struct cuda_context *context, const struct op_call *calls,
                           int count) {
    const uint64_t threads = threads_at_once<KIND>(context);
    uint64_t thread_rows = 0;
    for (int i = 0; i < count; i++)
        thread_rows +=
            (uint64_t)(calls[i].in.width + KIND::PIXELS - 1) / KIND::PIXELS * calls[i].in.height;
    uint32_t rows = 2 * KIND::REACH;
    while (rows < rows_most<KIND>() && rows * threads < thread_rows) rows *= 2;
    return rows;
}

template <class KIND, int AHEAD>
static void launch_strips(cudaStream_t stream, const struct strips &launch) {
    const unsigned blocks = (launch.batch.chunks + EDGE_THREADS - 1) / EDGE_THREADS;
    edge_kernel<KIND, blocks_of<KIND>(), AHEAD><<<blocks, EDGE_THREADS, 0, stream>>>(launch);
}

/* Two rows are fetched into the L2 cache ahead: it holds little of what one strip has read when the
 * next one needs it. Short strips of which each thread has but one are quicker without. */
template <class KIND>
static enum status run_kind(const struct cuda_context *context, const struct op_call *calls,
                            int count, const struct edge_rule &rule) {
    struct strips launch;
    launch.rule = rule;
    launch.rows = strip_rows<KIND>(context, calls, count);
    const enum status status = batch_tile(&launch.batch, calls, count, KIND::PIXELS, launch.rows);
    if (status) return status;
    if (launch.batch.chunks <= threads_at_once<KIND>(context))
        launch_strips<KIND, is_sobel3_of_bytes<KIND>() ? 0 : 2>(context->stream, launch);
    else
        launch_strips<KIND, 2>(context->stream, launch);
    return STATUS_OK;
}

/* ---- which kind */

/* Nothing but the magnitude is asked for and every row starts at 16 bytes. */
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
    if (is_plain(calls, count, rule))
        return run_kind<edge_kind<DEPTH, REACH, CHANNELS, true>>(context, calls, count, rule);
    return run_kind<edge_kind<DEPTH, REACH, CHANNELS, false>>(context, calls, count, rule);
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
    cuda_mark(context, "edge");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_edge = { NULL, run };
