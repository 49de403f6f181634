// SPDX-License-Identifier: Apache-2.0
/* grayscale.h - luma of a pixel: the arithmetic that both devices share. */
#ifndef BURIN_OPS_GRAYSCALE_H
#define BURIN_OPS_GRAYSCALE_H

#include <stdint.h>

#ifdef __CUDACC__
#define BOTH_SIDES static __host__ __device__ inline
#else
#define BOTH_SIDES static inline
#endif

/* Rounded weights of ITU-R BT.601 in 1/256; 77 + 150 + 29 = 256, so white stays white. */
BOTH_SIDES uint32_t luma(uint32_t red, uint32_t green, uint32_t blue) {
    return (77 * red + 150 * green + 29 * blue + 128) >> 8;
}

#endif
