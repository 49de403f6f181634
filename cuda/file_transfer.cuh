// SPDX-License-Identifier: Apache-2.0
/* file_transfer.cuh - two kernels that move a batch's files between mapped host memory and device
 * memory, with one launch each for any number of files.
 *
 * Used by:  lane_codec.cu.
 * Fails:    as check.cuh says.
 * Limits:   CUDA_BATCH_MAX files.
 *
 * How it works. A load moves 16 bytes. On the way in, a file keeps its address modulo 16, so that
 * whole words are read: bytes before and after it are read too, within the page. On the way out,
 * only the device knows how long a file is: every file gets as many blocks as the largest may need,
 * and each block takes several parts.
 */
#ifndef BURIN_FILE_TRANSFER_CUH
#define BURIN_FILE_TRANSFER_CUH

#include "cuda/check.cuh"
#include "cuda/codecs/jpeg_encode.h"
#include "cuda/cuda_op.h"

enum {
    TRANSFER_THREADS = 256,
    TRANSFER_LOADS = 4, /* loads of a thread, under way together */
    TRANSFER_VECTOR = 16,
    TRANSFER_BLOCK_BYTES = TRANSFER_THREADS * TRANSFER_LOADS * TRANSFER_VECTOR,
};

/* ---- in */

struct gathered_file {
    const uint4 *from;
    uint4 *to;
    uint32_t vectors, first_block;
};

struct gathering {
    int count;
    uint32_t blocks;
    struct gathered_file files[CUDA_BATCH_MAX];
};

/* Adds FROM. TO is a multiple of 16; FROM's address modulo 16 is kept, so TO needs LENGTH + 32
 * bytes. Returns where FROM's first byte will be. */
static inline uint8_t *gathering_add(struct gathering *gathering, const uint8_t *from,
                                     size_t length, uint8_t *to) {
    const size_t before = (uintptr_t)from % TRANSFER_VECTOR;
    struct gathered_file *file = &gathering->files[gathering->count++];
    file->from = (const uint4 *)(from - before);
    file->to = (uint4 *)to;
    file->vectors = (uint32_t)((before + length + TRANSFER_VECTOR - 1) / TRANSFER_VECTOR);
    file->first_block = gathering->blocks;
    gathering->blocks +=
        (file->vectors * TRANSFER_VECTOR + TRANSFER_BLOCK_BYTES - 1) / TRANSFER_BLOCK_BYTES;
    return to + before;
}

static __global__ void __launch_bounds__(TRANSFER_THREADS)
    gather_kernel(const __grid_constant__ struct gathering gathering) {
    int index = 0;
    while (index + 1 < gathering.count && gathering.files[index + 1].first_block <= blockIdx.x)
        index++;
    const struct gathered_file &file = gathering.files[index];
    const uint32_t first =
        (blockIdx.x - file.first_block) * TRANSFER_THREADS * TRANSFER_LOADS + threadIdx.x;
    uint4 words[TRANSFER_LOADS];
#pragma unroll
    for (int i = 0; i < TRANSFER_LOADS; i++)
        if (first + i * TRANSFER_THREADS < file.vectors)
            words[i] = file.from[first + i * TRANSFER_THREADS];
#pragma unroll
    for (int i = 0; i < TRANSFER_LOADS; i++)
        if (first + i * TRANSFER_THREADS < file.vectors)
            file.to[first + i * TRANSFER_THREADS] = words[i];
}

static inline enum status gathering_launch(const struct gathering *gathering, cudaStream_t stream,
                                           struct failure *failure) {
    if (!gathering->blocks) return STATUS_OK;
    gather_kernel<<<gathering->blocks, TRANSFER_THREADS, 0, stream>>>(*gathering);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* ---- out */

struct scattering {
    int count;
    uint32_t blocks_each;
    const uint8_t *out; /* the encoder's files */
    const struct jpeg_encode_result *results;
    struct scattered_file {
        uint8_t *to;   /* a multiple of 16; NULL: it is not moved */
        uint32_t room; /* a longer file is not moved */
    } files[CUDA_BATCH_MAX];
};

static __global__ void __launch_bounds__(TRANSFER_THREADS)
    scatter_kernel(const __grid_constant__ struct scattering scattering) {
    const uint32_t index = blockIdx.x / scattering.blocks_each;
    const struct scattering::scattered_file &file = scattering.files[index];
    const struct jpeg_encode_result result = scattering.results[index];
    if (!file.to || result.verdict != JPEG_ENCODE_WRITTEN || result.bytes > file.room) return;
    const uint4 *from = (const uint4 *)(scattering.out + result.offset);
    const uint32_t vectors = result.bytes / TRANSFER_VECTOR, rest = result.bytes % TRANSFER_VECTOR;
    const uint32_t thread = blockIdx.x % scattering.blocks_each * TRANSFER_THREADS + threadIdx.x;
    const uint32_t threads = scattering.blocks_each * TRANSFER_THREADS;
    for (uint32_t i = thread; i < vectors; i += threads) ((uint4 *)file.to)[i] = from[i];
    if (thread < rest)
        file.to[vectors * TRANSFER_VECTOR + thread] =
            ((const uint8_t *)from)[vectors * TRANSFER_VECTOR + thread];
}

static inline enum status scattering_launch(const struct scattering *scattering,
                                            cudaStream_t stream, struct failure *failure) {
    if (!scattering->count) return STATUS_OK;
    scatter_kernel<<<scattering->count * scattering->blocks_each, TRANSFER_THREADS, 0, stream>>>(
        *scattering);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

#endif
