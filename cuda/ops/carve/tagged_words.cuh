// SPDX-License-Identifier: Apache-2.0
/* tagged_words.cuh - words between blocks that carry the number of the step that wrote them.
 *
 * Used by:  all three methods, wherever a block waits for another's result. No wait is for ever:
 *           cuda/spin_limit.cuh, and carve_stuck.cuh tells the number of a stuck one.
 *
 * One store carries value and tag, so that a reader who finds the tag has the value too: a word is
 * old or it is right, and nobody needs a fence or a flag. Two widths:
 *   64 bits   the step's number in the upper half (the grid method)
 *   32 bits   two bits of it at the top (costs of the cluster methods), or 16 (jumps, crossings)
 */
#ifndef BURIN_CARVE_TAGGED_WORDS_CUH
#define BURIN_CARVE_TAGGED_WORDS_CUH

#include "cuda/ops/carve/ptx.cuh"
#include "cuda/spin_limit.cuh"

DEVICE uint64_t tagged(uint32_t value, uint32_t tag) {
    return (uint64_t)tag << 32 | value;
}

/* Two bits that tell a seam's words from those of the three before, which is enough for words that
 * are written anew for every seam (jumps are not, and have 16 bits); memory that is 0 belongs to
 * none of the first three. */
DEVICE uint32_t seam_tag(uint32_t seam) {
    return (seam + 1) & 3;
}

/* Whether the top two bits of all four words are TAG's. */
DEVICE bool have_tag(uint4 words, uint32_t tag) {
    const uint32_t want = tag << 30;
    return (((words.x ^ want) | (words.y ^ want) | (words.z ^ want) | (words.w ^ want)) >> 30) == 0;
}

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
