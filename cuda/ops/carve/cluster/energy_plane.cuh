// SPDX-License-Identifier: Apache-2.0
/* energy_plane.cuh - the first energies of a search, before the cluster method's own kernel.
 *
 * Used by:  cluster.cuh; the ladder of tests/bench/kernels.
 */
#ifndef BURIN_CARVE_CLUSTER_ENERGY_PLANE_CUH
#define BURIN_CARVE_CLUSTER_ENERGY_PLANE_CUH

#include "cuda/ops/carve/cluster/args.cuh"
#include "cuda/ops/carve/energy.cuh"

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
