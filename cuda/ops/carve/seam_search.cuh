// SPDX-License-Identifier: Apache-2.0
/* seam_search.cuh - the part of carving that costs time: the seams of one phase, on luma alone.
 *
 * Used by:  carve.cu makes one a phase; method.cuh and the three methods take the seams out.
 * Owns:     nothing: all memory is the device's and the caller's. What an arena hands out is never
 *           given back.
 * Limits:   an arena's pieces begin at multiples of 256 bytes.
 *
 * A search is one shrinking phase, or the search for the seams of one growing phase. Horizontal
 * seams alone are searched in the transposed image; only a search that weighs both directions has
 * `rows`. Everything is queued on the context's stream.
 */
#ifndef BURIN_CARVE_SEAM_SEARCH_CUH
#define BURIN_CARVE_SEAM_SEARCH_CUH

#include "cuda/cuda_op.h"
#include "pipeline/ops/carve/definition.h"

struct seam_search {
    uint32_t width, height;
    uint32_t columns, rows; /* seams to take out: vertical ones < width, horizontal ones < height */
    int energy;             /* CARVE_GRADIENT... */

    /* Planes may be read 16 bytes behind their end. What is in them afterwards is nobody's. */
    uint8_t *luma;        /* 8-bit */
    uint32_t luma_stride; /* bytes, a multiple of 16, at least width */
    uint8_t *marks;       /* NULL: no masks. Else bit 0 keep, bit 1 remove; luma's stride */

    /* Out. NULL where rows is 0. Else afterwards the number y * origin_stride + x that every pixel
     * of the smaller image had before. */
    uint32_t *origins;
    uint32_t origin_stride; /* elements */

    /* Out. rows is 0: seam s crosses row y, at the time it is taken out, in column
     * seams[s * height + y]. Not written for searches that weigh both directions. */
    uint16_t *seams;

    void *scratch; /* as many bytes as the method's own scratch function said */
    struct kernel_progress
        *progress; /* may be NULL: done counts seams; total is the caller's to set */
    uint32_t done; /* seams of the phases before */
};

/* Hands out pieces of one block of memory, one behind the other.
 * base: NULL while memory is only counted; pieces are NULL then. */
struct arena {
    uint8_t *base;
    size_t bytes; /* handed out so far */
};

template <class T> static inline T *arena_take(struct arena *arena, size_t count) {
    uint8_t *const at = arena->base ? arena->base + arena->bytes : NULL;
    arena->bytes += (count * sizeof(T) + 255) / 256 * 256;
    return (T *)at;
}

#endif
