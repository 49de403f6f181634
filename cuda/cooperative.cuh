// SPDX-License-Identifier: Apache-2.0
/* cooperative.cuh - launches whose blocks all run at once, so that they may wait for one another.
 *
 * Used by:  histeq, clahe (short ones); carving (long ones). What that means: cooperative_lane.cuh.
 * Fails:    cudaErrorCooperativeLaunchTooLarge when so many blocks do not run at once, or when a
 *           long kernel has the GPU: do the same with fewer blocks, or with none that wait. Nothing
 *           is spoilt by that. Never returned for one block.
 * Threads:  the lane's.
 * Limits:   how many run at once is not asked beforehand and not remembered: it follows from what
 *           other processes were given (MPS, MIG), and the launch itself is the only answer that
 *           is true when it matters. So a launch that fits costs nothing more.
 */
#ifndef BURIN_COOPERATIVE_CUH
#define BURIN_COOPERATIVE_CUH

#include "cuda/cooperative_lane.cuh"
#include "cuda/cuda_op.h"

struct cooperative_launch {
    const void *kernel;
    unsigned threads;    /* of a block */
    size_t shared_bytes; /* dynamic */
    void **arguments;
};

/* Whether a launch was refused for its number of blocks, or because no blocks can be made to run at
 * once on this device at all: one block always can. */
static inline bool is_refusal(cudaError_t error) {
    return error == cudaErrorCooperativeLaunchTooLarge || error == cudaErrorNotSupported;
}

/* One of so many multiprocessors is left by a long kernel. To measure another part: a build with
 * -DCOOPERATIVE_LEFT=4, and tests/bench/kernels/turns, which tries several. */
#ifndef COOPERATIVE_LEFT
#define COOPERATIVE_LEFT 8
#endif

/* Of so many multiprocessors those that a long kernel may take. On what is left small kernels run
 * as soon as they come, with the blocks of one or two images of 320 x 240 at once; and carving,
 * which waits for memory, not for arithmetic, is hardly slower for it. */
static inline unsigned cooperative_share(unsigned multiprocessors) {
    return multiprocessors - multiprocessors / COOPERATIVE_LEFT;
}

/* Without a turn: of a long kernel, between the turn's beginning and end. */
static inline cudaError_t cooperative_launch_in(const struct cuda_context *context,
                                                const struct cooperative_launch *launch,
                                                unsigned blocks, cudaStream_t stream) {
    const unsigned most = context->cooperative_blocks_max;
    if (blocks == 1)
        return cudaLaunchKernel(launch->kernel, 1, launch->threads, launch->arguments,
                                launch->shared_bytes, stream);
    if (most && blocks > most) return cudaErrorCooperativeLaunchTooLarge;
    const cudaError_t error = cudaLaunchCooperativeKernel(
        launch->kernel, blocks, launch->threads, launch->arguments, launch->shared_bytes, stream);
    if (!is_refusal(error)) return error;
    cudaGetLastError(); /* else the next check would meet it */
    return cudaErrorCooperativeLaunchTooLarge;
}

/* A short kernel. */
static inline cudaError_t cooperative_launch(const struct cuda_context *context,
                                             const struct cooperative_launch *launch,
                                             unsigned blocks) {
    if (blocks == 1) return cooperative_launch_in(context, launch, blocks, context->stream);
    cudaError_t error;
    const cudaStream_t stream =
        cooperative_lane_begin_short(context->cooperative, context->stream, &error);
    if (error) return error;
    error = cooperative_launch_in(context, launch, blocks, stream);
    const cudaError_t ended = cooperative_lane_end_short(context->cooperative, context->stream);
    return error ? error : ended;
}

/* Lets kernels have more shared memory than the 48 KB that any may have, and makes CUDA load them:
 * it does that at the first call about a kernel, and may wait for long kernels then. Once for each
 * device: PREPARED has a bit for each. Before cooperative_launch(), which has the process's lock.
 */
static inline cudaError_t prepare_kernels(const void *const *kernels, int count, int shared_bytes,
                                          uint64_t *prepared) {
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    const uint64_t mine = UINT64_C(1) << device % 64;
    if (error || __atomic_load_n(prepared, __ATOMIC_ACQUIRE) & mine) return error;
    for (int i = 0; i < count && !error; i++)
        error = cudaFuncSetAttribute(kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shared_bytes);
    if (!error) __atomic_fetch_or(prepared, mine, __ATOMIC_RELEASE);
    return error;
}

#endif
