// SPDX-License-Identifier: Apache-2.0
/* weighed.cuh - runs searches whose steps cost something, or whose masks weigh, on any GPU.
 *
 * Used by:  method.cuh. No other method takes such a search, and this one takes no other.
 * Fails:    as check.cuh says.
 * Limits:   none. Bytes a pixel: luma and marks 1 each, turns 1/4; both directions: turns 1/2, and
 *           2 for every pixel removed; for each column of the longer side 550.
 *
 * It is a kernel of its own, because any_gpu's cells hold one cost for both directions, and its
 * bands know nothing of the line before. The plainest way is fast enough here.
 */
#ifndef BURIN_CARVE_WEIGHED_CUH
#define BURIN_CARVE_WEIGHED_CUH

#include "cuda/ops/carve/any_gpu/any_gpu.cuh"
#include "cuda/ops/carve/weighed/kernel.cuh"

static inline void weighed_lay_axis(struct weighed_axis *axis, struct arena *arena,
                                    uint32_t columns, uint32_t lines, size_t cost) {
    axis->stride = round_up(columns, 16);
    for (int i = 0; i < 4; i++)
        axis->costs[i / 2][i % 2] = arena_take<uint8_t>(arena, columns * cost);
    axis->middle = arena_take<uint32_t>(arena, columns);
    axis->turns = arena_take<uint8_t>(arena, (size_t)axis->stride / 4 * lines);
}

/* The arguments, and their memory from ARENA. */
static inline void weighed_lay(const struct seam_search *search, struct arena *arena,
                               struct weighed_args *args) {
    const uint32_t width = search->width, height = search->height;
    const size_t plane = (size_t)search->luma_stride * height + 16;
    const size_t cost = search->marks && !search->soft ? sizeof(uint64_t) : sizeof(uint32_t);
    *args = { width, height, search->columns, search->rows, search->energy, search->rigidity };
    args->soft = search->soft;
    args->barrier = arena_take<uint64_t>(arena, 2);
    args->luma[0] = search->luma, args->luma[1] = arena_take<uint8_t>(arena, plane);
    if (search->marks)
        args->marks[0] = search->marks, args->marks[1] = arena_take<uint8_t>(arena, plane);
    args->plane_stride = search->luma_stride;
    weighed_lay_axis(&args->axes[0], arena, width, height, cost);
    if (search->rows) weighed_lay_axis(&args->axes[1], arena, height, width, cost);
    args->words = arena_take<uint32_t>(arena, (size_t)4 * WEIGHED_BAND *
                                                  max(args->axes[0].stride, args->axes[1].stride));
    args->seams = search->seams;
    args->progress = search->progress, args->done = search->done;
    args->least = search->least, args->taken = search->clears ? search->taken : NULL;
    if (!search->rows) return;
    args->seams = arena_take<uint16_t>(arena, (size_t)search->columns * height +
                                                  (size_t)search->rows * width);
    args->turned = arena_take<uint8_t>(arena, search->columns + search->rows);
    args->origins = search->origins, args->origin_stride = search->origin_stride;
}

/* Scratch bytes for SEARCH; of its pointers only NULL or not NULL counts. */
static inline size_t weighed_scratch(const struct seam_search *search) {
    struct arena arena = {};
    struct weighed_args args;
    weighed_lay(search, &arena, &args);
    return arena.bytes;
}

/* Removes the seams of SEARCH. Origins are numbered by origin_stride. */
static inline enum status weighed_run(const struct cuda_context *context,
                                      const struct seam_search *search, struct failure *failure) {
    enum { BLOCK_PIXELS = 4096 }; /* for fewer, more blocks cost more in barriers than they do */
    struct arena arena = { (uint8_t *)search->scratch, 0 };
    struct weighed_args args;
    weighed_lay(search, &arena, &args);
    CUDA_TRY(failure, cudaMemsetAsync(args.barrier, 0, 2 * sizeof *args.barrier, context->stream));
    void (*const kernels[])(
        struct weighed_args) = { weighed_kernel<uint32_t, false>, weighed_kernel<uint32_t, true>,
                                 weighed_kernel<uint64_t, false>, weighed_kernel<uint64_t, true> };
    const bool keys = search->marks && !search->soft;
    void *arguments[] = { &args };
    const struct cooperative_launch launch = {
        (const void *)kernels[(keys ? 2 : 0) + (search->rows ? 1 : 0)], WEIGHED_THREADS, 0,
        arguments
    };
    const uint64_t wanted = ((uint64_t)args.width * args.height + BLOCK_PIXELS - 1) / BLOCK_PIXELS;
    const uint32_t most = cooperative_share((unsigned)context->multiprocessors);
    CUDA_TRY(failure, any_gpu_launch(context, &launch, (uint32_t)min(wanted, (uint64_t)most)));
    return STATUS_OK;
}

#endif
