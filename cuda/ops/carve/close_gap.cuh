// SPDX-License-Identifier: Apache-2.0
/* close_gap.cuh - closes the gap that a seam leaves in a row of luma, energies or cells.
 *
 * Used by:  the removals of all three methods; the ladder of tests/bench/kernels.
 * Limits:   rows begin at 16 bytes; planes must be readable up to 16 bytes past their end.
 */
#ifndef BURIN_CARVE_CLOSE_GAP_CUH
#define BURIN_CARVE_CLOSE_GAP_CUH

#include "cuda/ops/carve/ptx.cuh"

/* Mask of the bytes, of 4 at AT, that lie at FROM or after it. */
DEVICE uint32_t from_mask(uint32_t at, uint32_t from) {
    if (from <= at) return ~0u;
    return from >= at + 4 ? 0 : ~0u << (8 * (from - at));
}

/* The 16 bytes at AT, in which those from FROM on are replaced by the bytes BITS / 8 further on;
 * NEXT: the word after them. */
DEVICE uint4 shifted(uint4 old, uint32_t next, uint32_t at, uint32_t from, uint32_t bits) {
    uint32_t words[5] = { old.x, old.y, old.z, old.w, next };
#pragma unroll
    for (int k = 0; k < 4; k++) words[k] = __funnelshift_r(words[k], words[k + 1], bits);
    if (from > at) {
        const uint32_t stay[] = { old.x, old.y, old.z, old.w };
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const uint32_t mask = from_mask(at + 4 * k, from);
            words[k] = (words[k] & mask) | (stay[k] & ~mask);
        }
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

enum gap_row {
    GAP_OWN,   /* in place, from the gap on, in a row that only this block writes */
    GAP_SHARED /* from START on, perhaps to another plane; other blocks wrote the row */
};

/* A warp moves a row's bytes after GAP down by BITS / 8, at least those before END, from FROM to TO
 * or in place; STRIDE bytes exist. A round is BATCH vectors a lane: its loads come before its
 * stores, and rounds ascend, so that nothing is lost in place. */
template <enum gap_row ROW, uint32_t BATCH>
DEVICE void close_gap(const uint8_t *from, uint8_t *to, uint32_t start, uint32_t gap, uint32_t end,
                      uint32_t stride, uint32_t bits) {
    enum { SPAN = 512 };
    const uint32_t lane = thread_index() % 32, needed = min(stride, end + 16);
#pragma unroll 1
    for (uint32_t base = start & ~15u; base < end; base += BATCH * SPAN) {
        const uint32_t at = base + lane * 16;
        uint4 old[BATCH];
        uint32_t behind = 0; /* the word after the round's last vector */
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            const uint4 *vector = (const uint4 *)(from + at + k * SPAN);
            old[k] = at + k * SPAN >= needed ? make_uint4(0, 0, 0, 0)
                     : ROW == GAP_OWN        ? *vector
                                             : __ldcg(vector);
        }
        if (base + BATCH * SPAN < needed) {
            const uint32_t *word = (const uint32_t *)(from + base + BATCH * SPAN);
            behind = ROW == GAP_OWN ? *word : __ldcg(word);
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            /* Lane 31 needs the first word of the next span, which lane 0 has. */
            const uint32_t after = k + 1 < BATCH ? old[(k + 1) % BATCH].x : behind;
            const uint32_t next = __shfl_sync(~0u, lane ? old[k].x : after, (int)lane + 1);
            /* Only the first vector of a gap in place has bytes that stay. */
            const bool may_stay = ROW == GAP_SHARED || k == 0;
            if (at + k * SPAN < end)
                *(uint4 *)(to + at + k * SPAN) =
                    shifted(old[k], next, may_stay ? at + k * SPAN : 0, may_stay ? gap : 0, bits);
        }
        __syncwarp();
    }
}

DEVICE void close_own_gap(uint8_t *row, uint32_t gap, uint32_t end, uint32_t stride,
                          uint32_t bits) {
    close_gap<GAP_OWN, 8>(row, row, gap, gap, end, stride, bits);
}

#endif
