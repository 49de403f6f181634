// SPDX-License-Identifier: Apache-2.0
/* walk.cuh - a block's threads as columns and rows, so that each goes straight down.
 *
 * Used by:  blend.cuh.
 *
 * How it works. So many columns that there are at least four rows of threads: then no more than a
 * fifth of the threads are in none. What is wider is gone through in several turns. In the last of
 * them, and where the rows of the picture's part are no multiple of the threads', others have
 * nothing to do either.
 */
#ifndef BURIN_CLAHE_WALK_CUH
#define BURIN_CLAHE_WALK_CUH

#include <stdint.h>

struct column_walk {
    uint32_t columns, rows; /* of threads */
    uint32_t first, end;    /* this thread's first column; END where it has none */
    uint32_t row;
};

template <int THREADS>
static __device__ __forceinline__ struct column_walk column_walk_of(uint32_t count) {
    constexpr uint32_t MOST = THREADS / 4;
    const uint32_t turns = (count + MOST - 1) / MOST;
    struct column_walk walk;
    walk.columns = turns > 1 ? (count + turns - 1) / turns : count;
    walk.rows = THREADS / walk.columns;
    walk.row = threadIdx.x / walk.columns;
    walk.end = count;
    walk.first = walk.row < walk.rows ? threadIdx.x - walk.row * walk.columns : count;
    return walk;
}

#endif
