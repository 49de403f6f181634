// SPDX-License-Identifier: Apache-2.0
/* units.cuh - which picture of a batch a block of threads works on; sums and bytes for all kernels.
 *
 * Used by:  the kernels of cuda/codecs/jpeg_decode/.
 *
 * How it works. Each stage cuts each picture into units, a block of threads each. Units are
 * numbered through the batch; a table holds the number of each picture's first one. A warp searches
 * the table together, 32 places at a time: two loads in sequence where a binary search has ten.
 */
#ifndef BURIN_JPEG_UNITS_CUH
#define BURIN_JPEG_UNITS_CUH

#include "pipeline/codecs/jpeg/join.h"
#include "pipeline/codecs/jpeg/samples.h"

enum jpeg_stage {
    JPEG_STAGE_PIECES,
    JPEG_STAGE_PARTS,  /* of pictures that are walked */
    JPEG_STAGE_SHORTS, /* of pictures with short subsequences */
    JPEG_STAGE_WRITES,
    JPEG_STAGE_BLOCKS,
    JPEG_STAGE_TILES,
    JPEG_UNIT_STAGES,
};

enum {
    JPEG_PIECE_THREADS = 256,
    JPEG_WALK_THREADS = 128,
    JPEG_WALK_ROUNDS = 64,
    JPEG_WALK_LEAD = 16, /* subsequences; pictures are in step after fewer */
    JPEG_PHASE_THREADS = JPEG_PHASE_SUBS * JPEG_GUESSES,
    JPEG_REPAIR_THREADS = 256, /* of a picture; at least as many join it */
    JPEG_BLOCK_THREADS = 128,  /* of the transform, 4 a block */
    JPEG_BLOCK_ROUNDS = 2,     /* of a unit */
    JPEG_BLOCKS_AT_ONCE = JPEG_BLOCK_THREADS / 4,
    JPEG_BLOCKS_OF_UNIT = JPEG_BLOCKS_AT_ONCE * JPEG_BLOCK_ROUNDS,
    JPEG_TILE_THREADS = 128,
    JPEG_TILE_LANES = 8, /* lanes that make a row's pixels, a group */
    JPEG_TILE_COLUMNS = 8 * JPEG_TILE_LANES,
    JPEG_TILE_GROUPS = JPEG_TILE_THREADS / JPEG_TILE_LANES,
};

/* The argument of every kernel. */
struct jpeg_units {
    const struct jpeg_picture *pictures;
    const uint32_t *firsts; /* JPEG_UNIT_STAGES tables of count + 1 */
    int count;
    uint32_t rounds;   /* of jpeg_short_kernel */
    uint32_t tile_run; /* pairs of rows that a thread makes pixels of */
};

static inline __host__ __device__ uint32_t jpeg_divide_up(uint32_t value, uint32_t by) {
    return (value + by - 1) / by;
}

/* Subsequences that a block of threads writes; the others are its lead. */
static inline __host__ __device__ uint32_t jpeg_part_subs(uint32_t run) {
    return JPEG_WALK_THREADS * run - JPEG_WALK_LEAD;
}

static inline __host__ __device__ uint32_t jpeg_tiles_across(const struct jpeg_picture *picture) {
    return jpeg_divide_up(picture->into.width, JPEG_TILE_COLUMNS);
}

/* Pair j is rows 2j - 1 and 2j: of 4:2:0 they lie between the same rows of chroma. */
static inline __host__ __device__ uint32_t jpeg_tiles_down(const struct jpeg_picture *picture,
                                                           uint32_t tile_run) {
    return jpeg_divide_up(picture->into.height / 2 + 1, JPEG_TILE_GROUPS * tile_run);
}

struct jpeg_unit {
    const struct jpeg_picture *picture;
    uint32_t index; /* of the picture's units */
};

static __device__ __forceinline__ struct jpeg_unit jpeg_unit_of(const struct jpeg_units &units,
                                                                int stage) {
    const uint32_t *firsts = units.firsts + stage * (units.count + 1);
    const uint32_t lane = threadIdx.x % 32;
    uint32_t low = 0, left = (uint32_t)units.count;
    while (left > 1) {
        const uint32_t step = jpeg_divide_up(left, 32), at = lane * step;
        const bool before = at < left && firsts[low + at] <= blockIdx.x;
        const uint32_t skip = (__popc(__ballot_sync(~0u, before)) - 1) * step;
        low += skip;
        left = min(step, left - skip);
    }
    return { units.pictures + low, blockIdx.x - firsts[low] };
}

/* Returns the sum of VALUE over the block's threads before this one; TOTAL is that of all. Has a
 * barrier on both sides. SHARED: a word a warp. */
static __device__ __forceinline__ uint32_t jpeg_scan_block(uint32_t value, uint32_t *shared,
                                                           uint32_t *total) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    uint32_t sum = value;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, sum, step);
        sum += lane >= step ? other : 0;
    }
    __syncthreads();
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    uint32_t before = 0, all = 0;
    for (uint32_t i = 0; i < warps; i++) {
        before += i < warp ? shared[i] : 0;
        all += shared[i];
    }
    *total = all;
    return before + sum - value;
}

/* One instruction clamps two numbers and packs them in front of the given word. */
static __device__ __forceinline__ uint32_t jpeg_pack(int32_t a, int32_t b, int32_t c, int32_t d) {
#if defined(__CUDA_ARCH__)
    uint32_t high, word;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(d), "r"(c), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(b), "r"(a), "r"(high));
    return word;
#else
    return jpeg_clamp(a) | jpeg_clamp(b) << 8 | jpeg_clamp(c) << 16 | jpeg_clamp(d) << 24;
#endif
}

#endif
