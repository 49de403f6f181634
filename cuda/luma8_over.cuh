// SPDX-License-Identifier: Apache-2.0
/* luma8_over.cuh - the 8-bit luma of a pixel, laid over a background if it has alpha.
 *
 * Used by:  cuda/ops/smartcrop.cu, cuda/ops/resize/smart.cuh.
 */
#ifndef BURIN_LUMA8_OVER_CUH
#define BURIN_LUMA8_OVER_CUH

#include "cuda/chunk.cuh"
#include "pipeline/background.h"

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t luma8_over(const uint8_t *row, uint32_t x,
                                                      const struct background &under) {
    uint32_t sample[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) sample[c] = load_sample<DEPTH>(row, x * CHANNELS + c);
    if constexpr (CHANNELS == 1) return sample[0] >> (DEPTH - 8);
    if constexpr (CHANNELS == 2)
        return background_lay(sample[0], sample[1], under.sample[0], DEPTH) >> (DEPTH - 8);
    if constexpr (CHANNELS == 3) return luma(sample[0], sample[1], sample[2]) >> (DEPTH - 8);
    if constexpr (CHANNELS == 4)
        return background_luma(sample[0], sample[1], sample[2], sample[3], &under, DEPTH) >>
               (DEPTH - 8);
}

#endif
