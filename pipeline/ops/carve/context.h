// SPDX-License-Identifier: Apache-2.0
/* context.h - one call of carving, phase by phase (definition.h tells what a phase is).
 *
 * The picture goes from `in` straight into `out` and grows there; show=seams, which draws on a copy
 * of `in`, keeps it in scratch. Of each phase remain the pixels, the marks of masks and, for
 * show=seams, the ids of pixels; everything else is laid out anew in the same memory.
 *
 * Used by:  ops/carve.c begins it; picture.c works on it too.
 * Owns:     nothing; all memory is the operator's scratch.
 */
#ifndef BURIN_CARVE_CONTEXT_H
#define BURIN_CARVE_CONTEXT_H

#include "pipeline/op.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/ops/carve/seam_search.h"

struct carve_context {
    const struct op_call *call;
    uint32_t goal_width, goal_height;
    bool drawn;  /* show=seams */
    bool mapped; /* show=map */

    struct image now;                          /* the picture that the present phase begins with */
    struct image marks, ids;                   /* of `now`; no pixels: call->aux, positions */
    struct image later_marks, later_ids, work; /* memory for later phases, or no pixels */

    struct energy_map upright, turned; /* of the present phase */
    uint16_t *seams, *origins;
    struct arena arena;
    size_t kept; /* of the arena: what outlives a phase */

    uint32_t done, total; /* seams */
    int64_t ns[CARVE_TIMES];
};

/* A context for CALL; with MEMORY NULL nothing can be run, only carve_context_bytes asked. */
void carve_context_begin(struct carve_context *context, const struct op_call *call,
                         uint32_t goal_width, uint32_t goal_height, void *memory);

/* Scratch bytes of all that is to come. */
size_t carve_context_bytes(struct carve_context *context);

/* Lays out memory for PHASE, which begins with WIDTH x HEIGHT. */
void carve_context_lay(struct carve_context *context, const struct carve_phase *phase,
                       uint32_t width, uint32_t height);

/* An energy map with nothing laid out yet. */
struct energy_map carve_context_map(const struct carve_context *context, bool turned);

typedef void carve_rows_work(const struct carve_context *context, const struct energy_map *map,
                             uint32_t first, uint32_t end);

/* WORK on rows 0 to COUNT - 1 of whatever it is that it works on, by all threads. */
enum status carve_rows(const struct carve_context *context, const struct energy_map *map,
                       uint32_t count, carve_rows_work *work);

/* The masks' value of pixel (X, Y) of the present picture: bits, as energies carry them
 * ENERGY_KEEP times. */
unsigned carve_mark_at(const struct carve_context *context, uint32_t x, uint32_t y);

/* Fills MAP from the present picture; STATUS_CANCELLED, STATUS_DEADLINE. */
enum status carve_fill_map(const struct carve_context *context, struct energy_map *map);

/* Does PHASE take seams of both directions? */
static inline bool carve_phase_is_both(const struct carve_phase *phase) {
    return phase->columns && phase->rows;
}

/* What WIDTH x HEIGHT is after PHASE. */
static inline void carve_phase_advance(const struct carve_phase *phase, uint32_t *width,
                                       uint32_t *height) {
    *width = phase->grow ? *width + phase->columns : *width - phase->columns;
    *height = phase->grow ? *height + phase->rows : *height - phase->rows;
}

#endif
