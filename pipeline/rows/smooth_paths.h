// SPDX-License-Identifier: Apache-2.0
/* smooth_paths.h - the ways of smooth.h's two passes: plain C, which says what they mean, and
 * vectors. A way writes the ring as it likes and reads it itself.
 *
 * Used by:  smooth.c and the files of the ways.
 */
#ifndef BURIN_SMOOTH_PATHS_H
#define BURIN_SMOOTH_PATHS_H

#include "pipeline/rows/smooth.h"

/* Of a chunk and a pair of rows in the ring. */
static inline size_t smooth_slot_bytes(const struct smooth_taps *taps) {
    return 2 * SMOOTH_CHUNK * (taps->gaussian.depth / 8) * 2;
}

static inline size_t smooth_slots(const struct smooth_taps *taps) {
    return taps->gaussian.reach + 1;
}

/* Where the sums of CHUNK stand, pair by pair. */
static inline size_t smooth_chunk_offset(const struct smooth_taps *taps, size_t chunk) {
    return chunk * smooth_slots(taps) * smooth_slot_bytes(taps);
}

/* From the first pair of a chunk to that of the K-th tap, where the window begins with SLOT. */
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
