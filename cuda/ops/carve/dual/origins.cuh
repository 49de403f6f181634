// SPDX-License-Identifier: Apache-2.0
/* origins.cuh - the dual method: first energies of both axes, and in the end where pixels came
 * from.
 *
 * Used by:  dual.cuh.
 */
#ifndef BURIN_CARVE_DUAL_ORIGINS_CUH
#define BURIN_CARVE_DUAL_ORIGINS_CUH

#include "cuda/ops/carve/dual/args.cuh"

/* A plane of WORDS, of what stands beside the image. */
static __global__ void dual_fill_kernel(uint32_t *plane, uint64_t words, uint32_t word) {
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < words;
         i += (uint64_t)gridDim.x * blockDim.x)
        plane[i] = word;
}

/* Energies of both planes, in which energy_outside() stands everywhere. A thread has 8 pixels of a
 * column of the image, which are 8 of a row in the other plane. */
static __global__ void dual_energy_kernel(const __grid_constant__ struct dual_args dual) {
    const struct cluster_args &across = dual.axes[0], &turned = dual.axes[1];
    const uint32_t width = across.width, height = across.height, groups = (height + 7) / 8;
    const struct luma_plane luma = { dual.luma[0], dual.luma_stride, (int)width, (int)height };
    for (uint32_t y = 8 * blockIdx.x; y < 8 * groups; y += 8 * gridDim.x)
        for (uint32_t x = threadIdx.x; x < width; x += blockDim.x) {
            uint32_t energies[8];
#pragma unroll
            for (uint32_t k = 0; k < 8; k++) {
                energies[k] = energy_outside(across.energy);
                if (y + k >= height) continue;
                energies[k] = energy_at(luma, across.energy, (int)x, (int)(y + k));
                energy_row(across, y + k)[x] = (uint16_t)energies[k];
            }
            *(uint4 *)(energy_row(turned, x) + y) =
                make_uint4(energies[0] | energies[1] << 16, energies[2] | energies[3] << 16,
                           energies[4] | energies[5] << 16, energies[6] | energies[7] << 16);
        }
}

enum { ORIGIN_PIXELS = 4 }; /* a thread's */

/* Where the pixels of a part of a row were a step before. */
struct origin_walk {
    uint32_t x[ORIGIN_PIXELS], y[ORIGIN_PIXELS];
    uint32_t width, height;
    const uint16_t *seam; /* the last one that is undone */
};

DEVICE void origin_back(struct origin_walk &walk, bool turned) {
    walk.seam -= turned ? walk.width : walk.height;
#pragma unroll
    for (int k = 0; k < ORIGIN_PIXELS; k++)
        if (turned)
            walk.y[k] += walk.y[k] >= __ldg(walk.seam + walk.x[k]);
        else
            walk.x[k] += walk.x[k] >= __ldg(walk.seam + walk.y[k]);
    turned ? walk.height++ : walk.width++;
}

/* Every pixel that is left goes back through all steps to where it came from; a warp has a part of
 * a row. Of a search that was broken off nobody wants to know. */
static __global__ void dual_origins_kernel(const __grid_constant__ struct dual_args dual) {
    const struct cluster_args &args = dual.axes[0];
    const uint32_t width = args.width - args.dual.goes;
    const uint32_t height = args.height - (args.seams - args.dual.goes);
    const uint32_t each = 32 * ORIGIN_PIXELS, parts = (width + each - 1) / each;
    const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / parts;
    const uint32_t first = warp % parts * each + threadIdx.x % 32;
    if (*dual.made != args.seams || row >= height) return;
    struct origin_walk walk = {};
    for (int k = 0; k < ORIGIN_PIXELS; k++) {
        walk.x[k] = min(first + 32 * (uint32_t)k, width - 1);
        walk.y[k] = row;
    }
    walk.width = width, walk.height = height;
    walk.seam = dual.seams + ((uint64_t)args.width * args.height - (uint64_t)width * height);
    for (uint32_t step = args.seams, down = args.dual.goes; step; step--) {
        const uint32_t verdict = step > 1 ? __ldg(args.dual.verdicts + step - 2) : 0;
        const uint32_t before = verdict & VERDICT_COUNT;
        origin_back(walk, before == down);
        down = before;
    }
    uint32_t *to = dual.origins + (uint64_t)row * dual.origin_stride;
    for (uint32_t k = 0; k < ORIGIN_PIXELS; k++)
        if (first + 32 * k < width) to[first + 32 * k] = walk.y[k] * dual.origin_stride + walk.x[k];
}

#endif
