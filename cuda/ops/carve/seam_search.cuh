// SPDX-License-Identifier: Apache-2.0
/* seam_search.cuh - the slow part of carving: the seams of one phase, on luma alone.
 *
 * Used by:  carve.cu makes one a phase; method.cuh and the methods remove its seams.
 * Owns:     nothing: all memory is the device's and the caller's. Pieces of an arena are never
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

static const uint32_t SEAMS_LEFT = 1u << 31;

struct seam_search {
    uint32_t width, height;
    /* Seams to remove: vertical ones, < width unless the picture grows or it `clears`;
     * horizontal ones, < height. */
    uint32_t columns, rows;
    int energy; /* CARVE_GRADIENT... */
    uint32_t rigidity;
    bool weighed, soft; /* as in definition.h */

    /* Planes must be readable 16 bytes past their end. Their content afterwards is undefined. */
    uint8_t *luma;        /* 8-bit */
    uint32_t luma_stride; /* bytes, a multiple of 16, at least width */
    uint8_t *marks;       /* NULL: no masks. Else bit 0 keep, bit 1 remove, or where `soft` the
                           * weight; luma's stride */
    int masks;            /* those bits that may be set */

    /* Out. NULL where rows is 0. Else the number y * origin_stride + x of every remaining pixel's
     * place before the search. */
    uint32_t *origins;
    uint32_t origin_stride; /* elements */

    /* Out, where rows is 0: seam s crosses row y, when it is removed, in column seams[s * height +
     * y]. Not written by searches in both directions. */
    uint16_t *seams;

    /* With masks and without rows: the search ends before a seam that crosses no pixel to be
     * removed, but not before LEAST seams. */
    bool clears;
    uint32_t least;
    /* NULL, or *TAKEN gets the number of seams; from any_gpu only where it CLEARS. Set with both
     * masks: then fast_one_axis may add SEAMS_LEFT, and leaves the others, and the planes as they
     * are then, to any_gpu. */
    uint32_t *taken;

    void *scratch;                    /* as many bytes as method_choose() says */
    struct kernel_progress *progress; /* may be NULL; done counts seams, the caller sets total */
    uint32_t done;                    /* seams of the phases before */
};

/* Hands out pieces of one block of memory, one after another. base: NULL where memory is only
 * counted; pieces are NULL then. */
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
