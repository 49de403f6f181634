// SPDX-License-Identifier: Apache-2.0
/* clahe.h - the arithmetic of contrast-limited adaptive histogram equalization that both devices
 * share.
 *
 * The image is cut into tiles. Each tile has a table of new levels, made from its own histogram
 * after clipping: no bin may count more than `limit`. A sample is looked up in the tables of the
 * four tiles whose middles surround it, and the four levels are mixed by distance.
 *
 * Pixels with alpha 0 are not counted, and the limit and the scale are those of as many pixels as
 * are left. A tile without any counts as one of the background's colour.
 *
 * All numbers are single floats, and every operation is rounded, in exactly this order: plus,
 * minus, times and divide are the same on both devices, so results agree in every bit. M is the
 * largest sample; there are M + 1 bins.
 *
 * Used by:  clahe, on both devices.
 * Source:   Zuiderveld, Contrast Limited Adaptive Histogram Equalization, Graphics Gems IV (1994);
 *           in OpenCV's variant and bytes (createCLAHE, 4.6).
 */
#ifndef BURIN_OPS_CLAHE_H
#define BURIN_OPS_CLAHE_H

#include "pipeline/background.h"

#include <stdint.h>

/* Places in the parameter list. */
enum { CLAHE_TILES, CLAHE_CLIP, CLAHE_CHANNEL, CLAHE_BACKGROUND };
enum { CLAHE_VALUE, CLAHE_LUMA, CLAHE_EACH };
enum { CLAHE_TILES_MAX = 64, CLAHE_CELLS_MAX = CLAHE_TILES_MAX + 1 };

/* How one side is cut. A cell lies between the middles of two neighbouring tiles; the first and
 * last reach to the borders and use one tile twice. Only tiles and cells that samples use are
 * counted: the others lie wholly in the padding. */
struct clahe_side {
    uint32_t length; /* samples of the image */
    uint32_t tile;   /* samples of a tile; those beyond the image are reflected */
    float inverse;   /* 1 / tile */
    uint32_t of;     /* tiles of a whole side */
    uint32_t tiles;  /* tiles that are used */
    uint32_t cells;
};

struct clahe_grid {
    struct clahe_side x, y;
    uint32_t limit; /* largest count of a bin; 0: no limit */
    float scale;    /* from pixels of a tile to levels */
};

/* A sample's cell, and the weight of the cell's second tile. */
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

/* The first tile of a cell. */
HOST_DEVICE uint32_t clahe_first_tile(uint32_t cell) {
    return cell > 0 ? cell - 1 : 0;
}

HOST_DEVICE uint32_t clahe_second_tile(uint32_t cell, uint32_t of) {
    return cell < of ? cell : of - 1;
}

/* Returns the first sample of CELL or of a later cell; the side's length where there is none. A
 * cell begins in a tile's middle, which rounding shifts by much less than a sample. */
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

/* Returns the samples of a tile. A side that is not divisible pads the other side too. */
HOST_DEVICE uint32_t clahe_tile_side(uint32_t length, uint32_t other, uint32_t tiles) {
    return length / tiles + (length % tiles || other % tiles);
}

/* CLIP is the limit in thousandths of the mean count of a bin. */
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

/* The limit and the scale of a tile of which only PIXELS can be seen. */
HOST_DEVICE struct clahe_grid clahe_grid_visible(struct clahe_grid grid, uint32_t pixels,
                                                 uint32_t clip, uint32_t max) {
    grid.limit = clahe_limit(clip, pixels, max);
    grid.scale = (float)max / (float)pixels;
    return grid;
}

/* The value to equalize of the background: as of a pixel, or its channel CHANNEL. */
HOST_DEVICE uint32_t clahe_background(const struct background *background, int mode,
                                      unsigned channel) {
    const uint32_t *c = background->sample, most = c[0] > c[1] ? c[0] : c[1];
    return mode == CLAHE_EACH   ? c[channel]
           : mode == CLAHE_LUMA ? luma(c[0], c[1], c[2])
                                : (most > c[2] ? most : c[2]);
}

/* How the excess over the limit is spread: EACH for every bin, and one more for REST bins, STEP
 * apart from bin 0 on. */
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

/* Returns the sum given to bins 0..BIN. */
HOST_DEVICE uint32_t clahe_shared_upto(struct clahe_share share, uint32_t bin) {
    const uint32_t more = bin / share.step + 1;
    return share.each * (bin + 1) + (more < share.rest ? more : share.rest);
}

/* Rounds to the nearest integer, halves to even, at most M. VALUE is 0..2^22, where the sum has no
 * bits below 1. */
HOST_DEVICE int32_t clahe_round(float value, int32_t max) {
    const int32_t rounded = (int32_t)((value + 8388608.0f) - 8388608.0f);
    return rounded < max ? rounded : max;
}

/* Returns the new level of a bin; SUM is the number of the tile's pixels up to that bin. */
HOST_DEVICE int32_t clahe_level(uint32_t sum, float scale, int32_t max) {
    return clahe_round((float)sum * scale, max);
}

/* Mixes four levels; RIGHT and LOWER are the weights of the second tiles. */
HOST_DEVICE int32_t clahe_mix(int32_t upper_left, int32_t upper_right, int32_t lower_left,
                              int32_t lower_right, float right, float lower, int32_t max) {
    const float left = 1.0f - right, upper = 1.0f - lower;
    const float above = (float)upper_left * left + (float)upper_right * right;
    const float below = (float)lower_left * left + (float)lower_right * right;
    return clahe_round(above * upper + below * lower, max);
}

/* Returns round(c V' / V) of 8 bits, half up, clamped; V' where V is 0. RECIPROCAL is 1 / V: a
 * quotient of integers plus half of 1 / V is at least that far from the next integer, and rounding
 * floats loses less than a fortieth of 1 / V. */
HOST_DEVICE int32_t clahe_scaled8(int32_t sample, int32_t value, int32_t level, float reciprocal) {
    const float whole = (float)(sample * level + value / 2) + 0.5f;
    const int32_t scaled = value ? (int32_t)(whole * reciprocal) : level;
    return scaled < 255 ? scaled : 255;
}

#endif
