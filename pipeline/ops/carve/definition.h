// SPDX-License-Identifier: Apache-2.0
/* definition.h - seam carving: what both devices share, and what exactly is computed.
 *
 * Method: S. Avidan and A. Shamir, Seam Carving for Content-Aware Image Resizing, 2007. Its dynamic
 * programme is run here from both ends at once: T[y][x] is the least cost of a path from the first
 * row to (y, x), B[y][x] of one from the last row, both with the cost of (y, x) itself. A seam
 * crosses the middle row m = (H - 1) / 2 at the leftmost least T + B - cost; from there, row by row
 * outward, it takes of the up to three neighbours with the least T (upwards) or B (downwards) the
 * one of the smallest column. So neither half waits for the other, and the seam is always the same.
 *
 * Vertical seams are described; a horizontal one is a vertical one of the transposed image, with
 * the energy that the image itself has there.
 *
 * Costs: energy, or with masks a 64-bit key that puts kept pixels first, removed ones second.
 * Bounds: energy < 2^14, sides < 2^16, so the energy of a path < 2^30.
 *
 * What happens to the pixels:
 *   a side that shrinks   one seam a step. Where both shrink, the direction of the cheaper seam
 *                         goes, the vertical one on a tie, until one count is used up. Energy is
 *                         computed anew after each step.
 *   a side that grows     by k of at most max(1, half the present size) a step: the k first seams
 *                         that shrinking would take, all inserted at once, each new pixel right of
 *                         its seam's pixel, every sample (alpha too) the rounded mean of the left,
 *                         the seam's and the right pixel before the insertion, border replicated.
 *   masks                 move with the pixels; a new pixel has its seam pixel's.
 *   show=seams            the input as it is, with every pixel red that a seam of all of these
 *                         steps goes through, removed or doubled; new pixels do not show. RGB out,
 *                         alpha kept. For growth to at most twice as many pixels, or to 2^20 in
 *                         all.
 *   show=energy           the input's energy before the first step, gray: min(255, energy), times
 *                         257 for 16-bit images; alpha kept.
 *   show=map              the input's size in one 16-bit channel: the number of the seam that goes
 *                         through a pixel, 1 for the first; 0 where none does. Of one direction,
 *                         and as many seams as the side changes: where it grows, those that are
 *                         inserted at once, so at most max(1, half of it). Of k seams and of more
 *                         the first k are the same, so one map holds every size up to its own: the
 *                         pixels with 0 or a number above k, or all of them, those of 1 to k with a
 *                         new one behind.
 *
 * Scratch of the reference: at most 16 bytes a pixel of the input or, where that has more pixels,
 * of what is carved to (so for show=seams too, though its result is as large as the input). Rows
 * and columns have something of their own, up to 64 bytes for each of the input and of what is
 * carved to, and 16 KiB come on top: only where a side is under 160 pixels is that more than 16.
 *
 * Used by:  carve, on both devices.
 */
#ifndef BURIN_OPS_CARVE_DEFINITION_H
#define BURIN_OPS_CARVE_DEFINITION_H

#include "pipeline/image.h"
#include "pipeline/luma.h"

#include <stdbool.h>
#include <stdint.h>

/* Places in the parameter list. */
enum { CARVE_WIDTH, CARVE_HEIGHT, CARVE_DX, CARVE_DY, CARVE_ENERGY, CARVE_SHOW };
enum { CARVE_GRADIENT, CARVE_SOBEL3, CARVE_SOBEL5 };
enum { CARVE_SHOW_RESULT, CARVE_SHOW_SEAMS, CARVE_SHOW_ENERGY, CARVE_SHOW_MAP };
/* Places in the list of masks. */
enum { CARVE_KEEP, CARVE_REMOVE };

/* ---- energy: 16-bit, on 8-bit luma, border replicated */

/* Luma of a pixel whose samples are 0..M, as 8 bits. */
HOST_DEVICE uint8_t carve_luma(uint32_t red, uint32_t green, uint32_t blue, unsigned depth) {
    return (uint8_t)(luma(red, green, blue) >> (depth - 8));
}

HOST_DEVICE uint32_t carve_apart(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}

/* 46341 / 65536 is 1 / sqrt(2), the diagonal neighbour's distance being sqrt(2). */
HOST_DEVICE uint32_t carve_gradient(uint32_t here, uint32_t right, uint32_t below,
                                    uint32_t across) {
    return carve_apart(here, right) + carve_apart(here, below) +
           (46341 * carve_apart(here, across) >> 16);
}

/* Greatest energies: 690, 1140, 13072. */
enum { CARVE_ENERGY_MAX = 13072 };

/* Rows and columns around a pixel that its energy depends on. */
HOST_DEVICE int carve_reach(int energy) {
    return energy == CARVE_SOBEL5 ? 2 : 1;
}

/* ---- cost with masks */

/* A path's key: kept pixels it crosses, then pixels that are not to be removed, then energy; sums
 * do not overflow into each other, since a path has fewer than 2^16 pixels. */
HOST_DEVICE uint64_t carve_key(uint32_t energy, bool keep, bool remove) {
    return (uint64_t)keep << 48 | (uint64_t)!remove << 32 | energy;
}

/* Keys of whole seams of different length, made comparable: by the removed pixels crossed, not by
 * those left out. LENGTH is the seam's, less than 2^16. */
HOST_DEVICE uint64_t carve_rank(uint64_t key, uint32_t length) {
    return key + ((uint64_t)(0xffff - length) << 32);
}

/* ---- the way from one size to the other */

/* One stretch of work. Shrinking: seams to remove of each direction, weighed against each other
 * while both are left. Growing: seams to insert, of one direction. */
struct carve_phase {
    uint32_t columns, rows;
    bool grow;
};

/* How many seams at most are inserted at once where a side of SIDE pixels grows. */
HOST_DEVICE uint32_t carve_grow_most(uint32_t side) {
    return side / 2 > 1 ? side / 2 : 1;
}

/* The next phase on the way from WIDTH x HEIGHT; false where it is reached. */
HOST_DEVICE bool carve_next(uint32_t width, uint32_t height, uint32_t goal_width,
                            uint32_t goal_height, struct carve_phase *phase) {
    phase->columns = width > goal_width ? width - goal_width : 0;
    phase->rows = height > goal_height ? height - goal_height : 0;
    phase->grow = !phase->columns && !phase->rows;
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

#endif
