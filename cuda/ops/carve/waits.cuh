// SPDX-License-Identifier: Apache-2.0
/* waits.cuh - for what the blocks of carving wait. None waits for ever: cuda/spin_limit.cuh.
 *
 * Used by:  the kernels of all three methods; carve_stuck.cuh tells the number of a stuck wait.
 */
#ifndef BURIN_CARVE_WAITS_CUH
#define BURIN_CARVE_WAITS_CUH

#include "cuda/spin_limit.cuh"

enum {
    /* The cluster and the dual method: a stage that is to be full or empty... */
    STUCK_FULL = 1,
    STUCK_EMPTY,
    STUCK_READY,
    STUCK_INBOX,
    STUCK_COSTS,
    STUCK_ENTRY,
    STUCK_CROSSING,
    STUCK_JUMPS,
    STUCK_MEET,
    STUCK_DECISION,
    STUCK_BEGUN,
    STUCK_VERDICT,
    STUCK_TOTAL,
    STUCK_PEERS,
    /* The grid method: costs at a band's edge, its map, a tile's best, the path, all blocks. */
    STUCK_EDGE,
    STUCK_MAP,
    STUCK_BEST,
    STUCK_PATH,
    STUCK_BARRIER
};

#endif
