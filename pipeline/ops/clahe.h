// SPDX-License-Identifier: Apache-2.0
/* clahe.h - the arithmetic of contrast-limited adaptive histogram equalization that both devices
 * share.
 *
 * The image is cut into tiles; each has a table of new levels, made of its own histogram, which is
 * clipped before: no level may be more frequent than `limit`. A sample is looked up in the tables
 * of the four tiles whose middles are around it, and what they say is mixed by distance.
 *
 * Single floats, each operation rounded, in this order and no other: plus, minus, times and divide
 * are the same on both devices, so they agree in every bit. M is the largest sample, there are
 * M + 1 bins.
 *
 * Used by:  clahe, on both devices.
 * Source:   Zuiderveld, Contrast Limited Adaptive Histogram Equalization, Graphics Gems IV (1994);
 *           in OpenCV's variant and bytes (createCLAHE, 4.6).
 */
#ifndef BURIN_OPS_CLAHE_H
#define BURIN_OPS_CLAHE_H

#include "pipeline/host_device.h"

#include <stdint.h>

/* Places in the parameter list. */
enum { CLAHE_TILES, CLAHE_CLIP, CLAHE_CHANNEL };
enum { CLAHE_VALUE, CLAHE_LUMA, CLAHE_EACH };
enum { CLAHE_TILES_MAX = 64, CLAHE_CELLS_MAX = CLAHE_TILES_MAX + 1 };

/* How one side is cut. A cell is what lies between the middles of two neighbouring tiles; the first
 * and the last reach to the borders and have one tile on both sides. Tiles and cells are counted
 * as far as samples look at them: what is left out lies in the padding altogether. */
struct clahe_side {
    uint32_t length; /* samples of the image */
    uint32_t tile;   /* samples of a tile; beyond the image they are reflected */
    float inverse;   /* 1 / tile */
    uint32_t of;     /* tiles of a whole side */
    uint32_t tiles;  /* those that are looked at */
    uint32_t cells;
};

struct clahe_grid {
    struct clahe_side x, y;
    uint32_t limit; /* of a bin's count; 0: none */
    float scale;    /* from pixels of a tile to levels */
};

/* Where a sample lies: in which cell, and how much of the second tile it takes. */
struct clahe_place {
    uint32_t cell;
    float second;
};

HOST_DEVICE struct clahe_place clahe_place_of(uint32_t at, float inverse) {
    const float position = (float)at * inverse - 0.5f;
    struct clahe_place place;
    place.cell = position < 0 ? 0 : (uint32_t)position + 1;
    place.second = position - ((float)place.cell - 1);
    return place;
}

/* The tiles before and behind a cell. */
HOST_DEVICE uint32_t clahe_first_tile(uint32_t cell) {
    return cell > 0 ? cell - 1 : 0;
}

HOST_DEVICE uint32_t clahe_second_tile(uint32_t cell, uint32_t of) {
    return cell < of ? cell : of - 1;
}

/* The first sample of CELL or of one behind it; the side's length where there is none. A cell
 * begins in a tile's middle, which rounding moves by much less than a sample. */
HOST_DEVICE uint32_t clahe_cell_start(const struct clahe_side *side, uint32_t cell) {
    if (cell == 0) return 0;
    const uint32_t middle = (2 * cell - 1) * side->tile / 2;
    uint32_t at = middle ? middle - 1 : 0;
    while (at < side->length && clahe_place_of(at, side->inverse).cell < cell) at++;
    return at < side->length ? at : side->length;
}

HOST_DEVICE struct clahe_side clahe_side_of(uint32_t length, uint32_t tiles, uint32_t tile) {
    struct clahe_side side;
    side.length = length;
    side.tile = tile;
    side.inverse = 1.0f / (float)tile;
    side.of = tiles;
    side.cells = clahe_place_of(length - 1, side.inverse).cell + 1;
    side.tiles = side.cells < tiles ? side.cells : tiles;
    return side;
}

/* Samples of a tile. A side that is not divisible pads the other one too. */
HOST_DEVICE uint32_t clahe_tile_side(uint32_t length, uint32_t other, uint32_t tiles) {
    return length / tiles + (length % tiles || other % tiles);
}

/* CLIP is in thousandths: how many times the mean of the bins one may have. */
HOST_DEVICE uint32_t clahe_limit(uint32_t clip, uint32_t area, uint32_t max) {
    const double limit = clip / 1000.0 * area / (max + 1.0);
    return clip == 0 ? 0 : limit < 1 ? 1 : (uint32_t)limit;
}

HOST_DEVICE struct clahe_grid clahe_grid_of(uint32_t width, uint32_t height, uint32_t tiles,
                                            uint32_t clip, uint32_t max) {
    struct clahe_grid grid;
    grid.x = clahe_side_of(width, tiles, clahe_tile_side(width, height, tiles));
    grid.y = clahe_side_of(height, tiles, clahe_tile_side(height, width, tiles));
    const uint32_t area = grid.x.tile * grid.y.tile;
    grid.limit = clahe_limit(clip, area, max);
    grid.scale = (float)max / (float)area;
    return grid;
}

/* What is taken from bins over the limit is given to all alike, EACH; of the rest, REST bins get
 * one more, STEP apart from the first on. */
struct clahe_share {
    uint32_t each, rest, step;
};

HOST_DEVICE struct clahe_share clahe_share_of(uint32_t excess, uint32_t bins) {
    struct clahe_share share;
    share.each = excess / bins;
    share.rest = excess % bins;
    share.step = share.rest ? bins / share.rest : 1;
    return share;
}

/* Given to the bins 0..BIN together. */
HOST_DEVICE uint32_t clahe_shared_upto(struct clahe_share share, uint32_t bin) {
    const uint32_t more = bin / share.step + 1;
    return share.each * (bin + 1) + (more < share.rest ? more : share.rest);
}

/* To the nearest integer, halves to the even one, and M at the most. VALUE is 0..2^22: there the
 * sum has no bits below 1. */
HOST_DEVICE int32_t clahe_round(float value, int32_t max) {
    const int32_t rounded = (int32_t)((value + 8388608.0f) - 8388608.0f);
    return rounded < max ? rounded : max;
}

/* New level of a bin; SUM are the tile's pixels up to it. */
HOST_DEVICE int32_t clahe_level(uint32_t sum, float scale, int32_t max) {
    return clahe_round((float)sum * scale, max);
}

/* Between four levels; RIGHT and LOWER are weights of the second tiles. */
HOST_DEVICE int32_t clahe_mix(int32_t upper_left, int32_t upper_right, int32_t lower_left,
                              int32_t lower_right, float right, float lower, int32_t max) {
    const float left = 1.0f - right, upper = 1.0f - lower;
    const float above = (float)upper_left * left + (float)upper_right * right;
    const float below = (float)lower_left * left + (float)lower_right * right;
    return clahe_round(above * upper + below * lower, max);
}

/* round(c V' / V) of 8 bits, half up, clamped; V' where V is 0. RECIPROCAL is 1 / V: a quotient of
 * integers plus half of 1 / V is at least that far from the next integer, and what floats lose of
 * it is less than a fortieth of 1 / V. */
HOST_DEVICE int32_t clahe_scaled8(int32_t sample, int32_t value, int32_t level, float reciprocal) {
    const float whole = (float)(sample * level + value / 2) + 0.5f;
    const int32_t scaled = value ? (int32_t)(whole * reciprocal) : level;
    return scaled < 255 ? scaled : 255;
}

#endif
