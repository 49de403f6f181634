// SPDX-License-Identifier: Apache-2.0
/* smooth_paths.h - the ways of smooth.h's two passes: plain C, which defines the result, and
 * vectors. Each way has its own layout of the ring.
 *
 * Used by:  smooth.c and the files of the ways.
 * Threads:  any; no state.
 */
#ifndef BURIN_SMOOTH_PATHS_H
#define BURIN_SMOOTH_PATHS_H

#include "pipeline/rows/smooth.h"

static inline size_t smooth_slot_bytes(const struct smooth_taps *taps) {
    return 2 * SMOOTH_CHUNK * (taps->gaussian.depth / 8) * 2;
}

static inline size_t smooth_slots(const struct smooth_taps *taps) {
    return taps->gaussian.reach + 1;
}

/* Returns the offset of the sums of CHUNK, pair by pair. */
static inline size_t smooth_chunk_offset(const struct smooth_taps *taps, size_t chunk) {
    return chunk * smooth_slots(taps) * smooth_slot_bytes(taps);
}

/* Returns the offset from the first pair of a chunk to that of tap K, where the window begins with
 * SLOT. */
static inline size_t smooth_tap_offset(const struct smooth_taps *taps, int k, size_t slot) {
    const size_t at = slot + taps->down[k].place, slots = smooth_slots(taps);
    return (at < slots ? at : at - slots) * smooth_slot_bytes(taps);
}

#ifdef __x86_64__
void smooth_across_avx2(const struct smooth_taps *taps, const uint8_t *const lines[2],
                        uint8_t *work, size_t chunks, uint8_t *ring, size_t slot);
void smooth_down_avx2(const struct smooth_taps *taps, const uint8_t *ring, size_t slot,
                      size_t chunks, uint8_t *const out[2]);
void smooth_across_avx512(const struct smooth_taps *taps, const uint8_t *const lines[2],
                          uint8_t *work, size_t chunks, uint8_t *ring, size_t slot);
void smooth_down_avx512(const struct smooth_taps *taps, const uint8_t *ring, size_t slot,
                        size_t chunks, uint8_t *const out[2]);
#endif

#endif
