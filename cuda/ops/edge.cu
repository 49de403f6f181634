// SPDX-License-Identifier: Apache-2.0
/* Strips whose rows slide down in registers: a kernel for each kind of image and window, and one
 * more for each where nothing but the magnitude is asked for. */
#include "pipeline/ops/edge.h"

#include "cuda/ops/edge_strips.cuh"

/* ---- strips */

/* Blocks of a multiprocessor: as many as registers allow. More of them are worth more than a few
 * registers: RGB of 66 MP took 85 us with four, 80 with five, with the arithmetic of before. */
template <class KIND> static constexpr int blocks_of(void) {
    constexpr bool LEAN =
        KIND::DEPTH == 16 ? KIND::CHANNELS <= 2 : KIND::CHANNELS == 1 && KIND::PLAIN;
    if (KIND::REACH == 2) return LEAN ? 4 : 3;
    return KIND::PLAIN ? (KIND::PIXEL_BYTES == 1 ? 6 : 5) : 4;
}

/* For each row of the window's reach. */
static constexpr uint32_t ROWS_LEAST = 2, ROWS_MOST = 8;

/* sobel3 of gray: more rows than a few are as many as may be; images that need the GPU's threads
 * many times over have longer strips, whose rows are fetched into the L2 cache ahead: it holds
 * little of what one strip has read when the next one needs it. For those, and where the GPU holds
 * all blocks at once, more registers a thread are worth more than threads: 4K takes 8.2 us so and
 * 8.3 with a block more, 263 MP 146.9 and 147.5. */
enum { AHEAD_LONG = 2, BLOCKS_FEW = 5 };
static constexpr uint32_t ROWS_FEW = 4, ROWS_LONG = 16, TIMES_LONG = 4;

template <class KIND> static constexpr bool has_long_strips(void) {
    return KIND::REACH == 1 && KIND::CHANNELS == 1 && KIND::PLAIN;
}

/* Rows of a strip, an even number: so many that the threads fill the GPU once. Two more, of sobel5
 * four, are read above and below, so more rows are less work; but the longer the strips, the
 * farther apart is what the GPU reads at a time, and that costs more from nine on where nothing is
 * fetched ahead (sobel3 of RGB, 66 MP: 8 rows take 75 us, 16 take 82, and 79 with two of them
 * ahead). */
template <class KIND>
static uint32_t strip_rows(const struct cuda_context *context, const struct op_call *calls,
                           int count) {
    constexpr uint32_t LEAST = ROWS_LEAST * KIND::REACH, MOST = ROWS_MOST * KIND::REACH;
    const uint64_t threads = (uint64_t)context->multiprocessors * blocks_of<KIND>() * EDGE_THREADS;
    uint64_t rows = 0;
    for (int i = 0; i < count; i++)
        rows +=
            (uint64_t)(calls[i].in.width + KIND::PIXELS - 1) / KIND::PIXELS * calls[i].in.height;
    const uint64_t wanted = (rows + 2 * threads - 1) / (2 * threads) * 2;
    if (has_long_strips<KIND>() && wanted >= TIMES_LONG * ROWS_LONG) return ROWS_LONG;
    if (has_long_strips<KIND>() && wanted > ROWS_FEW)
        return ROWS_MOST; /* 4K: 8 rows take 8.2 us, 6 or 4 take 8.4 */
    return wanted < LEAST ? LEAST : wanted > MOST ? MOST : (uint32_t)wanted;
}

static unsigned blocks_for(const struct strips &launch) {
    return (launch.batch.chunks + EDGE_THREADS - 1) / EDGE_THREADS;
}

template <class KIND, int BLOCKS = blocks_of<KIND>(), int AHEAD = 0>
static void launch_strips(cudaStream_t stream, const struct strips &launch) {
    edge_kernel<KIND, BLOCKS, AHEAD><<<blocks_for(launch), EDGE_THREADS, 0, stream>>>(launch);
}

/* sobel3 of gray, plain. */
template <class KIND>
static void launch_plain(const struct cuda_context *context, const struct strips &launch) {
    const bool once = blocks_for(launch) <= (unsigned)(BLOCKS_FEW * context->multiprocessors);
    if (launch.rows == ROWS_LONG)
        launch_strips<KIND, BLOCKS_FEW, AHEAD_LONG>(context->stream, launch);
    else if (launch.rows == ROWS_MOST && once)
        launch_strips<KIND, BLOCKS_FEW>(context->stream, launch);
    else
        launch_strips<KIND>(context->stream, launch);
}

template <class KIND>
static enum status run_kind(const struct cuda_context *context, const struct op_call *calls,
                            int count, const struct edge_rule &rule) {
    struct strips launch;
    launch.rule = rule;
    launch.rows = strip_rows<KIND>(context, calls, count);
    const enum status status = batch_tile(&launch.batch, calls, count, KIND::PIXELS, launch.rows);
    if (status) return status;
    if constexpr (has_long_strips<KIND>())
        launch_plain<KIND>(context, launch);
    else
        launch_strips<KIND>(context->stream, launch);
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
