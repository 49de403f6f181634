// SPDX-License-Identifier: Apache-2.0
/* energy_plane.cuh - energy of a pixel from a source of luma, and of a whole plane.
 *
 * A source is anything with at(x, y), any x and y: it replicates the border itself.
 */
#ifndef BURIN_CARVE_CLUSTER_ENERGY_PLANE_CUH
#define BURIN_CARVE_CLUSTER_ENERGY_PLANE_CUH

#include "cuda/ops/carve/cluster/args.cuh"

/* floor(sqrt(n)) for n < 2^28: the float root of the rounded n is off by less than 1. */
DEVICE uint32_t root_floor(uint32_t n) {
    uint32_t root = (uint32_t)__fsqrt_rn((float)n);
    if (root * root > n) root--;
    return (root + 1) * (root + 1) <= n ? root + 1 : root;
}

template <class Source> DEVICE uint32_t energy_gradient(const Source &luma, int x, int y) {
    return carve_gradient(luma.at(x, y), luma.at(x + 1, y), luma.at(x, y + 1),
                          luma.at(x + 1, y + 1));
}

/* (1 2 1) or (1 4 6 4 1) across, (-1 0 1) or (-1 -2 0 2 1) along; by distance from the middle, four
 * bits each: a table would lie in memory. */
DEVICE int sobel_smooth(int reach, int distance) {
    return (reach == 1 ? 0x12 : 0x146) >> 4 * distance & 15;
}

DEVICE int sobel_slope(int reach, int distance) {
    return (reach == 1 ? 0x10 : 0x120) >> 4 * distance & 15;
}

template <int REACH, class Source> DEVICE uint32_t energy_sobel(const Source &luma, int x, int y) {
    int gx = 0, gy = 0;
#pragma unroll 1
    for (int dy = -REACH; dy <= REACH; dy++) {
        const int ay = abs(dy), up = dy < 0 ? -1 : 1;
#pragma unroll
        for (int dx = -REACH; dx <= REACH; dx++) {
            const int value = luma.at(x + dx, y + dy), ax = abs(dx), left = dx < 0 ? -1 : 1;
            gx += value * sobel_smooth(REACH, ay) * left * sobel_slope(REACH, ax);
            gy += value * sobel_smooth(REACH, ax) * up * sobel_slope(REACH, ay);
        }
    }
    return root_floor((uint32_t)(gx * gx) + (uint32_t)(gy * gy));
}

template <class Source> DEVICE uint32_t energy_at(const Source &luma, int kind, int x, int y) {
    if (kind == CARVE_GRADIENT) return energy_gradient(luma, x, y);
    return kind == CARVE_SOBEL3 ? energy_sobel<1>(luma, x, y) : energy_sobel<2>(luma, x, y);
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

/* The whole plane with what lies beside it: a block a row. */
static __global__ void energy_plane_kernel(const __grid_constant__ struct cluster_args args) {
    const struct luma_plane luma = { args.luma, args.luma_stride, (int)args.width,
                                     (int)args.height };
    const int end = (int)args.energy_stride - ENERGY_PAD;
    for (uint32_t y = blockIdx.x; y < args.height; y += gridDim.x)
        for (int x = (int)threadIdx.x - ENERGY_PAD; x < end; x += (int)blockDim.x)
            energy_row(args, y)[x] = x < 0 || x >= (int)args.width
                                         ? (uint16_t)energy_outside(args.energy)
                                         : energy_at(luma, args.energy, x, (int)y);
}

#endif
