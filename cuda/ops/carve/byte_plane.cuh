// SPDX-License-Identifier: Apache-2.0
/* byte_plane.cuh - the planes of a search: an image's luma and its marks, upright or turned.
 *
 * Used by:  carve.cu and abreast.cuh fill the planes of a phase; carve.cu shows samples.
 * Fails:    as check.cuh says.
 */
#ifndef BURIN_CARVE_BYTE_PLANE_CUH
#define BURIN_CARVE_BYTE_PLANE_CUH

#include "cuda/cuda_op.h"
#include "cuda/ops/carve/launch_kernel.cuh"
#include "pipeline/ops/carve/definition.h"

DEVICE uint32_t sample_at(const struct image &image, uint32_t x, uint32_t y, unsigned channel) {
    const size_t at = (size_t)x * image.channels + channel;
    const uint8_t *const row = image.pixels + y * image.stride;
    return image.depth == 8 ? row[at] : ((const uint16_t *)row)[at];
}

DEVICE void put_sample(const struct image &image, uint32_t x, uint32_t y, unsigned channel,
                       uint32_t sample) {
    const size_t at = (size_t)x * image.channels + channel;
    uint8_t *const row = image.pixels + y * image.stride;
    if (image.depth == 8)
        row[at] = (uint8_t)sample;
    else
        ((uint16_t *)row)[at] = (uint16_t)sample;
}

/* Fills a plane of bytes with IMAGE's luma over UNDER (a plane's luma is its content), or with the
 * masks' marks. */
struct fill_args {
    uint32_t width, height; /* before turning */
    uint8_t *to;
    uint32_t to_stride;
    bool turned;
    struct image image;
    struct kernel_progress *progress; /* gets TOTAL; may be NULL */
    uint32_t total;
    struct image keep, remove; /* width 0: not given */
    bool soft;                 /* weights, not marks */
    struct background under;
    uint32_t border; /* columns of the plane after its last one, which repeat that */
};

DEVICE uint32_t byte_at(const struct fill_args &args, uint32_t x, uint32_t y) {
    const struct image &image = args.image;
    if (image.width) {
        const unsigned channels = image.channels, depth = image.depth;
        uint32_t sample[3] = {};
        for (unsigned c = 0; c < channels - (channels % 2 == 0); c++) {
            sample[c] = sample_at(image, x, y, c);
            if (channels % 2 == 0)
                sample[c] = background_lay(sample[c], sample_at(image, x, y, channels - 1),
                                           args.under.sample[c], depth);
        }
        return channels < 3 ? sample[0] >> (depth - 8)
                            : carve_luma(sample[0], sample[1], sample[2], depth);
    }
    const uint32_t keep = args.keep.width ? sample_at(args.keep, x, y, 0) : 0;
    const uint32_t remove = args.remove.width ? sample_at(args.remove, x, y, 0) : 0;
    if (args.soft) return carve_weight(keep, remove);
    return (keep >= CARVE_MASK_LEVEL ? 1 : 0) | (remove >= CARVE_MASK_LEVEL ? 2 : 0);
}

enum { FILL_TILE = 32, FILL_ROWS = 8 };

/* A block fills a tile through shared memory, so that rows are read and written whole. */
DEVICE void fill_tile(const struct fill_args &args) {
    __shared__ uint8_t tile[FILL_TILE][FILL_TILE + 4];
    const uint32_t width = args.width + (args.turned ? 0 : args.border);
    const uint32_t height = args.height + (args.turned ? args.border : 0);
    const uint32_t x0 = blockIdx.x * FILL_TILE, y0 = blockIdx.y * FILL_TILE;
    if (args.progress && x0 + y0 + threadIdx.x + threadIdx.y == 0)
        ((volatile struct kernel_progress *)args.progress)->total = args.total;
    for (uint32_t i = threadIdx.y; i < FILL_TILE; i += FILL_ROWS) {
        const uint32_t x = x0 + threadIdx.x, y = y0 + i;
        if (x < width && y < height)
            tile[i][threadIdx.x] =
                (uint8_t)byte_at(args, min(x, args.width - 1), min(y, args.height - 1));
    }
    __syncthreads();
    for (uint32_t i = threadIdx.y; i < FILL_TILE; i += FILL_ROWS) {
        const uint32_t x = args.turned ? y0 + threadIdx.x : x0 + threadIdx.x;
        const uint32_t y = args.turned ? x0 + i : y0 + i;
        if (x < (args.turned ? height : width) && y < (args.turned ? width : height))
            args.to[(size_t)y * args.to_stride + x] =
                args.turned ? tile[threadIdx.x][i] : tile[i][threadIdx.x];
    }
}

static inline dim3 fill_tiles(const struct fill_args &args) {
    return dim3((args.width + args.border + FILL_TILE - 1) / FILL_TILE,
                (args.height + args.border + FILL_TILE - 1) / FILL_TILE);
}

static inline enum status fill_planes(const struct launch_queue &queue,
                                      const struct fill_args *args, int count) {
    return launch_items(items_kernel<struct fill_args, fill_tile>, fill_tiles,
                        dim3(FILL_TILE, FILL_ROWS), queue, args, count);
}

#endif
