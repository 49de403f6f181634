// SPDX-License-Identifier: Apache-2.0
/* energy.cuh - the energy of one pixel of a luma plane, and of one out of which a seam is being
 * taken. */
#ifndef BURIN_CARVE_ENERGY_CUH
#define BURIN_CARVE_ENERGY_CUH

#include "cuda/ops/carve/ptx.cuh"
#include "pipeline/ops/carve.h"

enum { REACH_MAX = 2, CUTS = 2 * REACH_MAX + 1, NO_CUT = 1 << 30 };

/* The plane as it is once the seam is out. cut: where the seam crosses the rows y - 2 to y + 2
 * around the pixel that is asked for (turned: the columns x - 2 to x + 2), those outside the image
 * being those at its border; NO_CUT everywhere for the plane as it stands. */
struct view {
    const uint8_t *luma;
    uint32_t stride;
    int width, height; /* without the seam */
    bool turned;
    int cut[CUTS];
};

DEVICE int inside(int at, int size) {
    return min(max(at, 0), size - 1);
}

/* DX and DY are constants, so that cut stays in registers. */
DEVICE int tap(const struct view &view, int x, int y, int dx, int dy) {
    int column = inside(x + dx, view.width), row = inside(y + dy, view.height);
    if (view.turned)
        row += row >= view.cut[dx + REACH_MAX];
    else
        column += column >= view.cut[dy + REACH_MAX];
    return __ldcg(view.luma + (size_t)row * view.stride + column);
}

/* floor(sqrt(square)), square < 2^31: a float root is at most one off. */
DEVICE uint32_t whole_root(uint32_t square) {
    uint32_t root = (uint32_t)sqrtf((float)square);
    root -= root * root > square;
    root += (root + 1) * (root + 1) <= square;
    return root;
}

/* Weights across the gradient's direction and along it. */
template <int REACH> DEVICE int sobel_smooth(int at) {
    return REACH == 1 ? 2 - abs(at) : at == 0 ? 6 : at == 1 || at == -1 ? 4 : 1;
}

template <int REACH> DEVICE int sobel_slope(int at) {
    return REACH == 1 ? at : at == 2 || at == -2 ? at / 2 : 2 * at;
}

template <int REACH> DEVICE uint32_t sobel(const struct view &view, int x, int y) {
    int across = 0, down = 0;
#pragma unroll
    for (int dy = -REACH; dy <= REACH; dy++) {
#pragma unroll
        for (int dx = -REACH; dx <= REACH; dx++) {
            const int value = tap(view, x, y, dx, dy);
            across += sobel_smooth<REACH>(dy) * sobel_slope<REACH>(dx) * value;
            down += sobel_slope<REACH>(dy) * sobel_smooth<REACH>(dx) * value;
        }
    }
    return whole_root((uint32_t)(across * across + down * down));
}

DEVICE uint32_t energy_at(const struct view &view, int energy, int x, int y) {
    if (energy == CARVE_SOBEL3) return sobel<1>(view, x, y);
    if (energy == CARVE_SOBEL5) return sobel<2>(view, x, y);
    return carve_gradient((uint32_t)tap(view, x, y, 0, 0), (uint32_t)tap(view, x, y, 1, 0),
                          (uint32_t)tap(view, x, y, 0, 1), (uint32_t)tap(view, x, y, 1, 1));
}

DEVICE struct view whole_view(const uint8_t *luma, uint32_t stride, uint32_t width,
                              uint32_t height) {
    struct view view = { luma, stride, (int)width, (int)height, false, {} };
#pragma unroll
    for (int i = 0; i < CUTS; i++) view.cut[i] = NO_CUT;
    return view;
}

#endif
