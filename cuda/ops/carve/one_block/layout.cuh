// SPDX-License-Identifier: Apache-2.0
/* layout.cuh - a search that one block, or a cluster of two, does alone: its memory and its shape.
 *
 * Used by:  one_block.cuh lays searches out; the kernel's parts (sweep.cuh, trace.cuh) read them.
 * Limits:   gradient, one direction; 2 rows or more; ONE_BLOCK_ROWS_MAX rows, with masks
 *           MASKED_ROWS_MAX; the columns of BLOCK_WARPS_MAX warps.
 *
 * How it works: a half of the image (the upper rows downwards, the lower rows upwards) is swept by
 * `warps` warps. A lane has 4 * WORDS columns in registers; lanes 0 and 31 repeat those of the
 * neighbouring warps, so that a warp goes on alone for lane_shape::STEP rows before it needs its
 * neighbours' costs.
 *
 * Templates that take MASKED have a version for searches with masks (flags.cuh), so that the others
 * pay nothing.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_LAYOUT_CUH
#define BURIN_CARVE_ONE_BLOCK_LAYOUT_CUH

#include "cuda/ops/carve/ptx.cuh"
#include "cuda/ops/carve/seam_search.cuh"

enum {
    BLOCK_WARPS_MAX = 16,
    PLANE_LEFT = 64,  /* bytes of a row before its first column */
    PLANE_SLACK = 16, /* rows before the first and behind the last, which are fetched in vain */
    GAPS_SLACK = 32,  /* the same for the columns of a seam in shared memory */
    NARROW = 360,     /* columns that one warp sweeps with 12 a lane */

    /* More than the energy of half a path: what is outside the image costs this. */
    COST_OUTSIDE = 1 << 22,
    GRADIENT_MAX = 690,
    ONE_BLOCK_ROWS_MAX = 11 * 1024,        /* whose columns of a seam lie in shared memory */
    MASKED_ROWS_MAX = CARVE_ABREAST_MASKED /* flags.cuh says why */
};
static_assert(ONE_BLOCK_ROWS_MAX / 2 + 1 < COST_OUTSIDE / GRADIENT_MAX, "costs of half a path");

template <int WORDS> struct lane_shape {
    enum {
        COLUMNS = 4 * WORDS,
        STEP = WORDS == 3 ? 10 : 15, /* rows between two exchanges, less than COLUMNS; costs are
                                        kept as often, for the trace */
        OWN = 30 * COLUMNS           /* columns of a warp that no other warp has */
    };
};

/* A warp's rows on their way from memory: a lane's luma, with masks also its word of flags. */
template <int WORDS, bool MASKED> struct ring_shape {
    enum {
        ROWS = MASKED ? 7 : 8,
        FLAGS = 32 * 4 * WORDS, /* bytes before a row's flags */
        ROW_BYTES = FLAGS + (MASKED ? 32 * 4 : 0),
        BYTES = ROWS * ROW_BYTES
    };
};

static_assert((int)CARVE_ABREAST_SIDE <= BLOCK_WARPS_MAX * lane_shape<4>::OWN &&
                  (int)CARVE_ABREAST_SIDE <= +ONE_BLOCK_ROWS_MAX,
              "what goes abreast is taken");

/* One search on the device. A launch takes many of these by value, so it is short. */
struct block_search {
    uint8_t *memory; /* as block_shape says */
    uint16_t *seams; /* [seam][row] */
    struct kernel_progress *progress;
    uint32_t *taken; /* masks: gets the number of seams, or SEARCH_WALLED */
    uint32_t done;   /* seams of the phases before */
    uint16_t width, height, seam_count;
    uint16_t least; /* masks: seams to take even if they cross no pixel to be removed */
    uint8_t warps;
    uint8_t masks; /* enum pixel_flag: those of the masks that are given */
};

/* Pieces of a search's memory, one after the other: two planes of luma, costs that are kept, a row
 * of costs, the warps' best columns. With masks each row of a plane has its flags behind it. */
struct block_shape {
    uint32_t stride; /* bytes of a row of luma, columns of a row of costs */
    uint32_t pitch;  /* bytes from a row of a plane to the next */
    uint32_t groups; /* kept rows of costs, of a half */
    size_t plane;    /* bytes, with the slack */
};

HOST_DEVICE uint32_t block_words(uint32_t width) {
    return width <= NARROW ? 3 : 4;
}

HOST_DEVICE uint32_t block_warps(uint32_t width) {
    const uint32_t own = block_words(width) == 3 ? +lane_shape<3>::OWN : +lane_shape<4>::OWN;
    return (width + own - 1) / own;
}

/* A trace reads up to 118 columns behind the last one. */
HOST_DEVICE struct block_shape block_shape_of(uint32_t width, uint32_t height, bool masked) {
    const uint32_t words = block_words(width), warps = block_warps(width), traced = width + 118;
    const uint32_t step = words == 3 ? +lane_shape<3>::STEP : +lane_shape<4>::STEP;
    const uint32_t swept = (30 * warps + 1) * 4 * words;
    struct block_shape shape;
    shape.stride = (PLANE_LEFT + (swept > traced ? swept : traced) + 127) / 128 * 128;
    shape.pitch = shape.stride + (masked ? (shape.stride / words + 127) / 128 * 128 : 0);
    shape.groups = (height + 1) / 2 / step + 1;
    shape.plane = (size_t)shape.pitch * (height + 2 * PLANE_SLACK);
    return shape;
}

HOST_DEVICE size_t block_search_bytes(uint32_t width, uint32_t height, bool masked) {
    const struct block_shape shape = block_shape_of(width, height, masked);
    return 2 * shape.plane + (2 * (size_t)shape.groups + 1) * shape.stride * sizeof(uint32_t) +
           BLOCK_WARPS_MAX * sizeof(uint64_t);
}

/* The first column of row 0 in plane NUMBER, 0 or 1. */
HOST_DEVICE uint8_t *block_plane(uint8_t *memory, const struct block_shape &shape,
                                 uint32_t number) {
    return memory + number * shape.plane + PLANE_SLACK * (size_t)shape.pitch + PLANE_LEFT;
}

/* A search as its block sees it. */
struct block_view {
    struct block_shape shape;
    uint8_t *planes;     /* plane 0 */
    uint32_t *costs;     /* kept by the upper half, then by the lower; column 0 of group 0 */
    uint32_t *middle;    /* column 0: the lower half's costs in the row under the middle */
    uint64_t *bests;     /* [warp] least cost, then its column */
    uint32_t middle_row; /* the last row of the upper half */
};

DEVICE struct block_view block_view_of(const struct block_search &search, bool masked) {
    struct block_view view;
    view.shape = block_shape_of(search.width, search.height, masked);
    view.planes = block_plane(search.memory, view.shape, 0);
    uint32_t *const costs = (uint32_t *)(search.memory + 2 * view.shape.plane);
    view.costs = costs + PLANE_LEFT;
    view.middle = view.costs + 2 * view.shape.groups * (size_t)view.shape.stride;
    view.bests = (uint64_t *)(costs + (2 * view.shape.groups + 1) * (size_t)view.shape.stride);
    view.middle_row = (search.height - 1u) / 2;
    return view;
}

/* The plane that holds the image while SEAM, from 0, is searched: they alternate. */
DEVICE uint8_t *plane_of(const struct block_view &view, uint32_t seam) {
    return view.planes + (seam & 1 ? view.shape.plane : 0);
}

template <int HALF> DEVICE uint32_t *kept_costs(const struct block_view &view) {
    return view.costs + HALF * view.shape.groups * (size_t)view.shape.stride;
}

#endif
