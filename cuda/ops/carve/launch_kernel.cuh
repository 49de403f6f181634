// SPDX-License-Identifier: Apache-2.0
/* launch_kernel.cuh - launches kernels of carving, which take one struct by value.
 *
 * Used by:  every file of carving that has a kernel.
 * Fails:    as check.cuh says.
 */
#ifndef BURIN_CARVE_LAUNCH_KERNEL_CUH
#define BURIN_CARVE_LAUNCH_KERNEL_CUH

#include "cuda/check.cuh"
#include "cuda/ops/carve/ptx.cuh"

struct launch_queue {
    cudaStream_t stream;
    struct failure *failure; /* gets the failure of a launch */
};

template <class ARGS>
static enum status launch(void (*kernel)(ARGS), dim3 blocks, dim3 threads,
                          const struct launch_queue &queue, const ARGS &args) {
    kernel<<<blocks, threads, 0, queue.stream>>>(args);
    CUDA_LAUNCHED(queue.failure);
    return STATUS_OK;
}

/* ---- the same for several images in a launch, an image for each number of the grid in z */

enum { ITEMS_BYTES = 3840 }; /* of a kernel's parameters, of which every driver takes 4096 */

template <class ARGS> struct items { ARGS of[ITEMS_BYTES / sizeof(ARGS)]; };

template <class ARGS, void (*BODY)(const ARGS &)>
static __global__ void items_kernel(const __grid_constant__ struct items<ARGS> items) {
    BODY(items.of[blockIdx.z]);
}

/* BLOCKS: of an item, in x and y; an item leaves out those that a larger one needs. */
template <class ARGS>
static enum status launch_items(void (*kernel)(struct items<ARGS>), dim3 (*blocks)(const ARGS &),
                                dim3 threads, const struct launch_queue &queue, const ARGS *args,
                                int count) {
    constexpr int MOST = ITEMS_BYTES / sizeof(ARGS);
    for (int first = 0; first < count; first += MOST) {
        struct items<ARGS> items;
        dim3 grid(1, 1, (unsigned)min(count - first, MOST));
        for (unsigned i = 0; i < grid.z; i++) {
            items.of[i] = args[first + (int)i];
            const dim3 its = blocks(items.of[i]);
            grid.x = max(grid.x, its.x), grid.y = max(grid.y, its.y);
        }
        kernel<<<grid, threads, 0, queue.stream>>>(items);
        CUDA_LAUNCHED(queue.failure);
    }
    return STATUS_OK;
}

/* ---- a thread a pixel */

enum { PIXEL_BLOCK_X = 32, PIXEL_BLOCK_Y = 8 };

static inline dim3 pixel_blocks(uint32_t width, uint32_t height) {
    return dim3((width + PIXEL_BLOCK_X - 1) / PIXEL_BLOCK_X,
                (height + PIXEL_BLOCK_Y - 1) / PIXEL_BLOCK_Y);
}

template <class ARGS>
static enum status launch_pixels(void (*kernel)(ARGS), uint32_t width, uint32_t height,
                                 const struct launch_queue &queue, const ARGS &args) {
    return launch(kernel, pixel_blocks(width, height), dim3(PIXEL_BLOCK_X, PIXEL_BLOCK_Y), queue,
                  args);
}

/* May lie outside the image. */
DEVICE uint2 thread_pixel() {
    return make_uint2(blockIdx.x * PIXEL_BLOCK_X + threadIdx.x,
                      blockIdx.y * PIXEL_BLOCK_Y + threadIdx.y);
}

/* ---- blocks that wait for one another */

/* Occupancy depends on the first attribute only. */
static inline cudaLaunchConfig_t cluster_config(uint32_t blocks, uint32_t threads, uint32_t cluster,
                                                uint32_t shared_bytes,
                                                cudaLaunchAttribute attributes[2],
                                                cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = cluster;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    return config;
}

#endif
