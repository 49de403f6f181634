// SPDX-License-Identifier: Apache-2.0
/* lane_buffer.cuh - a lane's memory of one kind, pinned on the host or on the device: the base,
 * made when the lane opens, and a larger one from the pool for a batch that needs it.
 *
 * Used by:  device_cuda.cu.
 * Owns:     the base, until lane_buffer_release(); memory_pool.cuh owns the larger one.
 * Fails:    STATUS_NO_MEMORY.
 * Threads:  the lane's.
 */
#ifndef BURIN_LANE_BUFFER_CUH
#define BURIN_LANE_BUFFER_CUH

#include "cuda/check.cuh"

#include <stdint.h>
#include <string.h>

struct lane_buffer {
    bool pinned;            /* on the host */
    uint8_t *base, *larger; /* `larger`: lent by the pool; NULL: none is needed */
    size_t base_bytes;
    size_t base_used, larger_used; /* bytes used since they were last emptied */
};

static inline enum status lane_buffer_init(struct lane_buffer *buffer, bool pinned, size_t bytes,
                                           struct failure *failure) {
    buffer->pinned = pinned;
    buffer->base_bytes = bytes;
    CUDA_TRY(failure, pinned ? cudaHostAlloc((void **)&buffer->base, bytes, 0)
                             : cudaMalloc((void **)&buffer->base, bytes));
    return STATUS_OK;
}

/* BUFFER may be zeroed. */
static inline void lane_buffer_release(struct lane_buffer *buffer) {
    if (buffer->pinned)
        cudaFreeHost(buffer->base);
    else
        cudaFree(buffer->base);
}

/* Returns the bytes that the pool has to lend for BYTES; 0: none. */
static inline size_t lane_buffer_beyond(const struct lane_buffer *buffer, size_t bytes) {
    return bytes > buffer->base_bytes ? bytes : 0;
}

/* LARGER: NULL detaches it. */
static inline void lane_buffer_set_larger(struct lane_buffer *buffer, uint8_t *larger) {
    buffer->larger = larger;
    buffer->larger_used = 0;
}

/* Notes that BYTES of lane_buffer_memory() will be used. */
static inline void lane_buffer_use(struct lane_buffer *buffer, size_t bytes) {
    size_t *used = buffer->larger ? &buffer->larger_used : &buffer->base_used;
    if (bytes > *used) *used = bytes;
}

/* Writes zeros over what was used, in the stream's order; the pool's pinned memory, which is locked
 * step by step, is zeroed by the caller when the stream is done. */
static inline enum status lane_buffer_empty(struct lane_buffer *buffer, cudaStream_t stream,
                                            struct failure *failure) {
    if (buffer->base_used)
        CUDA_TRY(failure, cudaMemsetAsync(buffer->base, 0, buffer->base_used, stream));
    if (buffer->larger_used && buffer->pinned) {
        CUDA_TRY(failure, cudaStreamSynchronize(stream));
        memset(buffer->larger, 0, buffer->larger_used);
    } else if (buffer->larger_used) {
        CUDA_TRY(failure, cudaMemsetAsync(buffer->larger, 0, buffer->larger_used, stream));
    }
    buffer->base_used = buffer->larger_used = 0;
    return STATUS_OK;
}

static inline uint8_t *lane_buffer_memory(const struct lane_buffer *buffer) {
    return buffer->larger ? buffer->larger : buffer->base;
}

#endif
