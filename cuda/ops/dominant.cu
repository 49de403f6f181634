// SPDX-License-Identifier: Apache-2.0
/* How it works. Each block counts its share of the pixels in shared memory: colours in 4096 bins;
 * grays in 16, of which each thread has its own. It adds its counts to the image's counters among
 * the zeroed words. A ticket counts the finished chunks; the block that draws the last one looks
 * for the fullest bin, stores its centre, and clears counters and ticket. */
#include "pipeline/ops/dominant.h"

#include "cuda/batch.cuh"

enum { THREADS = 256, TICKETS = CUDA_BATCH_MAX };
static_assert(TICKETS + CUDA_BATCH_MAX * DOMINANT_BINS <= CUDA_ZEROED_WORDS,
              "the counters of a batch fit");
static_assert(DOMINANT_GRAYS * THREADS == DOMINANT_BINS, "grays use all of the table");

/* ---- counting */

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t place_of(const uint32_t (&words)[4 * CHANNELS], int p) {
    const int i = p * CHANNELS;
    const uint32_t first = chunk_sample<DEPTH>(words, i);
    if (CHANNELS < 3) return (first >> (DEPTH - 4)) * THREADS + threadIdx.x;
    return dominant_bin(first, chunk_sample<DEPTH>(words, i + 1), chunk_sample<DEPTH>(words, i + 2),
                        DEPTH);
}

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ bool is_seen(const uint32_t (&words)[4 * CHANNELS], int p) {
    return CHANNELS % 2 || chunk_sample<DEPTH>(words, (p + 1) * CHANNELS - 1);
}

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ void count_chunks(const struct batch_image &image,
                                                    struct chunk_range range, uint32_t *table) {
    constexpr int PIXELS = 128 / DEPTH, PIXEL = CHANNELS * DEPTH / 8;
    for (uint32_t chunk = range.first + threadIdx.x; chunk < range.end; chunk += THREADS) {
        const struct chunk_position position = chunk_position_of(image, chunk);
        const uint32_t x = position.x * PIXELS, pixels = min(image.width - x, (uint32_t)PIXELS);
        uint32_t words[4 * CHANNELS];
        load_chunk(words, image.in + (uint64_t)position.y * image.in_stride + x * PIXEL,
                   pixels * PIXEL, image.aligned);
#pragma unroll
        for (int p = 0; p < PIXELS; p++)
            if (p < pixels && is_seen<CHANNELS, DEPTH>(words, p))
                atomicAdd(&table[place_of<CHANNELS, DEPTH>(words, p)], 1u);
    }
}

/* ---- all blocks' counts */

template <int CHANNELS>
static __device__ __forceinline__ void publish(const uint32_t *table, uint32_t *counts) {
    constexpr int BINS = CHANNELS < 3 ? DOMINANT_GRAYS : DOMINANT_BINS;
    for (uint32_t bin = threadIdx.x; bin < BINS; bin += THREADS) {
        uint32_t count = CHANNELS < 3 ? 0 : table[bin];
        for (uint32_t i = 0; CHANNELS < 3 && i < THREADS; i++)
            count += table[bin * THREADS + (i + bin) % THREADS];
        if (count) atomicAdd(&counts[bin], count);
    }
}

/* Finds the bin with most pixels, the lower number among equals, or NONE without any pixel, and
 * clears the counters. */
static __device__ __forceinline__ uint32_t take_fullest(uint32_t *counts, uint32_t bins,
                                                        uint32_t none) {
    __shared__ unsigned long long best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    unsigned long long own = 0;
    for (uint32_t bin = threadIdx.x; bin < bins; bin += THREADS) {
        const unsigned long long rank =
            (unsigned long long)__ldcg(counts + bin) << 32 | (DOMINANT_BINS - bin);
        if (rank > own) own = rank;
        __stcg(counts + bin, 0u);
    }
    atomicMax(&best, own);
    __syncthreads();
    return best >> 32 ? DOMINANT_BINS - (uint32_t)best : none;
}

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    dominant_kernel(const __grid_constant__ struct batch batch, uint32_t *zeroed, uint32_t none) {
    constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    __shared__ uint32_t table[DOMINANT_BINS];
    const struct chunk_range block = block_chunks(batch);
    const int end = batch_find(batch, block.end - 1) + 1;
    for (int i = batch_find(batch, block.first); i < end; i++) {
        const struct batch_image &image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        uint32_t *counts = zeroed + TICKETS + i * DOMINANT_BINS;
        for (uint32_t k = threadIdx.x; k < DOMINANT_BINS; k += THREADS) table[k] = 0;
        __syncthreads();
        count_chunks<CHANNELS, DEPTH>(image, range, table);
        __syncthreads();
        publish<CHANNELS>(table, counts);
        if (!batch_draw_last_ticket(zeroed + i, range.end - range.first, image.chunks)) continue;
        const uint32_t bin = take_fullest(counts, dominant_bins(COLOURS), none);
        if (threadIdx.x < COLOURS)
            ((uint32_t *)image.out)[threadIdx.x] = dominant_centre(bin, threadIdx.x, COLOURS);
        if (threadIdx.x == 0) zeroed[i] = 0;
        __syncthreads(); /* before the next image's counts */
    }
}

/* ---- run */

template <int CHANNELS, int DEPTH>
static enum status launch(const struct cuda_context *context, const struct op_call *calls,
                          int count) {
    struct batch batch;
    const enum status status = batch_init_values(&batch, calls, count, 128 / DEPTH);
    if (status) return status;
    const unsigned blocks = batch_divide(&batch, THREADS, 4 * context->multiprocessors);
    const uint32_t none =
        dominant_background(calls[0].params->number[BACKGROUND_ONLY], CHANNELS, DEPTH);
    dominant_kernel<CHANNELS, DEPTH>
        <<<blocks, THREADS, 0, context->stream>>>(batch, context->zeroed, none);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "dominant");
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

extern "C" const struct cuda_op cuda_op_dominant = { NULL, run };
