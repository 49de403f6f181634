// SPDX-License-Identifier: Apache-2.0
/* apply16.cuh - the kernel that looks 16-bit samples up and stores the result.
 *
 * Used by:  launch16.cuh.
 */
#ifndef BURIN_HISTEQ_APPLY16_CUH
#define BURIN_HISTEQ_APPLY16_CUH

#include "cuda/ops/histeq/layout16.cuh"

/* One image's tables, in shared or in global memory. */
struct tables16 {
    const uint16_t *levels;   /* [table][pitch] */
    const uint32_t *identity; /* [table] */
    uint32_t pitch, bins;
};

static __device__ __forceinline__ uint32_t level16(const struct tables16 &tables, int t,
                                                   uint32_t value) {
    return __ldg(tables.identity + t) ? value
                                      : tables.levels[t * tables.pitch + bin16(value, tables.bins)];
}

template <int CHANNELS, int MODE, int WORDS>
static __device__ __forceinline__ void apply16_pixel(uint32_t (&words)[WORDS], int p,
                                                     const struct tables16 &tables) {
    constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    const uint32_t value = lookup_value16<CHANNELS, MODE>(words, p, 0);
    const uint32_t level = MODE == HISTEQ_EACH ? 0 : level16(tables, 0, value);
#pragma unroll
    for (int c = 0; c < COLOURS; c++) {
        const int i = p * CHANNELS + c;
        const uint32_t sample = chunk_sample<16>(words, i);
        chunk_set_sample<16>(words, i,
                             MODE == HISTEQ_EACH ? level16(tables, c, sample)
                             : CHANNELS < 3      ? level
                                                 : histeq_scaled16(sample, value, level));
    }
}

template <int CHANNELS, int MODE>
static __device__ __forceinline__ void apply16_range(const struct batch_image &image,
                                                     struct chunk_range range,
                                                     const struct tables16 &tables) {
    typedef layout16<CHANNELS, MODE> L;
#pragma unroll 2
    for (uint32_t index = range.first + threadIdx.x; index < range.end; index += THREADS16) {
        const struct chunk_memory memory =
            chunk_memory_of<L::PIXELS, L::BYTES, L::BYTES>(image, index);
        uint32_t words[L::WORDS];
        load_chunk(words, memory.in, memory.pixels * L::BYTES, image.aligned);
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) apply16_pixel<CHANNELS, MODE>(words, p, tables);
        store_chunk(words, memory.out, memory.pixels * L::BYTES, image.aligned);
    }
}

template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS16, 1)
    apply16_kernel(const __grid_constant__ struct batch batch,
                   const __grid_constant__ struct histeq16_args args) {
    extern __shared__ uint4 dynamic_shared[];
    const struct chunk_range block = block_chunks(batch);
    for (int i = batch_find(batch, block.first); i <= batch_find(batch, block.end - 1); i++) {
        const struct batch_image &image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        const uint16_t *levels = args.levels + i * args.tables * args.pitch;
        const uint32_t vectors = args.levels_fit ? args.tables * args.pitch / 8 : 0;
        __syncthreads(); /* all have used the levels of the image before */
        for (uint32_t v = threadIdx.x; v < vectors; v += THREADS16)
            dynamic_shared[v] = ((const uint4 *)levels)[v];
        __syncthreads();
        const struct tables16 tables = { args.levels_fit ? (const uint16_t *)dynamic_shared
                                                         : levels,
                                         args.identity + i * args.tables, args.pitch, args.bins };
        apply16_range<CHANNELS, MODE>(image, range, tables);
    }
}

#endif
