// SPDX-License-Identifier: Apache-2.0
/* plane.h - what of an image takes part in the search for its seams: luma, energies, marks.
 *
 * A plane's seams are vertical ones; horizontal seams are those of a turned plane, whose rows are
 * the image's columns. Energies are the same turned or not, since each is symmetric in x and y.
 * Owns:   nothing; all memory is the operator's scratch.
 * Invariant: every row of luma repeats its border pixels ENERGY_MARGIN columns to both sides.
 */
#ifndef BURIN_CARVE_PLANE_H
#define BURIN_CARVE_PLANE_H

#include "pipeline/image.h"
#include "pipeline/ops/carve/energy.h"
#include "pipeline/ops/carve/sweep.h"

#include <stdbool.h>
#include <stdint.h>

/* Memory given out piece by piece; with BASE NULL it is only counted. */
struct carve_arena {
    uint8_t *base;
    size_t used;
};

/* BYTES aligned to 64, or NULL where memory is only counted. */
void *carve_take(struct carve_arena *arena, size_t bytes);

enum { UPPER, LOWER, HALVES };

/* Planes laid out for fewer columns are one thread's: what reads a row's last vector reads on into
 * the next row, which else another thread may be closing up. Two threads gain nothing there. */
enum { PLANE_NARROW = 224 };

struct carve_plane {
    uint32_t width, height; /* at present */
    int energy_kind;        /* CARVE_GRADIENT... */
    bool masked;            /* energies carry marks */
    bool turned;
    size_t stride;     /* elements from row to row of luma, energy and ids */
    uint8_t *luma;     /* column 0 of row 0 */
    uint16_t *energy;  /* NULL: made row by row when wanted */
    uint32_t *ids;     /* NULL, or a further plane that is carved along */
    uint64_t *parents; /* sweep_row's, `words` a row */
    size_t words;
    uint8_t *costs[HALVES][2]; /* column 0 of two rows a half */
    uint16_t *line[HALVES];    /* energies of one row, where there is no plane of them */

    enum lanes lanes;
    const void *last[HALVES]; /* costs of the rows next to the middle */
    struct meeting met;
    uint16_t *seam; /* its column in every row */
    bool open;      /* most rows of luma and all of energy still hold the seam's pixel */
};

/* A plane for WIDTH x HEIGHT pixels at most, of which luma and ids are to be filled. */
void plane_lay(struct carve_plane *plane, struct carve_arena *arena, uint32_t width,
               uint32_t height, bool with_ids);

/* And its energies, to be filled too, where they are kept: they carry the marks, which are wanted
 * when the seams have been found and all else that plane_lay took is free again, but for ids. */
void plane_lay_energy(struct carve_plane *plane, struct carve_arena *arena, uint32_t height);

/* The plane is to hold WIDTH x HEIGHT pixels from now on, no more than it was laid out for. */
void plane_begin(struct carve_plane *plane, uint32_t width, uint32_t height);

static inline bool plane_is_narrow(const struct carve_plane *plane) {
    return plane->stride < PLANE_NARROW + 2 * ENERGY_MARGIN;
}

static inline uint8_t *plane_luma(const struct carve_plane *plane, uint32_t y) {
    return plane->luma + (size_t)y * plane->stride;
}

static inline uint16_t *plane_energy(const struct carve_plane *plane, uint32_t y) {
    return plane->energy + (size_t)y * plane->stride;
}

static inline uint32_t *plane_ids(const struct carve_plane *plane, uint32_t y) {
    return plane->ids + (size_t)y * plane->stride;
}

/* Repeats the border pixels of a row of luma. */
static inline void plane_pad_left(uint8_t *row) {
    for (int i = 1; i <= ENERGY_MARGIN; i++) *(row - i) = row[0];
}

static inline void plane_pad_right(uint8_t *row, uint32_t width) {
    for (int i = 0; i < ENERGY_MARGIN; i++) row[width + (uint32_t)i] = row[width - 1];
}

/* Luma of image rows FIRST to END - 1, or columns where the plane is turned, and their padding. */
void plane_luma_band(const struct carve_plane *plane, const struct image *image, uint32_t first,
                     uint32_t end);

enum { PLANE_RUN = 128 };

/* Energies of COUNT columns, at most PLANE_RUN, from FIRST on in row Y, as luma has them now. */
void plane_run(const struct carve_plane *plane, uint32_t y, uint32_t first, uint32_t count,
               uint16_t energies[PLANE_RUN + ENERGY_SLACK]);

/* The plane's energies of columns FIRST to END - 1 of row Y := those; marks stay. */
void plane_energies(const struct carve_plane *plane, uint32_t y, uint32_t first, uint32_t end);

/* Energies of row Y, from the plane or into the half's line. */
const uint16_t *plane_row(const struct carve_plane *plane, uint32_t y, int half);

#endif
