// SPDX-License-Identifier: Apache-2.0
/* seam_mask.cuh - the pixels of an image that the seams of one phase go through.
 *
 * Used by:  carve.cu and abreast.cuh build it; carve.cu and apply.cuh read it; carve_context.cuh
 *           keeps all phases'.
 * Fails:    as check.cuh says.
 * Limits:   PHASES_MAX phases.
 *
 * How it works: a line is a row for vertical seams, a column for horizontal ones; each seam has one
 * pixel of every line. A search names a pixel by its place at the time it was removed. Here seams
 * become one bit a pixel, and every word of bits has the number of bits before it (a rank).
 * Followed back through the masks of all phases, a place leads to the input; a new pixel's place
 * leads to that of the seam for which it was inserted. So no plane of 4 bytes a pixel has to be
 * carved along: the masks of all growing phases are at most 3/4 byte for a pixel of the last image,
 * since each phase makes a side half as long again.
 */
#ifndef BURIN_CARVE_SEAM_MASK_CUH
#define BURIN_CARVE_SEAM_MASK_CUH

#include "cuda/ops/carve/launch_kernel.cuh"
#include "pipeline/image.h"

struct seam_mask {
    uint32_t *bits;  /* [line][word] */
    uint16_t *ranks; /* [line][word]: bits before the word */
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
    uint32_t before; /* the number through pixels before this one */
};

DEVICE struct crossing crossing_at(const struct seam_mask &mask, uint32_t line, uint32_t place) {
    const size_t at = (size_t)line * mask.words + place / 32;
    const uint32_t word = mask.bits[at], bit = 1u << place % 32;
    return { (word & bit) != 0, mask.ranks[at] + (uint32_t)__popc(word & (bit - 1)) };
}

/* Place of bit N, 0 for the first, among the set bits of WORD, which has more than N. */
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
    struct image map; /* 16-bit gray, cleared: gets the seams' numbers; width 0: none */
};

/* A lane's words of a line: first..end-1. */
struct word_share {
    uint32_t first, end;
};

DEVICE uint32_t left_in(const struct seam_mask &mask, uint32_t i, uint32_t bits) {
    const uint32_t rest = mask.length - 32 * i;
    return ~bits & (rest < 32 ? (1u << rest) - 1 : ~0u);
}

/* Marks the pixel and returns its place; the line's length if there are no N more. */
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

DEVICE void store_number(const struct mask_args &args, uint32_t line, uint32_t place,
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

/* Marks seam after seam: the pixel is with the first lane that reaches its number. Seams of a
 * stopped search may name pixels that do not exist. */
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
            store_number(args, line, mark_nth(args.mask, bits, share, place - (up_to - own)),
                         s + 1);
            own--;
        }
        if (lane >= holder) up_to--;
    }
}

enum { MASK_WARPS = 4 };

/* A warp a line. */
DEVICE void make_mask(const struct mask_args &args) {
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

static inline dim3 mask_blocks(const struct mask_args &args) {
    return dim3((args.mask.count + MASK_WARPS - 1) / MASK_WARPS);
}

static inline enum status make_masks(const struct launch_queue &queue, const struct mask_args *args,
                                     int count) {
    return launch_items(items_kernel<struct mask_args, make_mask>, mask_blocks,
                        dim3(32 * MASK_WARPS), queue, args, count);
}

/* ---- a pixel's place in the image that all phases began with */

/* A side grows from 1 to 65535 in 28 phases; one phase does all shrinking. */
enum { PHASES_MAX = 57 };

struct origin_phase {
    struct seam_mask mask; /* of the image before the phase */
    bool grows;
};

struct origin_map {
    struct origin_phase phases[PHASES_MAX];
    int count; /* finished phases */
};

/* The place after the phase of a word's first remaining pixel. */
DEVICE uint32_t word_stands(const struct origin_phase &phase, size_t at, uint32_t word) {
    const uint32_t before = phase.mask.ranks[at + word];
    return phase.grows ? 32 * word + before : 32 * word - before;
}

/* The bit that has PLACE in the word, when each set bit has a new pixel behind it; for a new pixel
 * its seam's bit. */
DEVICE uint32_t grown_bit(uint32_t word, uint32_t place) {
    uint32_t n = 0;
#pragma unroll
    for (uint32_t half = 16; half; half /= 2) {
        const uint32_t next = n + half;
        if (next + (uint32_t)__popc(word & ((1u << next) - 1)) <= place) n = next;
    }
    return n;
}

/* X, Y: after the phase; becomes the place before it. Bits of a stopped search may lead anywhere
 * within the image. */
DEVICE void step_back(const struct origin_phase &phase, uint32_t &x, uint32_t &y) {
    const struct seam_mask &mask = phase.mask;
    const uint32_t after = place_of(mask, x, y);
    const size_t at = (size_t)line_of(mask, x, y) * mask.words;
    uint32_t word = 0; /* the last one that begins at the place or before it */
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
