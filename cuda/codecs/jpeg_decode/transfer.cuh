// SPDX-License-Identifier: Apache-2.0
/* transfer.cuh - descriptions from pinned memory to the device and verdicts back, by a kernel.
 *
 * Used by:  jpeg_decode.cu.
 * Limits:   JPEG_TRANSFER_PARTS a launch, each of whole words.
 *
 * How it works. The GPU has one engine for copies in each direction, and a few KB that are queued
 * there wait for the 60 MB of another lane. A kernel reads and writes pinned memory by itself, and
 * one launch does what took two copies and a memset.
 */
#ifndef BURIN_JPEG_DECODE_TRANSFER_CUH
#define BURIN_JPEG_DECODE_TRANSFER_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JPEG_TRANSFER_PARTS = 3,
    JPEG_TRANSFER_THREADS = 256,
    JPEG_TRANSFER_LOADS = 4, /* loads of a thread, under way together */
    JPEG_TRANSFER_BLOCK = JPEG_TRANSFER_THREADS * JPEG_TRANSFER_LOADS /* words */
};

struct jpeg_transfers {
    int count;
    uint32_t words_max;
    struct jpeg_transfer_part {
        uint32_t *to;
        const uint32_t *from; /* NULL: zeros */
        uint32_t words;
    } parts[JPEG_TRANSFER_PARTS];
};

static inline void jpeg_transfer_add(struct jpeg_transfers *transfers, void *to, const void *from,
                                     size_t bytes) {
    const uint32_t words = (uint32_t)(bytes / sizeof(uint32_t));
    transfers->parts[transfers->count++] = { (uint32_t *)to, (const uint32_t *)from, words };
    if (words > transfers->words_max) transfers->words_max = words;
}

static __global__ void __launch_bounds__(JPEG_TRANSFER_THREADS)
    jpeg_transfer_kernel(const __grid_constant__ struct jpeg_transfers transfers) {
    const struct jpeg_transfers::jpeg_transfer_part &part = transfers.parts[blockIdx.y];
    const uint32_t first = blockIdx.x * JPEG_TRANSFER_BLOCK + threadIdx.x;
    uint32_t words[JPEG_TRANSFER_LOADS] = { 0 };
#pragma unroll
    for (int i = 0; i < JPEG_TRANSFER_LOADS; i++)
        if (part.from && first + i * JPEG_TRANSFER_THREADS < part.words)
            words[i] = part.from[first + i * JPEG_TRANSFER_THREADS];
#pragma unroll
    for (int i = 0; i < JPEG_TRANSFER_LOADS; i++)
        if (first + i * JPEG_TRANSFER_THREADS < part.words)
            part.to[first + i * JPEG_TRANSFER_THREADS] = words[i];
}

static inline cudaError_t jpeg_transfer_launch(const struct jpeg_transfers *transfers,
                                               cudaStream_t stream) {
    const unsigned blocks = (transfers->words_max + JPEG_TRANSFER_BLOCK - 1) / JPEG_TRANSFER_BLOCK;
    const dim3 grid(blocks, (unsigned)transfers->count);
    jpeg_transfer_kernel<<<grid, JPEG_TRANSFER_THREADS, 0, stream>>>(*transfers);
    return cudaGetLastError();
}

#endif
