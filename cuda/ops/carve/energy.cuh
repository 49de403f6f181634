// SPDX-License-Identifier: Apache-2.0
/* energy.cuh - the energy of a pixel, from any source of luma.
 *
 * Used by:  all three methods, and carve.cu.
 * Source:   pipeline/ops/carve/definition.h defines energy.
 *
 * A source is anything with at(x, y), for any x and y: it replicates the border itself. A source
 * that needs the distance from the pixel too has a tap() of its own.
 */
#ifndef BURIN_CARVE_ENERGY_CUH
#define BURIN_CARVE_ENERGY_CUH

#include "cuda/ops/carve/ptx.cuh"
#include "pipeline/ops/carve/definition.h"

/* floor(sqrt(n)) for n < 2^28: the float root of the rounded n is off by less than 1. */
DEVICE uint32_t root_floor(uint32_t n) {
    uint32_t root = (uint32_t)__fsqrt_rn((float)n);
    if (root * root > n) root--;
    return (root + 1) * (root + 1) <= n ? root + 1 : root;
}

template <class SOURCE> DEVICE int tap(const SOURCE &luma, int x, int y, int dx, int dy) {
    return luma.at(x + dx, y + dy);
}

/* (1 2 1) or (1 4 6 4 1) across, (-1 0 1) or (-1 -2 0 2 1) along; by distance from the middle, four
 * bits each: a table would lie in memory. */
DEVICE int sobel_smooth(int reach, int distance) {
    return (reach == 1 ? 0x12 : 0x146) >> 4 * distance & 15;
}

DEVICE int sobel_slope(int reach, int distance) {
    return (reach == 1 ? 0x10 : 0x120) >> 4 * distance & 15;
}

/* ROWS: the rows that are one piece of code; all, where a source needs DY to be constant. */
template <int REACH, int ROWS, class SOURCE>
DEVICE uint32_t energy_sobel(const SOURCE &luma, int x, int y) {
    int gx = 0, gy = 0;
#pragma unroll ROWS
    for (int dy = -REACH; dy <= REACH; dy++) {
        const int ay = abs(dy), up = dy < 0 ? -1 : 1;
#pragma unroll
        for (int dx = -REACH; dx <= REACH; dx++) {
            const int value = tap(luma, x, y, dx, dy), ax = abs(dx), left = dx < 0 ? -1 : 1;
            gx += value * sobel_smooth(REACH, ay) * left * sobel_slope(REACH, ax);
            gy += value * sobel_smooth(REACH, ax) * up * sobel_slope(REACH, ay);
        }
    }
    return root_floor((uint32_t)(gx * gx) + (uint32_t)(gy * gy));
}

template <int ROWS = 1, class SOURCE>
DEVICE uint32_t energy_at(const SOURCE &luma, int kind, int x, int y) {
    if (kind == CARVE_GRADIENT)
        return carve_gradient((uint32_t)tap(luma, x, y, 0, 0), (uint32_t)tap(luma, x, y, 1, 0),
                              (uint32_t)tap(luma, x, y, 0, 1), (uint32_t)tap(luma, x, y, 1, 1));
    return kind == CARVE_SOBEL3 ? energy_sobel<1, ROWS>(luma, x, y)
                                : energy_sobel<2, ROWS>(luma, x, y);
}

struct luma_plane {
    const uint8_t *pixels;
    uint32_t stride;
    int width, height;
    __device__ __forceinline__ int at(int x, int y) const {
        x = min(max(x, 0), width - 1), y = min(max(y, 0), height - 1);
        return pixels[(uint64_t)y * stride + x];
    }
};

#endif
