// SPDX-License-Identifier: Apache-2.0
/* tagged_words.cuh - words between blocks that carry the number of the step that wrote them.
 *
 * Used by:  all three methods, wherever a block waits for another's result. Every wait is bounded
 *           (cuda/spin_limit.cuh), and tests/cuda/ops/carve_stuck.cu reports the number of a stuck
 *           one.
 *
 * One store carries value and tag, so that a reader who finds the tag has the value too: a word is
 * either old or right, without a fence or a flag. Two widths:
 *   64 bits   the step's number in the upper half (any_gpu)
 *   32 bits   two bits of the number at the top (costs of the fast methods), or 16 (jumps,
 *             crossings)
 */
#ifndef BURIN_CARVE_TAGGED_WORDS_CUH
#define BURIN_CARVE_TAGGED_WORDS_CUH

#include "cuda/ops/carve/ptx.cuh"
#include "cuda/spin_limit.cuh"

DEVICE uint64_t tagged(uint32_t value, uint32_t tag) {
    return (uint64_t)tag << 32 | value;
}

/* Two bits distinguish a seam's words from those of the three seams before. This is enough for
 * words that are written for every seam (jumps are not, and have 16 bits). Memory that is 0 belongs
 * to none of the first three. */
DEVICE uint32_t seam_tag(uint32_t seam) {
    return (seam + 1) & 3;
}

/* Whether the top two bits of all four words are TAG's. */
DEVICE bool have_tag(uint4 words, uint32_t tag) {
    const uint32_t want = tag << 30;
    return (((words.x ^ want) | (words.y ^ want) | (words.z ^ want) | (words.w ^ want)) >> 30) == 0;
}

enum {
    /* The fast methods: a stage that should become full or empty... */
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
    /* any_gpu: costs at a band's edge, its map, a tile's best, the path, all blocks. */
    STUCK_EDGE,
    STUCK_MAP,
    STUCK_BEST,
    STUCK_PATH,
    STUCK_BARRIER
};

#endif
