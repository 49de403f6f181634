// SPDX-License-Identifier: Apache-2.0
/* resample_way.h - one way to do both passes of resample.h: plain C, AVX2 or AVX-512 VNNI.
 *
 * A few rows of the source at a time are resampled into a ring, from which rows of the result are
 * made. Along either axis a way reads pixels in cells of `cell` neighbours, counted from the first
 * pixel that the job needs: windows begin and end with cells, and have weight 0 where they had no
 * pixel. The ring holds cells of rows in the way's own layout.
 *
 * Used by:  resample.c, which drives; resample_plain.c, resample_avx2.c, resample_vnni.c, and the
 *           same with resample_alpha_ for pixels that are weighed by alpha.
 * Owns:     nothing.
 * Threads:  all threads of a job read its layout; workspace and ring belong to one.
 */
#ifndef BURIN_RESAMPLE_WAY_H
#define BURIN_RESAMPLE_WAY_H

#include "pipeline/rows/resample.h"

enum { RESAMPLE_ROWS_MAX = 16, RESAMPLE_CELL_MAX = 4 };

struct resample_side {
    struct resample_window
        *windows;     /* in cells, one window for each target; NULL: the axis is copied */
    int32_t *weights; /* of target i from i * pitch on */
    size_t pitch;     /* in int32_t */
};

struct resample_layout {
    const struct resample *job;
    const struct resample_way *way;
    struct resample_window columns, rows; /* needed pixels of `in` */
    struct resample_side x, y;
    size_t samples;         /* of a row between the passes */
    uint32_t ring_cells;    /* cells of rows in the ring */
    size_t ring_step;       /* bytes from one cell of rows to the next */
    size_t workspace_bytes; /* the way's own memory */
};

struct resample_way {
    uint32_t rows;       /* rows resampled at a time; a multiple of `cell` */
    uint32_t cell;       /* pixels */
    uint32_t cell_words; /* int32_t that the weights of a cell take */

    /* Encodes the weights of one cell from `cell` integers; NULL: unchanged. */
    void (*encode)(const int32_t *weights, int32_t *words);

    size_t (*ring_step)(const struct resample_layout *layout);
    size_t (*workspace)(const struct resample_layout *layout);

    /* FROM has the starts of the needed pixels of `rows` rows, in samples of the job's depth. RING
     * is the first of the rows / cell cells to be written. */
    void (*across)(const struct resample_layout *layout, const uint8_t *const from[],
                   uint8_t *workspace, uint8_t *ring);

    /* Makes row Y of the result from the ring at RING; FIRST is the window's first cell. For an
     * axis that is copied, ROW is the row in that cell. */
    void (*down)(const struct resample_layout *layout, const uint8_t *ring, uint32_t first,
                 uint32_t row, uint32_t y, uint8_t *out);
};

extern const struct resample_way resample_plain, resample_alpha_plain;
#ifdef __x86_64__
extern const struct resample_way resample_avx2, resample_vnni;
extern const struct resample_way resample_alpha_wide, resample_alpha_avx2,
    resample_alpha_vnni; /* of 8 bits */
#endif

#endif
