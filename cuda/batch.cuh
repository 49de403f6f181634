// SPDX-License-Identifier: Apache-2.0
/* batch.cuh - lays out a batch of images for a kernel; batch_chunks.cuh is the kernel's side of it.
 *
 * Used by:  every operator's kernel but carve's.
 * Fails:    STATUS_TOO_LARGE when the batch has more chunks than 32 bits count.
 * Limits:   CUDA_BATCH_MAX images.
 */
#ifndef BURIN_BATCH_CUH
#define BURIN_BATCH_CUH

#include "cuda/batch_chunks.cuh"
#include "cuda/check.cuh"
#include "cuda/cuda_op.h"

struct batch : batch_of<CUDA_BATCH_MAX> {};

static inline struct batch_image batch_image_of(const struct op_call *call, unsigned chunk_pixels,
                                                uint64_t first) {
    struct batch_image image = {};
    image.in = call->in.pixels;
    image.out = call->out.pixels;
    image.in_stride = (uint32_t)call->in.stride;
    image.out_stride = (uint32_t)call->out.stride;
    image.width = call->in.width;
    image.height = call->in.height;
    image.pixels = (uint32_t)image_pixels(&call->in);
    image.first_chunk = (uint32_t)first;
    image.aligned =
        ((uintptr_t)image.in | (uintptr_t)image.out | image.in_stride | image.out_stride) % 16 == 0;
    image.contiguous = image.aligned && image.width % chunk_pixels == 0 &&
                       image.in_stride == image_row_bytes(&call->in) &&
                       image.out_stride == image_row_bytes(&call->out);
    batch_set_row_chunks(&image, (call->in.width + chunk_pixels - 1) / chunk_pixels);
    image.chunks = image.row_chunks * call->in.height;
    return image;
}

/* Input and output have the same width and height. */
template <int CAPACITY>
static inline enum status batch_init(struct batch_of<CAPACITY> *batch, const struct op_call *calls,
                                     int count, unsigned chunk_pixels) {
    uint64_t chunks = 0;
    batch->count = count;
    for (int i = 0; i < count; i++) {
        batch->images[i] = batch_image_of(&calls[i], chunk_pixels, chunks);
        chunks += batch->images[i].chunks;
    }
    batch->chunks = (uint32_t)chunks;
    if (chunks < UINT32_MAX) return STATUS_OK;
    return fail(calls[0].failure, STATUS_TOO_LARGE, "too many pixels for one batch on the GPU");
}

/* The same images cut into tiles of ACROSS x DOWN pixels: `chunks` are tiles from now on. */
static inline enum status batch_init_tiles(struct batch *batch, const struct op_call *calls,
                                           int count, uint32_t across, uint32_t down) {
    uint64_t tiles = 0;
    batch->count = count;
    for (int i = 0; i < count; i++) {
        struct batch_image *image = &batch->images[i];
        *image = batch_image_of(&calls[i], across, tiles);
        image->chunks = image->row_chunks * ((image->height + down - 1) / down);
        tiles += image->chunks;
    }
    batch->chunks = (uint32_t)tiles;
    if (tiles < INT32_MAX) return STATUS_OK;
    return fail(calls[0].failure, STATUS_TOO_LARGE, "too many pixels for one batch on the GPU");
}

/* The calls as if each sample were a pixel of its own. */
static inline void batch_sample_calls(struct op_call *samples, const struct op_call *calls,
                                      int count) {
    for (int i = 0; i < count; i++) {
        samples[i] = calls[i];
        samples[i].in.width = samples[i].out.width = calls[i].in.width * calls[i].in.channels;
        samples[i].in.channels = samples[i].out.channels = 1;
    }
}

/* An operator that returns values has them where its image would be. */
static inline enum status batch_init_values(struct batch *batch, const struct op_call *calls,
                                            int count, unsigned chunk_pixels) {
    struct op_call outputs[CUDA_BATCH_MAX];
    for (int i = 0; i < count; i++) {
        outputs[i] = calls[i];
        outputs[i].out = calls[i].in;
    }
    const enum status status = batch_init(batch, outputs, count, chunk_pixels);
    for (int i = 0; i < count; i++) batch->images[i].out = (uint8_t *)calls[i].values;
    return status;
}

/* Divides the chunks among MOST blocks, or fewer so that each has LEAST or more. Returns the number
 * of blocks. */
template <int CAPACITY>
static inline unsigned batch_divide(struct batch_of<CAPACITY> *batch, uint32_t least,
                                    unsigned most) {
    const uint32_t wanted = (batch->chunks + least - 1) / least;
    const unsigned blocks = wanted < most ? wanted : most;
    batch->block_chunks = batch->chunks / blocks;
    batch->larger_blocks = batch->chunks % blocks;
    return blocks;
}

/* On the device, called by all threads of a block that has added CHUNKS of an image's ALL_CHUNKS to
 * global counters: true in the last block. The fences order its additions before its ticket, and
 * the last ticket before the reads that follow. */
static __device__ __forceinline__ bool batch_draw_last_ticket(uint32_t *ticket, uint32_t chunks,
                                                              uint32_t all_chunks) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(ticket, chunks) + chunks == all_chunks;
        __threadfence();
    }
    __syncthreads();
    return last;
}

#endif
