// SPDX-License-Identifier: Apache-2.0
/* How it works. One launch for all images of a batch. A thread looks at chunks of 128 / DEPTH
 * pixels and keeps four maxima, of which 0 is the neutral one: how far the pixels that are not
 * border are from the right, from the lower, from the left and from the upper side. Warps, the
 * block, and all blocks of an image, by atomics on its state among the zeroed words, combine
 * theirs. The block that draws the last ticket writes the values and clears the state. */
#include "pipeline/ops/find_trim.h"

#include "cuda/batch.cuh"

enum { THREADS = 256, BLOCKS = 4 /* a multiprocessor */ };

/* One image's maxima, zero between launches. */
struct extent {
    uint32_t most[CUT_SIDES];
    uint32_t chunks_done;
};
static_assert(sizeof(struct extent) / 4 * CUDA_BATCH_MAX <= CUDA_ZEROED_WORDS,
              "an extent for each image");

/* ---- one thread */

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ struct trim_border border_of(const uint8_t *in, long color,
                                                               long tolerance) {
    uint32_t first[4] = {};
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) first[c] = load_sample<DEPTH>(in, c);
    return trim_border_of(color, tolerance, first, CHANNELS, DEPTH);
}

/* Bit p is set if pixel P of the chunk, of PIXELS, is not border. */
template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t kept_pixels(const uint32_t (&words)[4 * CHANNELS],
                                                       const struct trim_border &border,
                                                       uint32_t pixels) {
    uint32_t kept = 0;
#pragma unroll
    for (int p = 0; p < 128 / DEPTH; p++) {
        uint32_t samples[4] = {};
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            samples[c] = chunk_sample<DEPTH>(words, p * CHANNELS + c);
        kept |= (uint32_t)!trim_is_border(&border, samples, CHANNELS) << p;
    }
    return kept & ((1u << pixels) - 1);
}

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ void
look_at_chunks(const struct batch_image &image, struct chunk_range range,
               const struct trim_border &border, uint32_t (&most)[CUT_SIDES]) {
    constexpr int PIXELS = 128 / DEPTH, PIXEL = CHANNELS * DEPTH / 8;
    for (uint32_t chunk = range.first + threadIdx.x; chunk < range.end; chunk += THREADS) {
        const struct chunk_position position = chunk_position_of(image, chunk);
        const uint32_t x = position.x * PIXELS, y = position.y;
        const uint32_t pixels = min(image.width - x, (uint32_t)PIXELS);
        uint32_t words[4 * CHANNELS];
        load_chunk(words, image.in + (uint64_t)y * image.in_stride + x * PIXEL, pixels * PIXEL,
                   image.aligned);
        const uint32_t kept = kept_pixels<CHANNELS, DEPTH>(words, border, pixels);
        if (!kept) continue;
        most[0] = max(most[0], image.width - x - (__ffs(kept) - 1));
        most[1] = max(most[1], image.height - y);
        most[2] = max(most[2], x + 32 - __clz(kept));
        most[3] = max(most[3], y + 1);
    }
}

/* ---- all threads */

/* Adds the block's maxima to EXTENT. */
static __device__ __forceinline__ void publish(uint32_t (&most)[CUT_SIDES], struct extent *extent) {
    __shared__ uint32_t block[CUT_SIDES];
    if (threadIdx.x < CUT_SIDES) block[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int s = 0; s < CUT_SIDES; s++) {
        for (int step = 16; step; step /= 2)
            most[s] = max(most[s], __shfl_xor_sync(~0u, most[s], step));
        if (threadIdx.x % 32 == 0 && most[s]) atomicMax(&block[s], most[s]);
    }
    __syncthreads();
    if (threadIdx.x < CUT_SIDES && block[threadIdx.x])
        atomicMax(&extent->most[threadIdx.x], block[threadIdx.x]);
}

/* In one thread: the cut of an image, all of whose blocks have published, and a cleared EXTENT. */
static __device__ __forceinline__ struct cut take_cut(const struct batch_image &image,
                                                      struct extent *extent) {
    uint32_t most[CUT_SIDES];
#pragma unroll
    for (int s = 0; s < CUT_SIDES; s++) {
        most[s] = __ldcg(&extent->most[s]);
        extent->most[s] = 0;
    }
    extent->chunks_done = 0;
    if (!most[0]) return { image.width, image.height, 0, 0 };
    return { image.width - most[0], image.height - most[1], image.width - most[2],
             image.height - most[3] };
}

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    find_trim_kernel(const __grid_constant__ struct batch batch, struct extent *extents, long color,
                     long tolerance) {
    const struct chunk_range block = block_chunks(batch);
    const int end = batch_find(batch, block.end - 1) + 1;
    for (int i = batch_find(batch, block.first); i < end; i++) {
        const struct batch_image &image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        uint32_t most[CUT_SIDES] = {};
        look_at_chunks<CHANNELS, DEPTH>(
            image, range, border_of<CHANNELS, DEPTH>(image.in, color, tolerance), most);
        publish(most, &extents[i]);
        if (batch_draw_last_ticket(&extents[i].chunks_done, range.end - range.first,
                                   image.chunks) &&
            threadIdx.x == 0)
            *(struct cut *)image.out = take_cut(image, &extents[i]);
    }
}

/* ---- run */

template <int CHANNELS, int DEPTH>
static enum status launch(const struct cuda_context *context, const struct op_call *calls,
                          int count) {
    struct batch batch;
    const enum status status = batch_init_values(&batch, calls, count, 128 / DEPTH);
    if (status) return status;
    const long *number = calls[0].params->number;
    const unsigned blocks = batch_divide(&batch, THREADS, BLOCKS * context->multiprocessors);
    find_trim_kernel<CHANNELS, DEPTH><<<blocks, THREADS, 0, context->stream>>>(
        batch, (struct extent *)context->zeroed, number[TRIM_COLOR], number[TRIM_TOLERANCE]);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "find_trim");
    return STATUS_OK;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    typedef enum status (*launcher)(const struct cuda_context *, const struct op_call *, int);
    static const launcher launchers[2][4] = {
        { launch<1, 8>, launch<2, 8>, launch<3, 8>, launch<4, 8> },
        { launch<1, 16>, launch<2, 16>, launch<3, 16>, launch<4, 16> },
    };
    return launchers[calls[0].in.depth / 16][calls[0].in.channels - 1](context, calls, count);
}

extern "C" const struct cuda_op cuda_op_find_trim = { NULL, run };
