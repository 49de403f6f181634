// SPDX-License-Identifier: Apache-2.0
/* origin_map.cuh - where a pixel stood in the image that all phases began with.
 *
 * Used by:  carve_context.cuh keeps it; draw.cuh paints seams of later phases on the input.
 * Limits:   PHASES_MAX phases.
 *
 * Each phase leaves its seam mask behind: one bit and half a bit of rank a pixel of the image it
 * began with. Followed back through them a place leads to the input; that of a new pixel leads to
 * the seam's that it was inserted for. So no plane of 4 bytes a pixel has to be carved along: those
 * of all phases that grow are at most 3/4 byte a pixel of the last one's image, since each makes a
 * side half as long again.
 */
#ifndef BURIN_CARVE_ORIGIN_MAP_CUH
#define BURIN_CARVE_ORIGIN_MAP_CUH

#include "cuda/ops/carve/seam_mask.cuh"

/* A side grows from 1 to 65535 in 28 phases; all that shrinks does so in one. */
enum { PHASES_MAX = 57 };

struct origin_phase {
    struct seam_mask mask; /* of the image before it */
    bool grows;
};

struct origin_map {
    struct origin_phase phases[PHASES_MAX];
    int count; /* that lie behind */
};

/* Where the first of a word's pixels that is left stands after the phase. */
DEVICE uint32_t word_stands(const struct origin_phase &phase, size_t at, uint32_t word) {
    const uint32_t before = phase.mask.ranks[at + word];
    return phase.grows ? 32 * word + before : 32 * word - before;
}

/* The last word that stands at PLACE or before it. AT: the line's first. */
DEVICE uint32_t word_at(const struct origin_phase &phase, size_t at, uint32_t place) {
    uint32_t first = 0;
    for (uint32_t count = phase.mask.words; count > 1;) {
        const uint32_t half = count / 2;
        const bool before = word_stands(phase, at, first + half) <= place;
        first += before ? half : 0;
        count = before ? count - half : half;
    }
    return first;
}

/* The bit of a word that stands at PLACE in it, or is the seam's of what does, when each bit that
 * is set has a new one behind it. */
DEVICE uint32_t grown_bit(uint32_t word, uint32_t place) {
    uint32_t n = 0;
#pragma unroll
    for (uint32_t half = 16; half; half /= 2) {
        const uint32_t next = n + half;
        if (next + (uint32_t)__popc(word & ((1u << next) - 1)) <= place) n = next;
    }
    return n;
}

/* X, Y: after the phase; then where that pixel was before it. Bits of a search that was broken off
 * may lead anywhere within the image. */
DEVICE void step_back(const struct origin_phase &phase, uint32_t &x, uint32_t &y) {
    const struct seam_mask &mask = phase.mask;
    const uint32_t after = place_of(mask, x, y);
    const size_t at = (size_t)line_of(mask, x, y) * mask.words;
    const uint32_t word = word_at(phase, at, after), bits = mask.bits[at + word];
    const uint32_t rest = after - word_stands(phase, at, word);
    const uint32_t bit = phase.grows ? grown_bit(bits, rest) : nth_bit(~bits, rest);
    (mask.turned ? y : x) = min(32 * word + bit, mask.length - 1);
}

/* The same through all phases, from the present image to the first. */
DEVICE void find_origin(const struct origin_map &origin_map, uint32_t &x, uint32_t &y) {
    for (int i = origin_map.count - 1; i >= 0; i--) step_back(origin_map.phases[i], x, y);
}

#endif
