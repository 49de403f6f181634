// SPDX-License-Identifier: Apache-2.0
/* cooperative.cuh - launches whose blocks all run at once, so that they may wait for one another.
 *
 * Used by:  histeq, clahe (short kernels); carving (long ones). cooperative_lane.cuh explains
 *           these.
 * Fails:    cudaErrorCooperativeLaunchTooLarge when the blocks do not all run at once, or when a
 *           long kernel, or a launch of many searches, has the GPU. The context is unharmed, and
 *           the caller does the same work with fewer blocks, or with blocks that do not wait. Never
 *           returned for one block.
 * Threads:  the lane's.
 * Limits:   how many blocks run at once is neither asked beforehand nor remembered, since it
 *           depends on the parts of other processes (MPS, MIG): only the launch itself gives an
 *           answer that is true when it matters. So a launch that fits costs nothing more.
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

/* Whether a launch was refused because of its number of blocks, or because this device cannot make
 * blocks run at once at all: one block always runs. */
static inline bool is_refusal(cudaError_t error) {
    return error == cudaErrorCooperativeLaunchTooLarge || error == cudaErrorNotSupported;
}

/* A long kernel leaves one of COOPERATIVE_LEFT multiprocessors free. To measure other values, build
 * with -DCOOPERATIVE_LEFT=4; tests/bench/kernels/turns tries several. */
#ifndef COOPERATIVE_LEFT
#define COOPERATIVE_LEFT 8
#endif

/* The number of multiprocessors that a long kernel may take. On the others small kernels run as
 * soon as they come, with the blocks of one or two images of 320 x 240 at once; carving waits for
 * memory, not for arithmetic, and is hardly slower for it. */
static inline unsigned cooperative_share(unsigned multiprocessors) {
    return multiprocessors - multiprocessors / COOPERATIVE_LEFT;
}

/* Launches without taking a turn: for a long kernel, between the turn's beginning and end. */
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
    cudaGetLastError(); /* so that the next check does not see it */
    return cudaErrorCooperativeLaunchTooLarge;
}

/* Launches a short kernel, in a turn of its own. */
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

/* Lets kernels have more than the default 48 KB of shared memory, and makes CUDA load them, which
 * the first call about a kernel does and which may wait for long kernels. Once for each device, a
 * bit of PREPARED each. Call it before cooperative_launch(), which holds the process's lock. */
static inline cudaError_t prepare_kernels(const void *const *kernels, int count, int shared_bytes,
                                          uint64_t *prepared) {
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    const uint64_t bit = UINT64_C(1) << device % 64;
    if (error || __atomic_load_n(prepared, __ATOMIC_ACQUIRE) & bit) return error;
    for (int i = 0; i < count && !error; i++)
        error = cudaFuncSetAttribute(kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shared_bytes);
    if (!error) __atomic_fetch_or(prepared, bit, __ATOMIC_RELEASE);
    return error;
}

#endif
