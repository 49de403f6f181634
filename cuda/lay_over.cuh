// SPDX-License-Identifier: Apache-2.0
/* lay_over.cuh - pixels with alpha laid over a background: in registers, or a batch in scratch.
 *
 * Used by:  cuda/ops/convolve.cu, cuda/ops/edge/luma_row.cuh.
 * Owns:     nothing; scratch, of laid_bytes() bytes, is the caller's.
 * Fails:    as batch.cuh and check.cuh say.
 */
#ifndef BURIN_LAY_OVER_CUH
#define BURIN_LAY_OVER_CUH

#include "cuda/batch.cuh"
#include "pipeline/background.h"

/* The COUNT pixels of WORDS from sample FIRST on; both are constants once loops are unrolled. */
template <int DEPTH, int CHANNELS, int WORDS>
static __device__ __forceinline__ void lay_pixels(uint32_t (&words)[WORDS], int first, int count,
                                                  const struct background &under) {
#pragma unroll
    for (int p = 0; p < count; p++) {
        const int at = first + p * CHANNELS;
        const uint32_t alpha = chunk_sample<DEPTH>(words, at + CHANNELS - 1);
#pragma unroll
        for (int c = 0; c < CHANNELS - 1; c++)
            chunk_set_sample<DEPTH>(
                words, at + c,
                background_lay(chunk_sample<DEPTH>(words, at + c), alpha, under.sample[c], DEPTH));
    }
}

/* ---- a batch */

enum { LAY_THREADS = 256, LAY_BLOCKS = 8 /* a multiprocessor */ };

template <int DEPTH, int CHANNELS>
static __global__ void __launch_bounds__(LAY_THREADS)
    lay_kernel(const __grid_constant__ struct batch batch,
               const __grid_constant__ struct background under) {
    constexpr int BYTES = CHANNELS * DEPTH / 8, PIXELS = 16 / BYTES;
    const struct chunk_range block = block_chunks(batch);
    for (int i = batch_find(batch, block.first); i <= batch_find(batch, block.end - 1); i++) {
        const struct batch_image &image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        for (uint32_t index = range.first + threadIdx.x; index < range.end; index += LAY_THREADS) {
            const struct chunk_memory memory = chunk_memory_of<PIXELS, BYTES, BYTES>(image, index);
            uint32_t words[4];
            load_chunk(words, memory.in, memory.pixels * BYTES, image.aligned);
            lay_pixels<DEPTH, CHANNELS>(words, 0, PIXELS, under);
            store_chunk(words, memory.out, memory.pixels * BYTES, image.aligned);
        }
    }
}

/* A call's image where it is laid: rows begin at 16 bytes. */
static inline struct image laid_shape(const struct op_call *call) {
    struct image laid = call->in;
    laid.stride = (image_row_bytes(&laid) + 15) / 16 * 16;
    return laid;
}

/* Scratch bytes of a batch; 0 without alpha. */
static inline size_t laid_bytes(const struct op_call *calls, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count && image_has_alpha(&calls[0].in); i++) {
        const struct image laid = laid_shape(&calls[i]);
        bytes += (image_bytes(&laid) + 255) / 256 * 256;
    }
    return bytes;
}

/* Lays a batch with alpha over RGBA, a parameter's number. LAID become CALLS that read the
 * result. */
static inline enum status lay_batch(const struct cuda_context *context, const struct op_call *calls,
                                    int count, long rgba, struct op_call *laid) {
    const struct image &first = calls[0].in;
    void (*const kernels[2][2])(struct batch,
                                struct background) = { { lay_kernel<8, 2>, lay_kernel<8, 4> },
                                                       { lay_kernel<16, 2>, lay_kernel<16, 4> } };
    uint8_t *to = (uint8_t *)calls[0].scratch;
    for (int i = 0; i < count; i++) {
        laid[i] = calls[i];
        laid[i].out = laid_shape(&calls[i]);
        laid[i].out.pixels = to;
        to += laid_bytes(&calls[i], 1);
    }
    struct batch batch;
    const enum status status =
        batch_init(&batch, laid, count, 16 / (unsigned)image_pixel_bytes(&first));
    if (status) return status;
    const unsigned blocks =
        batch_divide(&batch, LAY_THREADS, LAY_BLOCKS * (unsigned)context->multiprocessors);
    kernels[first.depth == 16][first.channels == 4]<<<blocks, LAY_THREADS, 0, context->stream>>>(
        batch, background_of(rgba, first.channels, first.depth));
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "lay");
    for (int i = 0; i < count; i++) laid[i].in = laid[i].out, laid[i].out = calls[i].out;
    return STATUS_OK;
}

#endif
