// SPDX-License-Identifier: Apache-2.0
/* cooperative.cuh - launches whose blocks all run at once, so that they may wait for one another.
 *
 * Used by:  histeq; carve's grid method. (Its methods in clusters have launch_kernel.cuh.)
 * Fails:    cudaErrorCooperativeLaunchTooLarge when so many blocks do not run at once: launch again
 *           with fewer. Nothing is spoilt by that. Never returned for one block.
 * Threads:  the lane's.
 * Limits:   how many run at once is not asked beforehand and not remembered: it follows from what
 *           other processes were given (MPS, MIG), and the launch itself is the only answer that
 *           is true when it matters. So a launch that fits costs nothing more.
 */
#ifndef BURIN_COOPERATIVE_CUH
#define BURIN_COOPERATIVE_CUH

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

static inline cudaError_t cooperative_launch(const struct cuda_context *context,
                                             const struct cooperative_launch *launch,
                                             unsigned blocks) {
    const unsigned most = context->cooperative_blocks_max;
    if (blocks == 1)
        return cudaLaunchKernel(launch->kernel, 1, launch->threads, launch->arguments,
                                launch->shared_bytes, context->stream);
    if (most && blocks > most) return cudaErrorCooperativeLaunchTooLarge;
    const cudaError_t error =
        cudaLaunchCooperativeKernel(launch->kernel, blocks, launch->threads, launch->arguments,
                                    launch->shared_bytes, context->stream);
    if (!is_refusal(error)) return error;
    cudaGetLastError(); /* else the next check would meet it */
    return cudaErrorCooperativeLaunchTooLarge;
}

#endif
