// SPDX-License-Identifier: Apache-2.0
/* definition.h - seam carving: the exact definition, and the arithmetic that both devices share.
 *
 * Method: S. Avidan and A. Shamir, Seam Carving for Content-Aware Image Resizing, 2007. Its dynamic
 * programme runs from both ends at once: T[y][x] is the least cost of a path from the first row to
 * (y, x), B[y][x] of one from the last row, both with the cost of (y, x) itself. A seam crosses the
 * middle row m = (H - 1) / 2 at the leftmost least T + B - cost. From there, row by row outward, it
 * goes to the neighbour (of up to three) with the least T (upwards) or B (downwards), the leftmost
 * of equal ones. So neither half waits for the other, and the seam is unique.
 *
 * This describes vertical seams; a horizontal one is a vertical one of the transposed image, with
 * the energies of the image itself, except by energy=forward.
 *
 * Pixels with alpha are laid over the background before their luma is taken.
 *
 * Costs: energy, or with masks a 64-bit key: first the kept pixels, then the removed ones.
 * Bounds:   energy < 2^14, sides < 2^16, so the energy of a path < 2^30.
 *
 * A search is weighed if its steps cost something, or its pixels something beside energy and marks:
 *   energy=forward  M. Rubinstein, A. Shamir and S. Avidan, Improved Seam Carving for Video
 *                   Retargeting, 2008: the edges that a removal makes. A pixel costs what comes
 *                   together left and right of it, |L(y,x+1) - L(y,x-1)|, in every row; a step
 *                   between (y-1,x-1) and (y,x) costs |L(y-1,x) - L(y,x-1)|, one between (y-1,x+1)
 *                   and (y,x) |L(y-1,x) - L(y,x+1)|. These are the paper's C_U, and C_L and C_R
 *                   without it; they are the same downwards and upwards, so that both ends still
 *                   meet. Horizontal seams have the energies of the transposed image, which are not
 *                   those of the image itself. show=energy has vertical seams' pixels.
 *   rigidity        is what a diagonal step costs more, with every energy. Straight steps are free.
 *   soft            the masks' levels weigh, in place of marks: with k and r, those of mask and
 *                   rmask, 0 where not given, w = floor((256 + k - r) / 2), and a pixel costs
 *                   16 * w more, as an energy. Where directions are compared 16 * 128 a pixel of
 *                   the path is taken off first, so that black masks change nothing. Nothing is
 *                   cleared. Without masks soft has no effect.
 * T and B then have the costs of steps too: the seam crosses m at the leftmost least sum of T and
 * the least B + step below it; outward it goes to the leftmost neighbour with the least T + step.
 * Bounds: a pixel costs at most 13072 + 16 * 255, a step 255 + 4095; a path < 65535 * 21502 < 2^31.
 *
 * What happens to the pixels:
 *   a side that shrinks   one seam a step. If both sides shrink, the cheaper of a vertical and a
 *                         horizontal seam goes, on a tie the vertical one, until one count is
 *                         used up. Energy is computed anew after each step.
 *   a side that grows     by k of at most max(1, half the present size) a step: the k first seams
 *                         that shrinking would take, all inserted at once, each new pixel right of
 *                         its seam's pixel, every sample (alpha too) the rounded mean of the left,
 *                         the seam's and the right pixel before the insertion, border replicated;
 *                         colours beside alpha weigh by it.
 *   masks                 move with the pixels; a new pixel has its seam pixel's.
 *   rmask                 is cleared first, unless both sides shrink: seams of one direction go, as
 *                         many as that side shrinks by, and then until the next one would cross no
 *                         marked pixel. The side that shrinks gives the direction. Where none
 *                         does, the greatest number of marked pixels decides, in a row for vertical
 *                         seams, in a column for horizontal ones: the smaller one, on a tie
 *                         vertical. Lines marked all along cannot be cleared: then the other
 *                         direction serves; a side that shrinks loses only the seams asked for.
 *                         The picture then grows to its goal, which is its own size where none was
 *                         asked for. show=map ignores this: its seams are those of shrinking.
 *   show=seams            the input with every pixel red that a seam of any of the steps crosses,
 *                         removed or doubled; new pixels do not show. RGB out, alpha kept. For
 *                         growth to at most twice as many pixels, or to 2^20 in all.
 *   show=energy           the input's energy before the first step, gray: min(255, energy), times
 *                         257 for 16-bit images; alpha kept.
 *   show=map              the input's size in one 16-bit channel: the number of the seam that
 *                         crosses the pixel, 1 for the first; 0 where none does. One direction,
 *                         and as many seams as the side changes: where it grows, those inserted at
 *                         once, so at most max(1, half of it). The first k seams never depend on
 *                         their total, so one map serves every size up to its own. Smaller by k:
 *                         the pixels with 0 or a number above k. Larger by k: all pixels, each
 *                         numbered 1 to k with a new one after it.
 *
 * Scratch of the reference: at most 16 bytes a pixel of the input or of the goal, whichever is
 * larger, or 17 with rmask (for show=seams too, though its result is as large as the input; there a
 * sample more where the input has alpha), plus up to 64 bytes for each row and column of both, plus
 * 16 KiB. The additions matter only if a side is under 160 pixels.
 *
 * Used by:  carve, on both devices.
 */
#ifndef BURIN_OPS_CARVE_DEFINITION_H
#define BURIN_OPS_CARVE_DEFINITION_H

/* Sides up to which a GPU does many images abreast, whatever the direction of the seams, and the
 * length of seams with masks. */
enum { CARVE_ABREAST_SIDE = 7680, CARVE_ABREAST_MASKED = 2400 };

#include "pipeline/background.h"
#include "pipeline/image.h"
#include "pipeline/op.h"

#include <stdbool.h>
#include <stdint.h>

/* Places in the parameter list. */
enum {
    CARVE_WIDTH,
    CARVE_HEIGHT,
    CARVE_DX,
    CARVE_DY,
    CARVE_ENERGY,
    CARVE_SHOW,
    CARVE_BACKGROUND,
    CARVE_RIGIDITY,
    CARVE_SOFT
};
enum { CARVE_GRADIENT, CARVE_SOBEL3, CARVE_SOBEL5, CARVE_FORWARD };
enum { CARVE_SHOW_RESULT, CARVE_SHOW_SEAMS, CARVE_SHOW_ENERGY, CARVE_SHOW_MAP };
/* Places in the list of masks, and the least level that marks a pixel. */
enum { CARVE_KEEP, CARVE_REMOVE };
enum { CARVE_MASK_LEVEL = 128 };

/* ---- energy: 16-bit, on 8-bit luma, border replicated */

/* Returns the 8-bit luma of a pixel of samples of DEPTH bits. */
HOST_DEVICE uint8_t carve_luma(uint32_t red, uint32_t green, uint32_t blue, unsigned depth) {
    return (uint8_t)(luma(red, green, blue) >> (depth - 8));
}

HOST_DEVICE uint32_t carve_apart(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}

/* 46341 / 65536 is 1 / sqrt(2): the diagonal neighbour's distance is sqrt(2). */
HOST_DEVICE uint32_t carve_gradient(uint32_t here, uint32_t right, uint32_t below,
                                    uint32_t across) {
    return carve_apart(here, right) + carve_apart(here, below) +
           (46341 * carve_apart(here, across) >> 16);
}

/* Greatest energies: 690, 1140, 13072, 255. */
enum { CARVE_ENERGY_MAX = 13072 };

/* Returns how many rows and columns around a pixel its energy depends on. */
HOST_DEVICE int carve_reach(int energy) {
    return energy == CARVE_SOBEL5 ? 2 : 1;
}

/* ---- cost with masks */

/* A path's key: the number of kept pixels it crosses, then of pixels that are not to be removed,
 * then energy. The sums do not carry into each other, since a path has fewer than 2^16 pixels. */
HOST_DEVICE uint64_t carve_key(uint32_t energy, bool keep, bool remove) {
    return (uint64_t)keep << 48 | (uint64_t)!remove << 32 | energy;
}

/* Makes keys of seams of different length comparable: they then count removed pixels that are
 * crossed, not others. LENGTH is the seam's, below 2^16. */
HOST_DEVICE uint64_t carve_rank(uint64_t key, uint32_t length) {
    return key + ((uint64_t)(0xffff - length) << 32);
}

/* Whether the seam of KEY, LENGTH pixels long, crosses any that are to be removed. */
HOST_DEVICE bool carve_removes(uint64_t key, uint32_t length) {
    return (key >> 32 & 0xffff) < length;
}

/* ---- weighed searches */

/* The energy that a weight of 1 counts; the greatest cost of a pixel and a step together; and the
 * room between the cost of no path and the end of its type, so that a step's cost can be added. */
enum {
    CARVE_WEIGHT = 16,
    CARVE_RIGIDITY_MAX = 4095,
    CARVE_WEIGHED_MAX = CARVE_ENERGY_MAX + CARVE_WEIGHT * 255 + CARVE_RIGIDITY_MAX + 255,
    CARVE_FENCE_ROOM = 0xffff
};

/* Returns the weight of masks of these levels, 0 to 255; 128 where both are black. */
HOST_DEVICE uint32_t carve_weight(uint32_t keep, uint32_t remove) {
    return (256 + keep - remove) / 2;
}

/* carve_rank() of costs with weights. */
HOST_DEVICE uint64_t carve_rank_soft(uint64_t cost, uint32_t length) {
    return cost + (uint64_t)(0xffff - length) * CARVE_WEIGHT * 128;
}

/* Whether weights replace marks. MASKED: a mask is given. */
static inline bool carve_is_soft(const struct params *values, bool masked) {
    return masked && values->number[CARVE_SOFT];
}

static inline bool carve_is_weighed(const struct params *values, bool masked) {
    return values->number[CARVE_ENERGY] == CARVE_FORWARD || values->number[CARVE_RIGIDITY] ||
           carve_is_soft(values, masked);
}

/* ---- from one size to another */

/* One phase. Shrinking: seams of each direction to remove, compared with each other while both
 * remain. Growing: seams to insert, of one direction. */
struct carve_phase {
    uint32_t columns, rows;
    bool grow;
    bool clears;    /* at first the count is the whole side, later the seams that were taken */
    uint32_t least; /* clears: seams to take even if they cross no marked pixel */
};

/* Returns the most seams that are inserted at once where a side of SIDE pixels grows. */
HOST_DEVICE uint32_t carve_grow_most(uint32_t side) {
    return side / 2 > 1 ? side / 2 : 1;
}

/* Returns the most seams of a step of growth to GOAL pixels from any size: half of two thirds. */
HOST_DEVICE uint32_t carve_grow_bound(uint32_t goal) {
    return goal / 3 > 1 ? goal / 3 : 1;
}

#define CARVE_NOT_CLEARED                                                                          \
    "rmask marks too much: without it nothing would be left of the picture; mark less, or ask "    \
    "for a smaller width and height"

/* Whether rmask is cleared on the way to the goal. */
HOST_DEVICE bool carve_may_clear(const struct image *in, uint32_t goal_width,
                                 uint32_t goal_height) {
    return goal_width >= in->width || goal_height >= in->height;
}

/* Sets the PHASE that clears; PHASE->clears is false where none does. MOST: the greatest numbers of
 * marked pixels in a row and in a column. Returns false if these can only be cleared by losing the
 * whole picture, and no side shrinks. */
HOST_DEVICE bool carve_clear(uint32_t width, uint32_t height, uint32_t goal_width,
                             uint32_t goal_height, const uint32_t most[2],
                             struct carve_phase *phase) {
    const bool narrower = goal_width < width, lower = goal_height < height;
    const bool down = !lower && most[0] < width, across = !narrower && most[1] < height;
    const bool vertical = down && (!across || most[0] <= most[1]);
    phase->clears = most[0] && (down || across);
    phase->grow = false;
    phase->columns = vertical ? width : 0;
    phase->rows = vertical ? 0 : height;
    phase->least = narrower ? width - goal_width : lower ? height - goal_height : 0;
    return phase->clears || !most[0] || narrower || lower;
}

/* Sets the next PHASE from WIDTH x HEIGHT to the goal; false once it is reached. */
HOST_DEVICE bool carve_next(uint32_t width, uint32_t height, uint32_t goal_width,
                            uint32_t goal_height, struct carve_phase *phase) {
    phase->columns = width > goal_width ? width - goal_width : 0;
    phase->rows = height > goal_height ? height - goal_height : 0;
    phase->grow = !phase->columns && !phase->rows;
    phase->clears = false;
    phase->least = 0;
    if (!phase->grow) return true;
    const bool wider = width < goal_width;
    const uint32_t side = wider ? width : height;
    const uint32_t missing = wider ? goal_width - width : goal_height - height;
    const uint32_t most = carve_grow_most(side);
    const uint32_t count = missing < most ? missing : most;
    *(wider ? &phase->columns : &phase->rows) = count;
    return missing > 0;
}

/* Rounded mean of three samples. */
HOST_DEVICE uint32_t carve_mean(uint32_t left, uint32_t seam, uint32_t right) {
    return (2 * (left + seam + right) + 3) / 6;
}

/* The same of a colour whose pixels have ALPHA; with equal alphas it is carve_mean(). */
HOST_DEVICE uint32_t carve_mean_weighed(const uint32_t colour[3], const uint32_t alpha[3]) {
    const uint32_t weight = alpha[0] + alpha[1] + alpha[2];
    uint64_t sum = weight / 2;
    for (int i = 0; i < 3; i++) sum += (uint64_t)colour[i] * alpha[i];
    return weight ? (uint32_t)(sum / weight) : carve_mean(colour[0], colour[1], colour[2]);
}

/* FAILURE may be NULL. */
static inline enum status carve_check_masks(const struct op_call *call, struct failure *failure) {
    for (int i = 0; i < OP_AUX_MAX; i++) {
        const struct image *mask = &call->aux[i];
        if (mask->width && (mask->width != call->in.width || mask->height != call->in.height))
            return fail(failure, STATUS_MISMATCH,
                        "the mask is %u x %u, the image %u x %u: they must have the same size",
                        mask->width, mask->height, call->in.width, call->in.height);
    }
    return STATUS_OK;
}

#endif
