// SPDX-License-Identifier: Apache-2.0
/* removal.cuh - the any-GPU method: removes a seam from the luma and from the pixels' cells.
 *
 * Used by:  any_gpu.cuh.
 *
 * How it works: luma goes from one plane to another, so that the energies along the seam can be
 * computed from the old one at any time during the move. Cells move within their row in place; only
 * between rows they too go from one plane to another.
 */
#ifndef BURIN_CARVE_ANY_GPU_REMOVAL_CUH
#define BURIN_CARVE_ANY_GPU_REMOVAL_CUH

#include "cuda/ops/carve/any_gpu/traceback.cuh"
#include "cuda/ops/carve/close_gap.cuh"
#include "cuda/ops/carve/energy.cuh"

enum { REACH_MAX = 2, CUTS = 2 * REACH_MAX + 1 };

DEVICE int clamped(int at, int size) {
    return min(max(at, 0), size - 1);
}

/* Luma as if the seam were removed. cut: where the seam crosses the rows y - 2 to y + 2 around the
 * pixel (turned: the columns x - 2 to x + 2); outside the image the border's value. DX and DY are
 * constants, so that the array stays in registers. */
struct luma_cut {
    const uint8_t *luma;
    uint32_t stride;
    int width, height; /* without the seam */
    bool turned;
    int cut[CUTS];
};

DEVICE int tap(const struct luma_cut &luma, int x, int y, int dx, int dy) {
    int column = clamped(x + dx, luma.width), row = clamped(y + dy, luma.height);
    if (luma.turned)
        row += row >= luma.cut[dx + REACH_MAX];
    else
        column += column >= luma.cut[dy + REACH_MAX];
    return __ldcg(luma.luma + (size_t)row * luma.stride + column);
}

/* Planes before and after; the size before. */
struct removal {
    const uint8_t *luma;
    uint8_t *luma_to;
    const uint16_t *cells;
    uint16_t *cells_to; /* may be `cells` where rows get shorter */
    uint32_t luma_stride, cell_stride;
    uint32_t width, height;
    int energy;
    const uint32_t *path;
    uint32_t tag;
};

/* The greatest distance from the seam at which a lane's pixel needs a new energy: the reach of
 * energy, and a step of the seam to the side. */
DEVICE int repaired(int energy) {
    return 4 * carve_reach(energy);
}

/* Waits for the seam's column in this row and in its neighbours. Waits for its ends too: until they
 * are known, maps that lead to a band may still need its cells. 16 bits of the tag are enough: an
 * axis's path is written for each of its seams, with at most 65534 seams of the other axis in
 * between. */
DEVICE void wait_cuts(int (&cut)[CUTS], const struct removal &e, int y) {
    const int lane = threadIdx.x % 32, last = (int)e.height - 1;
    uint32_t entry = e.tag << 16;
    if (lane < CUTS + 2) {
        const int row = lane == CUTS  ? 0
                        : lane > CUTS ? last
                                      : clamped(y + lane - REACH_MAX, last + 1);
        spin_until(STUCK_PATH, [&] {
            entry = load_relaxed(e.path + row);
            if (entry >> 16 == (e.tag & 0xffff)) return true;
            __nanosleep(20);
            return false;
        });
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < CUTS; i++) cut[i] = (int)(__shfl_sync(~0u, entry, i) & 0xffff);
}

/* Called by a warp: removes a vertical seam's pixel from row Y. */
DEVICE void remove_in_row(const struct removal &e, int y) {
    struct luma_cut luma = { e.luma, e.luma_stride, (int)e.width - 1, (int)e.height, false, {} };
    wait_cuts(luma.cut, e, y);
    const int seam = luma.cut[REACH_MAX], lane = threadIdx.x % 32;
    const int x = seam - repaired(e.energy) / 2 + lane;
    const bool repairs = lane < repaired(e.energy) && x >= 0 && x < luma.width;
    const uint16_t *const from = e.cells + (size_t)y * e.cell_stride;
    uint16_t *const to = e.cells_to + (size_t)y * e.cell_stride;
    uint32_t cell = 0;
    if (repairs)
        cell =
            (__ldcg(from + x + (x >= seam)) & ~CELL_ENERGY) | energy_at<CUTS>(luma, e.energy, x, y);
    close_gap<GAP_SHARED, 4>((const uint8_t *)from, (uint8_t *)to, 2 * (uint32_t)seam,
                             2 * (uint32_t)seam, 2 * (e.width - 1), 2 * e.cell_stride, 16);
    close_gap<GAP_SHARED, 4>(e.luma + (size_t)y * e.luma_stride,
                             e.luma_to + (size_t)y * e.luma_stride, 0, (uint32_t)seam, e.width - 1,
                             e.luma_stride, 8);
    __syncwarp();
    if (repairs) to[x] = (uint16_t)cell;
}

/* ---- rows out of columns: the path is complete, so that nothing is waited for */

DEVICE int cut_at(const struct removal &e, int x) {
    return (int)(__ldcg(e.path + clamped(x, (int)e.width)) & 0xffff);
}

enum { VECTOR = 8 }; /* columns a lane moves together */

/* VECTOR columns of the new row Y. repair_column() writes those along the seam. */
DEVICE void remove_in_columns(const struct removal &e, int x, int y) {
    const int half = repaired(e.energy) / 2;
    const uint4 *const cells = (const uint4 *)(e.cells + (size_t)y * e.cell_stride + x);
    const uint2 *const luma = (const uint2 *)(e.luma + (size_t)y * e.luma_stride + x);
    uint32_t mask[VECTOR / 2] = {}, near = 0;
    uint2 bytes = make_uint2(0, 0);
#pragma unroll
    for (int i = 0; i < VECTOR; i++) {
        const int cut = cut_at(e, x + i);
        if (y >= cut) mask[i / 2] |= 0xffffu << 16 * (i % 2);
        if (y >= cut - half && y < cut + half) near |= 1u << i;
    }
    bytes.x = __byte_perm(mask[0], mask[1], 0x6420),
    bytes.y = __byte_perm(mask[2], mask[3], 0x6420);
    const uint4 a = __ldcg(cells), b = __ldcg(cells + e.cell_stride / VECTOR);
    const uint2 p = __ldcg(luma), q = __ldcg(luma + e.luma_stride / VECTOR);
    const uint32_t cell[VECTOR / 2] = { (a.x & ~mask[0]) | (b.x & mask[0]),
                                        (a.y & ~mask[1]) | (b.y & mask[1]),
                                        (a.z & ~mask[2]) | (b.z & mask[2]),
                                        (a.w & ~mask[3]) | (b.w & mask[3]) };
    uint16_t *const to = e.cells_to + (size_t)y * e.cell_stride + x;
    *(uint2 *)(e.luma_to + (size_t)y * e.luma_stride + x) =
        make_uint2((p.x & ~bytes.x) | (q.x & bytes.x), (p.y & ~bytes.y) | (q.y & bytes.y));
    if (!near) *(uint4 *)to = make_uint4(cell[0], cell[1], cell[2], cell[3]);
#pragma unroll
    for (int i = 0; near && i < VECTOR; i++)
        if (!(near >> i & 1)) to[i] = (uint16_t)(cell[i / 2] >> 16 * (i % 2));
}

DEVICE void repair_column(const struct removal &e, int x, int i) {
    struct luma_cut luma = { e.luma, e.luma_stride, (int)e.width, (int)e.height - 1, true, {} };
#pragma unroll
    for (int k = 0; k < CUTS; k++) luma.cut[k] = cut_at(e, x + k - REACH_MAX);
    const int cut = luma.cut[REACH_MAX], y = cut - repaired(e.energy) / 2 + i;
    if (y < 0 || y >= luma.height) return;
    const uint32_t old = __ldcg(e.cells + (size_t)(y + (y >= cut)) * e.cell_stride + x);
    e.cells_to[(size_t)y * e.cell_stride + x] =
        (uint16_t)((old & ~CELL_ENERGY) | energy_at<CUTS>(luma, e.energy, x, y));
}

#endif
