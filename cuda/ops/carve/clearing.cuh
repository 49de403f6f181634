// SPDX-License-Identifier: Apache-2.0
/* clearing.cuh - facts about masks and the seams found with them, for which the host waits.
 *
 * Used by:  carve.cu, which cannot queue what follows before it has them.
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
static __global__ void count_kernel(const __grid_constant__ struct count_args args) {
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

static inline enum status clear_facts(const struct carve_context *carve) {
    CUDA_TRY(carve->failure, cudaMemsetAsync(carve->facts, 0, CLEARING_FACTS * sizeof(uint32_t),
                                             carve->context->stream));
    return STATUS_OK;
}

/* Queues the counting. */
static inline enum status count_marked(const struct carve_context *carve) {
    const struct count_args args = { carve->call->aux[CARVE_REMOVE], carve->facts };
    const uint32_t by_row = 32 * args.mask.height, most = max(args.mask.width, by_row);
    const enum status status = clear_facts(carve);
    return status ? status
                  : launch(count_kernel, dim3((most + COUNT_THREADS - 1) / COUNT_THREADS),
                           dim3(COUNT_THREADS), carve->queue, args);
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

/* Reads the facts once all that is queued is done. */
static inline enum status read_facts(const struct carve_context *carve,
                                     uint32_t facts[CLEARING_FACTS]) {
    const struct cuda_context *context = carve->context;
    if (context->kernel_progress) CUDA_TRY(carve->failure, wait_for_queue(context));
    CUDA_TRY(carve->failure, cudaMemcpyAsync(facts, carve->facts, CLEARING_FACTS * sizeof *facts,
                                             cudaMemcpyDeviceToHost, context->stream));
    CUDA_TRY(carve->failure, cudaStreamSynchronize(context->stream));
    return STATUS_OK;
}

#endif
