// SPDX-License-Identifier: Apache-2.0
/* batch.cuh - the planes of a batch of images as clahe's kernels see them, and their common state.
 *
 * Used by:  the other files of clahe.
 * Limits:   CUDA_BATCH_MAX planes a launch.
 *
 * How it works. Each plane is a picture of its own: an image by value or luma is one, by channel it
 * is three. A launch has blocks for some rows of tiles of every picture, numbered one picture after
 * another; tables go to a ring that holds one more row of tiles than a launch makes (or all), since
 * the cells above a row read the tables of the row before.
 */
#ifndef BURIN_CLAHE_BATCH_CUH
#define BURIN_CLAHE_BATCH_CUH

#include "cuda/chunk.cuh"
#include "cuda/cuda_op.h"
#include "pipeline/ops/clahe.h"

enum { CLAHE_STRIP_ROWS = 32 };

struct clahe_picture {
    const uint8_t *in;
    uint8_t *out;
    uint32_t in_stride, out_stride, width, height;
    uint32_t limit;                   /* see struct clahe_grid */
    uint16_t tile_width, tile_height; /* at most a side, which has 16 bits */
    uint32_t channel;                 /* of CLAHE_EACH */
    uint32_t first_part;              /* number of its first block among those that make tables */
    uint32_t first_strip;             /* and among those that look up */
    uint32_t ring;                    /* place of its tables, counted in tables */
};

struct clahe_batch {
    int count;
    uint32_t tiles;               /* of the request */
    uint32_t clip;                /* of the request */
    struct background background; /* of a tile that has no pixel to be seen */
    uint32_t first_row, end_row;  /* rows of tiles of this launch */
    uint32_t ring_rows;
    uint32_t tables_made; /* by this launch */
    uint32_t parts;       /* blocks that share the counting of a tile */
    uint32_t strips;      /* blocks that look up */
    uint8_t *tables;
    uint32_t *counts;  /* 8 bits: 256 a table, where several blocks share one; else 65536 */
    uint32_t *tickets; /* one a table, for the blocks that share it */
    struct clahe_picture pictures[CUDA_BATCH_MAX];
};
static_assert(sizeof(struct clahe_batch) <= 4096, "fits the parameters of any driver");

/* ---- on both sides */

/* The end of the launch's rows of tiles in GRID, and of the rows of cells that it looks up. */
HOST_DEVICE uint32_t clahe_end(uint32_t end, uint32_t most) {
    return end < most ? end : most;
}

HOST_DEVICE uint32_t clahe_tile_rows(const struct clahe_batch *batch,
                                     const struct clahe_grid *grid) {
    const uint32_t end = clahe_end(batch->end_row, grid->y.tiles);
    return end > batch->first_row ? end - batch->first_row : 0;
}

/* The last tiles include what lies behind their middles. */
HOST_DEVICE uint32_t clahe_cell_rows(const struct clahe_batch *batch,
                                     const struct clahe_grid *grid) {
    const uint32_t rows = clahe_tile_rows(batch, grid);
    return rows && batch->end_row >= grid->y.tiles ? grid->y.cells - batch->first_row : rows;
}

/* A cell has at most one row more than a tile. */
HOST_DEVICE uint32_t clahe_cell_strips(const struct clahe_grid *grid) {
    return grid->y.tile / CLAHE_STRIP_ROWS + 1;
}

/* ---- on the device */

template <int DEPTH> static __device__ __forceinline__ uint32_t clahe_bins(void) {
    return DEPTH == 8 ? 256 : 65536;
}

/* The host did the slowest part, divisions of integers and doubles. */
static __device__ __forceinline__ struct clahe_grid
clahe_picture_grid(const struct clahe_batch &batch, const struct clahe_picture &picture,
                   uint32_t max) {
    struct clahe_grid grid;
    grid.x = clahe_side_of(picture.width, batch.tiles, picture.tile_width);
    grid.y = clahe_side_of(picture.height, batch.tiles, picture.tile_height);
    grid.limit = picture.limit;
    grid.scale = (float)max / (float)(grid.x.tile * grid.y.tile);
    return grid;
}

/* The table of tile COLUMN, ROW. */
template <int DEPTH>
static __device__ __forceinline__ uint8_t *
clahe_table(const struct clahe_batch &batch, const struct clahe_picture &picture,
            const struct clahe_grid &grid, uint32_t column, uint32_t row) {
    const uint64_t table = picture.ring + (row % batch.ring_rows) * grid.x.tiles + column;
    return batch.tables + table * (clahe_bins<DEPTH>() * (DEPTH / 8));
}

/* The picture that block NUMBER belongs to; FIRST: the member that numbers its blocks. */
static __device__ __forceinline__ const struct clahe_picture &
clahe_find(const struct clahe_batch &batch, uint32_t clahe_picture::*first, uint32_t number) {
    int low = 0, high = batch.count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (batch.pictures[middle].*first <= number)
            low = middle;
        else
            high = middle;
    }
    return batch.pictures[low];
}

#endif
