// SPDX-License-Identifier: Apache-2.0
/* flag_plane.cuh - fills the flags beside the luma of searches, from marks.
 *
 * Used by:  abreast.cuh.
 * Fails:    as check.cuh says.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_FLAG_PLANE_CUH
#define BURIN_CARVE_ONE_BLOCK_FLAG_PLANE_CUH

#include "cuda/ops/carve/launch_kernel.cuh"
#include "cuda/ops/carve/one_block/flags.cuh"
#include "pipeline/image.h"

struct flag_args {
    struct image marks; /* upright; bit 0 keep, bit 1 remove */
    bool turned;
    uint32_t masks; /* enum pixel_flag: those that are given */
    uint8_t *to;    /* plane 0 of a search, of SHAPE */
    struct block_shape shape;
};

/* A thread makes a word. Those of a warp read bytes that lie beside each other. */
DEVICE void fill_flags(const struct flag_args &args) {
    const struct image &marks = args.marks;
    const uint32_t beside = blockIdx.x * PIXEL_BLOCK_X + threadIdx.x;
    const uint32_t below = blockIdx.y * PIXEL_BLOCK_Y + threadIdx.y;
    const uint32_t width = args.turned ? marks.height : marks.width;
    const uint32_t word = args.turned ? below : beside, row = args.turned ? beside : below;
    const uint32_t columns = 4 * block_words(width, MASKED), first = word * columns;
    uint32_t flags = 0;
    if (row >= (args.turned ? marks.width : marks.height) || first >= width) return;
    for (uint32_t i = 0; i < columns && first + i < width; i++) {
        const uint32_t x = args.turned ? row : first + i, y = args.turned ? first + i : row;
        const uint32_t mark = marks.pixels[y * marks.stride + x];
        flags |= ((mark & 1 ? FLAG_KEPT : 0) | (mark & 2 ? 0 : FLAG_STAYS)) << FLAG_BITS * i;
    }
    if (!(args.masks & FLAG_STAYS)) flags &= FLAG_KEPT * 0x55555555u;
    uint32_t *const to =
        (uint32_t *)(args.to + row * (size_t)args.shape.pitch + flags_at(args.shape));
    to[1 + word] = flags; /* the first one is of columns outside */
}

static inline dim3 flag_blocks(const struct flag_args &args) {
    const uint32_t width = args.turned ? args.marks.height : args.marks.width;
    const uint32_t columns = 4 * block_words(width, MASKED),
                   words = (width + columns - 1) / columns;
    return args.turned ? pixel_blocks(args.marks.width, words)
                       : pixel_blocks(words, args.marks.height);
}

static inline enum status fill_flag_planes(const struct launch_queue &queue,
                                           const struct flag_args *args, int count) {
    return launch_items(items_kernel<struct flag_args, fill_flags>, flag_blocks,
                        dim3(PIXEL_BLOCK_X, PIXEL_BLOCK_Y), queue, args, count);
}

#endif
