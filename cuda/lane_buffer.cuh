// SPDX-License-Identifier: Apache-2.0
/* lane_buffer.cuh - a lane's memory of one kind, pinned on the host or on the device: made when the
 * lane opens, exchanged for a larger one while batches need that.
 *
 * Used by:  device_cuda.cu.
 * Owns:     its memory, until lane_buffer_release().
 * Fails:    STATUS_NO_MEMORY; what was made at open stays.
 * Threads:  the lane's. Fitting may free memory, which waits for the device.
 */
#ifndef BURIN_LANE_BUFFER_CUH
#define BURIN_LANE_BUFFER_CUH

#include "cuda/check.cuh"

#include <stdint.h>

struct lane_buffer {
    bool pinned;            /* on the host */
    uint8_t *base, *larger; /* LARGER: NULL where the base is enough */
    size_t base_bytes, larger_bytes;
    size_t base_used, larger_used; /* since they were last emptied */
};

static inline cudaError_t lane_buffer_allocate(bool pinned, uint8_t **memory, size_t bytes) {
    return pinned ? cudaHostAlloc((void **)memory, bytes, 0) : cudaMalloc((void **)memory, bytes);
}

static inline cudaError_t lane_buffer_free(bool pinned, uint8_t *memory) {
    return pinned ? cudaFreeHost(memory) : cudaFree(memory);
}

static inline enum status lane_buffer_init(struct lane_buffer *buffer, bool pinned, size_t bytes,
                                           struct failure *failure) {
    buffer->pinned = pinned;
    buffer->base_bytes = bytes;
    CUDA_TRY(failure, lane_buffer_allocate(pinned, &buffer->base, bytes));
    return STATUS_OK;
}

/* A zeroed buffer may be released too. */
static inline void lane_buffer_release(struct lane_buffer *buffer) {
    lane_buffer_free(buffer->pinned, buffer->base);
    lane_buffer_free(buffer->pinned, buffer->larger);
}

/* Makes room for BYTES. The larger memory is given back by the first batch that does without. */
static inline enum status lane_buffer_fit(struct lane_buffer *buffer, size_t bytes,
                                          struct failure *failure) {
    if (bytes > buffer->base_bytes && bytes <= buffer->larger_bytes) return STATUS_OK;
    uint8_t *const larger = buffer->larger;
    buffer->larger = NULL;
    buffer->larger_bytes = buffer->larger_used = 0;
    if (larger) CUDA_TRY(failure, lane_buffer_free(buffer->pinned, larger));
    if (bytes <= buffer->base_bytes) return STATUS_OK;
    CUDA_TRY(failure, lane_buffer_allocate(buffer->pinned, &buffer->larger, bytes));
    buffer->larger_bytes = bytes;
    return STATUS_OK;
}

/* BYTES of what lane_buffer_memory() gives are about to be used. */
static inline void lane_buffer_use(struct lane_buffer *buffer, size_t bytes) {
    size_t *used = buffer->larger ? &buffer->larger_used : &buffer->base_used;
    if (bytes > *used) *used = bytes;
}

/* Writes zeros over what was used. */
static inline enum status lane_buffer_empty(struct lane_buffer *buffer, cudaStream_t stream,
                                            struct failure *failure) {
    if (buffer->base_used)
        CUDA_TRY(failure, cudaMemsetAsync(buffer->base, 0, buffer->base_used, stream));
    if (buffer->larger_used)
        CUDA_TRY(failure, cudaMemsetAsync(buffer->larger, 0, buffer->larger_used, stream));
    buffer->base_used = buffer->larger_used = 0;
    return STATUS_OK;
}

static inline uint8_t *lane_buffer_memory(const struct lane_buffer *buffer) {
    return buffer->larger ? buffer->larger : buffer->base;
}

static inline size_t lane_buffer_bytes(const struct lane_buffer *buffer) {
    return buffer->base_bytes + buffer->larger_bytes;
}

#endif
