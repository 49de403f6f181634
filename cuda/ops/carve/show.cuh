// SPDX-License-Identifier: Apache-2.0
/* show.cuh - a picture of the carving in place of its result: show=seams and show=energy.
 *
 * Used by:  carve.cu.
 * Fails:    as check.cuh says.
 */
#ifndef BURIN_CARVE_SHOW_CUH
#define BURIN_CARVE_SHOW_CUH

#include "cuda/ops/carve/apply.cuh"
#include "cuda/ops/carve/byte_plane.cuh"
#include "cuda/ops/carve/energy.cuh"
#include "cuda/ops/carve/seam_mask.cuh"

enum draw_what { DRAW_INPUT, DRAW_RED, DRAW_ENERGY };

struct draw_args {
    struct image in, out;
    enum draw_what what;
    const uint8_t *luma; /* DRAW_ENERGY; with its stride */
    uint32_t luma_stride;
    int energy;
};

DEVICE void put_red(const struct image &out, uint32_t x, uint32_t y) {
    put_sample(out, x, y, 0, out.depth == 16 ? 65535 : 255);
    put_sample(out, x, y, 1, 0);
    put_sample(out, x, y, 2, 0);
}

DEVICE void put_input(const struct image &in, const struct image &out, uint32_t x, uint32_t y) {
    for (unsigned c = 0; c < 3; c++)
        put_sample(out, x, y, c, sample_at(in, x, y, in.channels < 3 ? 0 : c)); /* gray or not */
}

static __global__ void draw_kernel(const __grid_constant__ struct draw_args args) {
    const uint32_t x = thread_pixel().x, y = thread_pixel().y;
    if (x >= args.in.width || y >= args.in.height) return;
    if (args.what == DRAW_INPUT) put_input(args.in, args.out, x, y);
    if (args.what == DRAW_RED) put_red(args.out, x, y);
    if (args.what == DRAW_ENERGY) {
        const struct luma_plane luma = { args.luma, args.luma_stride, (int)args.in.width,
                                         (int)args.in.height };
        const uint32_t level = min(energy_at(luma, args.energy, (int)x, (int)y), 255u);
        put_sample(args.out, x, y, 0, args.out.depth == 16 ? 257 * level : level);
    }
    if (args.in.channels % 2 == 0)
        put_sample(args.out, x, y, args.out.channels - 1u,
                   sample_at(args.in, x, y, args.in.channels - 1u));
}

/* ---- one phase's seams on the picture */

struct paint_args {
    struct seam_mask mask; /* of an image of WIDTH x HEIGHT */
    uint32_t width, height;
    struct origin_map origin_map; /* of that image */
    struct image out;
};

/* New pixels are not painted: each leads to its seam's, which was painted when it was inserted. */
static __global__ void paint_kernel(const __grid_constant__ struct paint_args args) {
    const uint32_t x = thread_pixel().x, y = thread_pixel().y;
    if (x >= args.width || y >= args.height) return;
    if (!crossing_at(args.mask, line_of(args.mask, x, y), place_of(args.mask, x, y)).seam) return;
    uint32_t column = x, row = y;
    for (int i = args.origin_map.count - 1; i >= 0; i--)
        step_back(args.origin_map.phases[i], column, row);
    put_red(args.out, column, row);
}

/* Both directions at once, on a red picture: the remaining pixels get their colours back. */
static __global__ void restore_kernel(const __grid_constant__ struct gather_args args) {
    const uint32_t x = thread_pixel().x, y = thread_pixel().y;
    if (x >= args.width || y >= args.height) return;
    const uint2 origin = origin_at(args, x, y);
    put_input(args.in, args.out, origin.x, origin.y);
}

#endif
