// SPDX-License-Identifier: Apache-2.0
/* seam_mask.cuh - which pixels of an image the seams of one phase go through.
 *
 * Used by:  carve.cu builds it; apply.cuh and show.cuh ask it; carve_context.cuh keeps all phases'.
 * Fails:    as check.cuh says.
 * Limits:   PHASES_MAX phases.
 *
 * How it works: a line is a row for vertical seams, a column for horizontal ones; each seam has one
 * pixel of every line. Seams are known by the place that their pixel had when it was taken out;
 * here they become one bit a pixel, and for every word of bits how many are set before it (a rank).
 * Followed back through the masks of all phases a place leads to the input; that of a new pixel
 * leads to the seam's that it was inserted for. So no plane of 4 bytes a pixel has to be carved
 * along: the masks of all phases that grow are at most 3/4 byte a pixel of the last one's image,
 * since each makes a side half as long again.
 */
#ifndef BURIN_CARVE_SEAM_MASK_CUH
#define BURIN_CARVE_SEAM_MASK_CUH

#include "cuda/ops/carve/launch_kernel.cuh"
#include "pipeline/image.h"

struct seam_mask {
    uint32_t *bits;  /* [line][word] */
    uint16_t *ranks; /* likewise */
    uint32_t words;  /* of a line */
    uint32_t count, length;
    bool turned; /* lines are columns */
};

DEVICE uint32_t line_of(const struct seam_mask &mask, uint32_t x, uint32_t y) {
    return mask.turned ? x : y;
}

DEVICE uint32_t place_of(const struct seam_mask &mask, uint32_t x, uint32_t y) {
    return mask.turned ? y : x;
}

struct crossing {
    bool seam;       /* goes through here */
    uint32_t before; /* so many go through pixels before */
};

DEVICE struct crossing crossing_at(const struct seam_mask &mask, uint32_t line, uint32_t place) {
    const size_t at = (size_t)line * mask.words + place / 32;
    const uint32_t word = mask.bits[at], bit = 1u << place % 32;
    return { (word & bit) != 0, mask.ranks[at] + (uint32_t)__popc(word & (bit - 1)) };
}

/* Place of the N-th set bit, 0 for the first, of a word that has more than N. */
DEVICE uint32_t nth_bit(uint32_t word, uint32_t n) {
    uint32_t place = 0;
#pragma unroll
    for (uint32_t half = 16; half; half /= 2) {
        const uint32_t low = (uint32_t)__popc(word & ((1u << half) - 1));
        if (n < low) continue;
        n -= low;
        word >>= half;
        place += half;
    }
    return place;
}

struct mask_args {
    struct seam_mask mask;
    const uint16_t *seams; /* [seam][line] */
    uint32_t seam_count;
    struct image map; /* 16-bit gray, cleared: told the seams' numbers; width 0: nothing is told */
};

/* A lane's words of a line: first..end-1. */
struct word_share {
    uint32_t first, end;
};

DEVICE uint32_t left_in(const struct seam_mask &mask, uint32_t i, uint32_t bits) {
    const uint32_t rest = mask.length - 32 * i;
    return ~bits & (rest < 32 ? (1u << rest) - 1 : ~0u);
}

/* Where it was; the line's length if there are no so many. */
DEVICE uint32_t mark_nth(const struct seam_mask &mask, uint32_t *bits, struct word_share share,
                         uint32_t n) {
    for (uint32_t i = share.first; i < share.end; i++) {
        const uint32_t left = left_in(mask, i, bits[i]), count = (uint32_t)__popc(left);
        if (n < count) {
            const uint32_t bit = nth_bit(left, n);
            bits[i] |= 1u << bit;
            return 32 * i + bit;
        }
        n -= count;
    }
    return mask.length;
}

DEVICE void tell_number(const struct mask_args &args, uint32_t line, uint32_t place,
                        uint32_t number) {
    if (!args.map.width || place >= args.mask.length) return;
    const uint32_t x = args.mask.turned ? line : place, y = args.mask.turned ? place : line;
    ((uint16_t *)(args.map.pixels + y * args.map.stride))[x] = (uint16_t)number;
}

DEVICE uint32_t sum_up_to(uint32_t value) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t before = __shfl_up_sync(~0u, value, step);
        if (threadIdx.x % 32 >= step) value += before;
    }
    return value;
}

/* Marks seam after seam: the lane that has the pixel is the first up to which more are left. Seams
 * of a search that was broken off may name pixels that are not there. */
DEVICE void mark_seams(const struct mask_args &args, uint32_t *bits, struct word_share share,
                       uint32_t line) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t own = 0, seams = 0;
    for (uint32_t i = share.first; i < share.end; i++)
        own += (uint32_t)__popc(left_in(args.mask, i, 0));
    uint32_t up_to = sum_up_to(own);
    for (uint32_t s = 0; s < args.seam_count; s++) {
        if (s % 32 == 0 && s + lane < args.seam_count)
            seams = args.seams[(size_t)(s + lane) * args.mask.count + line];
        const uint32_t place = __shfl_sync(~0u, seams, s % 32);
        const uint32_t beyond = __ballot_sync(~0u, up_to > place);
        if (beyond == 0) continue;
        const uint32_t holder = (uint32_t)__ffs((int)beyond) - 1;
        if (lane == holder) {
            tell_number(args, line, mark_nth(args.mask, bits, share, place - (up_to - own)), s + 1);
            own--;
        }
        if (lane >= holder) up_to--;
    }
}

enum { MASK_WARPS = 4 };

static __global__ void __launch_bounds__(32 * MASK_WARPS)
    mask_kernel(const __grid_constant__ struct mask_args args) {
    const uint32_t line = blockIdx.x * MASK_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (line >= args.mask.count) return;
    const uint32_t each = (args.mask.words + 31) / 32;
    const struct word_share share = { min(lane * each, args.mask.words),
                                      min((lane + 1) * each, args.mask.words) };
    uint32_t *const bits = args.mask.bits + (size_t)line * args.mask.words;
    uint16_t *const ranks = args.mask.ranks + (size_t)line * args.mask.words;
    for (uint32_t i = share.first; i < share.end; i++) bits[i] = 0;
    mark_seams(args, bits, share, line);
    uint32_t own = 0;
    for (uint32_t i = share.first; i < share.end; i++) own += (uint32_t)__popc(bits[i]);
    uint32_t rank = sum_up_to(own) - own;
    for (uint32_t i = share.first; i < share.end; i++) {
        ranks[i] = (uint16_t)rank;
        rank += (uint32_t)__popc(bits[i]);
    }
}

static inline enum status mask_build(const struct launch_queue &queue,
                                     const struct mask_args &args) {
    return launch(mask_kernel, dim3((args.mask.count + MASK_WARPS - 1) / MASK_WARPS),
                  dim3(32 * MASK_WARPS), queue, args);
}

/* ---- where a pixel stood in the image that all phases began with */

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

/* Where the first pixel of a word that is left stands after the phase. */
DEVICE uint32_t word_stands(const struct origin_phase &phase, size_t at, uint32_t word) {
    const uint32_t before = phase.mask.ranks[at + word];
    return phase.grows ? 32 * word + before : 32 * word - before;
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
    uint32_t word = 0; /* the last one that stands at the place or before it */
    for (uint32_t count = mask.words; count > 1;) {
        const uint32_t half = count / 2;
        const bool before = word_stands(phase, at, word + half) <= after;
        word += before ? half : 0;
        count = before ? count - half : half;
    }
    const uint32_t bits = mask.bits[at + word];
    const uint32_t rest = after - word_stands(phase, at, word);
    const uint32_t bit = phase.grows ? grown_bit(bits, rest) : nth_bit(~bits, rest);
    (mask.turned ? y : x) = min(32 * word + bit, mask.length - 1);
}

#endif
