// SPDX-License-Identifier: Apache-2.0
/* clearing.cuh - facts about masks and the seams found with them, for which the host waits.
 *
 * Used by:  carve.cu and abreast.cuh, which cannot queue what follows before they have them.
 * Owns:     an event, while it waits.
 * Fails:    as check.cuh says.
 * Threads:  the lane's, which passes progress on while it waits.
 */
#ifndef BURIN_CARVE_CLEARING_CUH
#define BURIN_CARVE_CLEARING_CUH

#include "cuda/event_wait.cuh"
#include "cuda/ops/carve/carve_context.cuh"

enum { COUNT_THREADS = 256 };

struct count_args {
    struct image mask;
    uint32_t *facts; /* MOST_IN_ROW and MOST_IN_COLUMN get the most marked pixels */
};

/* A thread counts a column, its warp a row. */
DEVICE void count_marks(const struct count_args &args) {
    const uint32_t thread = blockIdx.x * COUNT_THREADS + threadIdx.x, row = thread / 32;
    uint32_t in_column = 0, in_row = 0;
    for (uint32_t y = 0; thread < args.mask.width && y < args.mask.height; y++)
        in_column += sample_at(args.mask, thread, y, 0) >= CARVE_MASK_LEVEL;
    for (uint32_t x = thread % 32; row < args.mask.height && x < args.mask.width; x += 32)
        in_row += sample_at(args.mask, x, row, 0) >= CARVE_MASK_LEVEL;
#pragma unroll
    for (int step = 16; step; step /= 2) in_row += __shfl_xor_sync(~0u, in_row, step);
    if (in_column) atomicMax(&args.facts[MOST_IN_COLUMN], in_column);
    if (in_row && thread % 32 == 0) atomicMax(&args.facts[MOST_IN_ROW], in_row);
}

static inline dim3 count_blocks(const struct count_args &args) {
    const uint32_t most = max(args.mask.width, 32 * args.mask.height);
    return dim3((most + COUNT_THREADS - 1) / COUNT_THREADS);
}

/* Queues the counting of COUNT images' masks, whose facts were cleared. */
static inline enum status count_marked(const struct launch_queue &queue,
                                       const struct count_args *args, int count) {
    return launch_items(items_kernel<struct count_args, count_marks>, count_blocks,
                        dim3(COUNT_THREADS), queue, args, count);
}

static inline cudaError_t wait_for_queue(const struct cuda_context *context) {
    cudaEvent_t event;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error) return error;
    error = cudaEventRecord(event, context->stream);
    if (!error) error = event_wait(event, context->kernel_progress);
    cudaEventDestroy(event);
    return error;
}

typedef uint32_t clearing_facts[CLEARING_FACTS];

static inline enum status clear_facts(const struct launch_queue &queue, uint32_t *facts,
                                      int images) {
    CUDA_TRY(queue.failure,
             cudaMemsetAsync(facts, 0, (size_t)images * sizeof(clearing_facts), queue.stream));
    return STATUS_OK;
}

/* Reads the facts of some IMAGES, which follow each other FROM on, once all that is queued is
 * done. */
static inline enum status read_facts(const struct cuda_context *context, const uint32_t *from,
                                     clearing_facts *facts, int images, struct failure *failure) {
    if (context->kernel_progress) CUDA_TRY(failure, wait_for_queue(context));
    CUDA_TRY(failure, cudaMemcpyAsync(facts, from, (size_t)images * sizeof *facts,
                                      cudaMemcpyDeviceToHost, context->stream));
    CUDA_TRY(failure, cudaStreamSynchronize(context->stream));
    return STATUS_OK;
}

/* An image's refusal, which fails it alone. */
static inline enum status refuse_clearing(const struct carve_context *carve) {
    return fail(carve->call->failure, STATUS_MISMATCH, CARVE_NOT_CLEARED);
}

/* Makes the first phase the one that clears, if any, by the numbers of marked pixels. The total is
 * a guess: a line with the most marked pixels needs as many seams, or more. */
static inline enum status plan_clearing(struct carve_context *carve, struct phase *phase,
                                        const clearing_facts &facts) {
    if (!carve_clear(phase->width, phase->height, carve->goal_width, carve->goal_height, facts,
                     &phase->seams))
        return refuse_clearing(carve);
    if (phase->seams.clears)
        clear_by(carve, &phase->seams,
                 max(facts[is_turned(phase) ? MOST_IN_COLUMN : MOST_IN_ROW], phase->seams.least));
    return STATUS_OK;
}

/* Gives the phase that cleared its number of seams. */
static inline enum status finish_clearing(struct carve_context *carve, struct phase *phase,
                                          uint32_t taken) {
    if (taken == (is_turned(phase) ? phase->height : phase->width)) return refuse_clearing(carve);
    clear_by(carve, &phase->seams, taken);
    phase->seams = carve->clear;
    return STATUS_OK;
}

#endif
