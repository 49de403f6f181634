// SPDX-License-Identifier: Apache-2.0
/* kernel.cuh - the edge kernel: each thread goes down a strip of 16 bytes of luma.
 *
 * Used by:  cuda/ops/edge.cu, tests/bench/kernels/edge.cu.
 * Threads:  a warp's threads are adjacent; they share nothing, and use no shared memory.
 */
#ifndef BURIN_EDGE_KERNEL_CUH
#define BURIN_EDGE_KERNEL_CUH

#include "cuda/ops/edge/output.cuh"
#include "cuda/ops/edge/sobel.cuh"

enum { EDGE_THREADS = 128 };

/* Chunks of the batch are strips: a chunk of pixels across and ROWS, an even number, down. */
struct edge_args {
    struct batch batch;
    struct edge_rule rule;
    uint32_t rows;
};

static __device__ __forceinline__ void prefetch_row(const uint8_t *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* Loads the 2 REACH rows before the first row that completes a window, and that row into RAW, all
 * at once: at the beginning there are registers for them. Results that use rows before the first
 * are dropped. */
template <class TRAITS, bool WHOLE>
static __device__ __forceinline__ void
fill_window(struct sliding_window<TRAITS> &window, struct raw_row<TRAITS> &raw,
            struct input_strip &input, uint32_t top, const struct edge_rule &rule) {
    constexpr int ROWS = 2 * TRAITS::REACH;
    struct raw_row<TRAITS> before[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        load_row<TRAITS, WHOLE>(before[i], input);
        if (i >= TRAITS::REACH || top + i >= TRAITS::REACH) advance_row(input);
    }
    load_row<TRAITS, WHOLE>(raw, input);
    advance_row(input);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        uint32_t alpha[4];
        delay_alpha(alpha, window, before[i]);
        push_row(window.corners, window, luma_row_of<TRAITS, WHOLE>(before[i], input, rule));
    }
}

/* WHOLE: all chunks of the warp are whole, rows start at 16 bytes and the image's end cuts off no
 * strip, so that little is checked on the way. One row is loaded into registers while another is
 * processed (to load two takes registers, and so warps, and is slower); AHEAD more are prefetched
 * into the L2 cache. */
template <class TRAITS, bool WHOLE, int AHEAD>
static __device__ __forceinline__ void slide_down(struct input_strip input,
                                                  struct output_strip output,
                                                  const struct edge_rule &rule, uint32_t rows) {
    struct raw_row<TRAITS> raw;
    struct sliding_window<TRAITS> window = {};
    fill_window<TRAITS, WHOLE>(window, raw, input, output.top, rule);
    for (uint32_t i = 0; i < rows; i += 2) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            float corners[TRAITS::PIXELS + 1];
            uint32_t edges[4], alpha[4];
            struct raw_row<TRAITS> next;
            delay_alpha(alpha, window, raw);
            push_row(corners, window, luma_row_of<TRAITS, WHOLE>(raw, input, rule));
            if (WHOLE && AHEAD && i + k + 1 + AHEAD < rows)
                prefetch_row(input.next_row +
                             (uint64_t)min(AHEAD, input.rows_below) * input.stride);
            if (k == 0 || i + k + 1 < rows) load_row<TRAITS, WHOLE>(next, input);
            advance_row(input);
            raw = next;
            edge_row(edges, window, corners);
            if (!TRAITS::PLAIN)
                threshold_and_border<TRAITS>(edges, output, output.top + i + k, rule);
            if (WHOLE || i + k < output.rows) store_row<TRAITS, WHOLE>(edges, alpha, input, output);
            output.next_row += output.stride;
        }
    }
}

/* BLOCKS of a multiprocessor: more threads hide more latency, fewer have more registers each. The
 * last strip of a column ends with the image: it overlaps the one above instead of being shorter.
 * The last warp's surplus threads repeat the last strip and write the same bytes. */
template <class TRAITS, int BLOCKS, int AHEAD>
static __global__ void __launch_bounds__(EDGE_THREADS, BLOCKS)
    edge_kernel(const __grid_constant__ struct edge_args args) {
    const struct batch &batch = args.batch;
    const uint32_t number = blockIdx.x * EDGE_THREADS + threadIdx.x, rows = args.rows;
    if (number / 32 * 32 >= batch.chunks) return; /* the whole warp */
    const uint32_t chunk = min(number, batch.chunks - 1);
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_position position = chunk_position_of(image, chunk - image.first_chunk);
    const uint32_t top = min(position.y * rows, image.height - min(rows, image.height));
    const struct input_strip input = input_strip_of<TRAITS>(image, position, top);
    const struct output_strip output =
        output_strip_of<TRAITS>(image, position, top, rows, args.rule.margin);
    const bool whole = input.aligned && input.pixels == TRAITS::PIXELS && output.rows == rows;
    if (__all_sync(~0u, whole))
        slide_down<TRAITS, true, AHEAD>(input, output, args.rule, rows);
    else
        slide_down<TRAITS, false, AHEAD>(input, output, args.rule, rows);
}

#endif
