// SPDX-License-Identifier: Apache-2.0
/* origin_walk.cuh - where a pixel was before seams of both directions were removed.
 *
 * Used by:  any_gpu.cuh, weighed/kernel.cuh.
 */
#ifndef BURIN_CARVE_ORIGIN_WALK_CUH
#define BURIN_CARVE_ORIGIN_WALK_CUH

#include "cuda/ops/carve/ptx.cuh"

/* Follows pixel (X, Y) of what is left, WIDTH x HEIGHT, back through all STEPS, and returns the
 * number y * STRIDE + x of its origin. SEAM: the end of all seams, each as long as it was; TURNED:
 * for each step, whether its seam was horizontal. */
DEVICE uint32_t walk_to_origin(const uint16_t *seam, const uint8_t *turned, uint32_t steps,
                               uint32_t width, uint32_t height, uint32_t x, uint32_t y,
                               uint32_t stride) {
    for (uint32_t step = steps; step; step--) {
        const bool across = turned[step - 1];
        seam -= across ? width : height;
        if (across)
            y += y >= seam[x], height++;
        else
            x += x >= seam[y], width++;
    }
    return y * stride + x;
}

#endif
