// SPDX-License-Identifier: Apache-2.0
/* apply16 */
#ifndef BURIN_HISTEQ_APPLY16_CUH
#define BURIN_HISTEQ_APPLY16_CUH

#include "cuda/ops/histeq/layout16.cuh"

/* One picture's tables, in shared or in global memory. */
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
static __device__ __forceinline__ void map16_pixel(uint32_t (&words)[WORDS], int p,
                                                   const struct tables16 &tables) {
    constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    const uint32_t value = value16<CHANNELS, MODE>(words, p, 0);
    const uint32_t level = MODE == HISTEQ_EACH ? 0 : level16(tables, 0, value);
#pragma unroll
    for (int c = 0; c < COLOURS; c++) {
        const int i = p * CHANNELS + c;
        const uint32_t sample = chunk_get<16>(words, i);
        chunk_put<16>(words, i,
                      MODE == HISTEQ_EACH ? level16(tables, c, sample)
                      : CHANNELS < 3      ? level
                                          : histeq_scaled16(sample, value, level));
    }
}

template <int CHANNELS, int MODE>
static __device__ __forceinline__ void map16_part(const struct picture &picture, struct chunks part,
                                                  const struct tables16 &tables) {
    typedef layout16<CHANNELS, MODE> L;
#pragma unroll 2
    for (uint32_t index = part.first + threadIdx.x; index < part.end; index += THREADS16) {
        const struct spot spot = spot_of<L::PIXELS, L::BYTES, L::BYTES>(picture, index);
        uint32_t words[L::WORDS];
        load_chunk(words, spot.in, spot.pixels * L::BYTES, picture.aligned);
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) map16_pixel<CHANNELS, MODE>(words, p, tables);
        store_chunk(words, spot.out, spot.pixels * L::BYTES, picture.aligned);
    }
}

template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS16, 1)
    map16_kernel(const __grid_constant__ struct batch batch,
                 const __grid_constant__ struct work16 work) {
    extern __shared__ uint4 shared[];
    const struct chunks share = block_share(batch);
    for (int i = picture_at(batch, share.first); i <= picture_at(batch, share.end - 1); i++) {
        const struct picture &picture = batch.pictures[i];
        const struct chunks part = picture_part(picture, share);
        const uint16_t *levels = work.levels + i * work.tables * work.pitch;
        const uint32_t vectors = work.levels_fit ? work.tables * work.pitch / 8 : 0;
        __syncthreads(); /* the picture before is done with its levels */
        for (uint32_t v = threadIdx.x; v < vectors; v += THREADS16)
            shared[v] = ((const uint4 *)levels)[v];
        __syncthreads();
        const struct tables16 tables = { work.levels_fit ? (const uint16_t *)shared : levels,
                                         work.identity + i * work.tables, work.pitch, work.bins };
        map16_part<CHANNELS, MODE>(picture, part, tables);
    }
}

#endif
