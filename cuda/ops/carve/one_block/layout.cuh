// SPDX-License-Identifier: Apache-2.0
/* layout.cuh - a search that one block, or a cluster of two, does alone: its memory and its shape.
 *
 * Used by:  one_block.cuh lays searches out; the kernel's parts (sweep.cuh, trace.cuh) read them.
 * Limits:   one direction; masks by gradient alone; 2 rows or more, by sobel 4; ONE_BLOCK_ROWS_MAX
 *           rows, with masks MASKED_ROWS_MAX; the columns of BLOCK_WARPS_MAX warps.
 *
 * How it works: a half of the image (the upper rows downwards, the lower rows upwards) is swept by
 * `warps` warps. A lane has 4 * WORDS columns in registers; lanes 0 and 31 repeat those of the
 * neighbouring warps, so that a warp goes on alone for block_step() rows before it needs its
 * neighbours' costs.
 *
 * Templates that take KIND have a version for each kind of search, so that none pays for others.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_LAYOUT_CUH
#define BURIN_CARVE_ONE_BLOCK_LAYOUT_CUH

#include "cuda/ops/carve/ptx.cuh"
#include "cuda/ops/carve/seam_search.cuh"

/* The energy of a search: gradient, that with masks (flags.cuh), or sobel (sobel.cuh). */
enum search_kind { PLAIN, MASKED, SOBEL3, SOBEL5, SEARCH_KINDS };

/* Columns and rows beside a pixel that its energy needs on every side; 0: gradient. */
HOST_DEVICE constexpr int sobel_reach(enum search_kind kind) {
    return kind == SOBEL3 ? 1 : kind == SOBEL5 ? 2 : 0;
}

enum {
    BLOCK_WARPS_MAX = 16,
    PLANE_LEFT = 64,  /* bytes of a row before its first column */
    PLANE_SLACK = 16, /* rows before the first and behind the last, which are fetched in vain */
    GAPS_SLACK = 32,  /* the same for the columns of a seam in shared memory */
    NARROW = 360,     /* columns that one warp sweeps with 12 a lane, by gradient */

    GRADIENT_MAX = 690,
    ONE_BLOCK_ROWS_MAX = 11 * 1024,        /* whose columns of a seam lie in shared memory */
    MASKED_ROWS_MAX = CARVE_ABREAST_MASKED /* flags.cuh says why */
};
template <int WORDS> struct lane_shape {
    enum {
        COLUMNS = 4 * WORDS,
        OWN = 30 * COLUMNS /* columns of a warp that no other warp has */
    };
};

/* Rows between two exchanges; costs are kept as often, for the trace. Lane 31 does not know what is
 * right of its columns: its last one is wrong, with it the energies of one column more, or two by
 * sobel5, and by each row the costs of one more. Those of its first column must be right in the row
 * before the last: so at most COLUMNS - 1 rows, by sobel5 COLUMNS - 2. */
HOST_DEVICE constexpr uint32_t block_step(uint32_t words, enum search_kind kind) {
    return words == 3 ? 10 : kind == SOBEL5 ? 14 : 15;
}

/* A warp's rows on their way from memory: a lane's luma, with masks also its word of flags. */
template <int WORDS, search_kind KIND> struct ring_shape {
    enum {
        ROWS = KIND == MASKED ? 7 : 8,
        FLAGS = 32 * 4 * WORDS, /* bytes before a row's flags */
        ROW_BYTES = FLAGS + (KIND == MASKED ? 32 * 4 : 0),
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
    uint8_t kind;  /* enum search_kind */
};

/* Pieces of a search's memory, one after the other: two planes of luma, costs that are kept, a row
 * of costs, the warps' best columns. With masks each row of a plane has its flags behind it. */
struct block_shape {
    uint32_t stride; /* bytes of a row of luma, columns of a row of costs */
    uint32_t pitch;  /* bytes from a row of a plane to the next */
    uint32_t groups; /* kept rows of costs, of a half */
    size_t plane;    /* bytes, with the slack */
};

HOST_DEVICE uint32_t block_words(uint32_t width, enum search_kind kind) {
    return width <= NARROW && !sobel_reach(kind) ? 3 : 4;
}

/* The same for each number of words: up to NARROW columns one. */
HOST_DEVICE uint32_t block_warps(uint32_t width) {
    const uint32_t own = width <= NARROW ? +lane_shape<3>::OWN : +lane_shape<4>::OWN;
    return (width + own - 1) / own;
}
static_assert(NARROW <= +lane_shape<3>::OWN, "one warp");

/* A trace reads up to 118 columns behind the last one. */
HOST_DEVICE struct block_shape block_shape_of(uint32_t width, uint32_t height,
                                              enum search_kind kind) {
    const uint32_t words = block_words(width, kind), step = block_step(words, kind);
    const uint32_t warps = block_warps(width), traced = width + 118;
    const uint32_t swept = (30 * warps + 1) * 4 * words;
    struct block_shape shape;
    shape.stride = (PLANE_LEFT + (swept > traced ? swept : traced) + 127) / 128 * 128;
    shape.pitch = shape.stride + (kind == MASKED ? (shape.stride / words + 127) / 128 * 128 : 0);
    shape.groups = (height + 1) / 2 / step + 1;
    shape.plane = (size_t)shape.pitch * (height + 2 * PLANE_SLACK);
    return shape;
}

HOST_DEVICE size_t block_search_bytes(uint32_t width, uint32_t height, enum search_kind kind) {
    const struct block_shape shape = block_shape_of(width, height, kind);
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

DEVICE struct block_view block_view_of(const struct block_search &search, enum search_kind kind) {
    struct block_view view;
    view.shape = block_shape_of(search.width, search.height, kind);
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
