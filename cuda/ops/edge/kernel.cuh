// SPDX-License-Identifier: Apache-2.0
/* edge_strips.cuh - a thread's strip: 16 bytes of levels across and so many rows down.
 *
 * A warp's threads stand side by side; each goes its own way, and there is no shared memory.
 */
#ifndef BURIN_EDGE_KERNEL_CUH
#define BURIN_EDGE_KERNEL_CUH

#include "cuda/ops/edge/output.cuh"
#include "cuda/ops/edge/sobel.cuh"

enum { EDGE_THREADS = 128 };

/* What a launch passes: chunks of the batch are strips, a chunk of pixels across and ROWS down,
 * even. */
struct strips {
    struct batch batch;
    struct edge_rule rule;
    uint32_t rows;
};

static __device__ __forceinline__ void prefetch_row(const uint8_t *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* The 2 REACH rows above the first that edges come of, and that one into RAW. All of them are asked
 * for at once: at first there are registers for them. What comes of rows that are not there yet
 * nobody reads. */
template <class KIND, bool WHOLE>
static __device__ __forceinline__ void begin(struct above<KIND> &above, struct raw_row<KIND> &raw,
                                             struct strip &strip, uint32_t top,
                                             const struct edge_rule &rule) {
    constexpr int ROWS = 2 * KIND::REACH;
    struct raw_row<KIND> before[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        fetch<KIND, WHOLE>(before[i], strip);
        if (i >= KIND::REACH || top + i >= KIND::REACH) next_row(strip);
    }
    fetch<KIND, WHOLE>(raw, strip);
    next_row(strip);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        uint32_t alpha[4];
        next_alpha(alpha, above, before[i]);
        next_corners(above.corners, above, levels_of<KIND, WHOLE>(before[i], strip, rule));
    }
}

/* WHOLE: the chunks of the warp are, rows start at 16 bytes, and there are all rows of the strips,
 * so that little is to be asked on the way. One row is on its way to registers while another is
 * worked on (two take registers, and so warps, and are slower), AHEAD more to the L2 cache. */
template <class KIND, bool WHOLE, int AHEAD>
static __device__ __forceinline__ void go_down(struct strip strip, struct target target,
                                               const struct edge_rule &rule, uint32_t rows) {
    struct raw_row<KIND> raw;
    struct above<KIND> above = {};
    begin<KIND, WHOLE>(above, raw, strip, target.top, rule);
    for (uint32_t i = 0; i < rows; i += 2) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            float corners[KIND::PIXELS + 1];
            uint32_t edges[4], alpha[4];
            struct raw_row<KIND> next;
            next_alpha(alpha, above, raw);
            next_corners(corners, above, levels_of<KIND, WHOLE>(raw, strip, rule));
            if (WHOLE && AHEAD && i + k + 1 + AHEAD < rows)
                prefetch_row(strip.from + (uint64_t)min(AHEAD, strip.below) * strip.stride);
            if (k == 0 || i + k + 1 < rows) fetch<KIND, WHOLE>(next, strip);
            next_row(strip);
            raw = next;
            edges_of(edges, above, corners);
            if (!KIND::PLAIN) finish_edges<KIND>(edges, target, target.top + i + k, rule);
            if (WHOLE || i + k < target.left) put_row<KIND, WHOLE>(edges, alpha, strip, target);
            target.to += target.stride;
        }
    }
}

/* BLOCKS of a multiprocessor: more threads hide more, fewer have more registers. The last strip of
 * a column ends with the image: it shares rows with the one above it rather than having fewer. The
 * last warp's threads behind the last strip do that one again. Both put the same bytes. */
template <class KIND, int BLOCKS, int AHEAD>
static __global__ void __launch_bounds__(EDGE_THREADS, BLOCKS)
    edge_kernel(const __grid_constant__ struct strips launch) {
    const struct batch &batch = launch.batch;
    const uint32_t number = blockIdx.x * EDGE_THREADS + threadIdx.x, rows = launch.rows;
    if (number / 32 * 32 >= batch.chunks) return; /* the whole warp */
    const uint32_t chunk = min(number, batch.chunks - 1);
    const struct picture &picture = batch.pictures[picture_at(batch, chunk)];
    const struct place place = place_of(picture, chunk - picture.first);
    const uint32_t top = min(place.y * rows, picture.height - min(rows, picture.height));
    const struct strip strip = strip_of<KIND>(picture, place, top);
    const struct target target = target_of<KIND>(picture, place, top, rows, launch.rule.margin);
    const bool whole = strip.aligned && strip.pixels == KIND::PIXELS && target.left == rows;
    if (__all_sync(~0u, whole))
        go_down<KIND, true, AHEAD>(strip, target, launch.rule, rows);
    else
        go_down<KIND, false, AHEAD>(strip, target, launch.rule, rows);
}

#endif
