// SPDX-License-Identifier: Apache-2.0
/* context.h - one call of carving, phase by phase (definition.h defines a phase).
 *
 * The picture goes from `in` straight into `out` and grows there. show=seams draws on a copy of
 * `in`, so it keeps the picture in scratch. Each phase leaves the pixels, the marks of masks and,
 * for show=seams, the pixels' ids; everything else is laid out anew in the same memory.
 *
 * Used by:  ops/carve.c begins it; picture.c works on it too.
 * Owns:     nothing; all memory is the operator's scratch.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE.
 * Threads:  the call's own; carve_rows shares rows among its pool.
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
    bool clears; /* the first phase may clear */
    bool plain;  /* no mask marks any pixel that is left */

    struct image now;        /* the picture with which the present phase begins */
    struct image marks, ids; /* of `now`; no pixels: use call->aux and positions */
    struct image later_marks, later_ids, work; /* memory for later phases, or no pixels */

    struct energy_map upright, turned; /* of the present phase */
    uint16_t *seams, *origins;
    struct arena arena;
    size_t kept; /* bytes of the arena that outlive a phase */

    uint32_t done, total; /* seams */
    int64_t ns[CARVE_TIMES];
};

/* Makes a context for CALL. With MEMORY NULL it can only answer carve_context_bytes. */
void carve_context_begin(struct carve_context *context, const struct op_call *call,
                         uint32_t goal_width, uint32_t goal_height, void *memory);

/* Returns the number of seams from WIDTH x HEIGHT to the goal. */
uint32_t carve_context_seams(const struct carve_context *context, uint32_t width, uint32_t height);

/* Returns the scratch bytes of all phases; CONTEXT is then used up. */
size_t carve_context_bytes(struct carve_context *context);

void carve_context_lay(struct carve_context *context, const struct carve_phase *phase,
                       uint32_t width, uint32_t height);

/* Returns an energy map without memory. */
struct energy_map carve_context_map(const struct carve_context *context, bool turned);

typedef void carve_rows_work(const struct carve_context *context, const struct energy_map *map,
                             uint32_t first, uint32_t end);

/* Runs WORK on rows 0 to COUNT - 1, shared among all threads. */
enum status carve_rows(const struct carve_context *context, const struct energy_map *map,
                       uint32_t count, carve_rows_work *work);

/* Returns the masks' bits of pixel (X, Y) of the present picture, or their weight; energies hold
 * them times energy_map_mark(). */
unsigned carve_mark_at(const struct carve_context *context, uint32_t x, uint32_t y);

enum status carve_fill_map(const struct carve_context *context, struct energy_map *map);

static inline bool carve_phase_is_both(const struct carve_phase *phase) {
    return phase->columns && phase->rows;
}

/* Sets WIDTH x HEIGHT to the size after PHASE. */
static inline void carve_phase_advance(const struct carve_phase *phase, uint32_t *width,
                                       uint32_t *height) {
    *width = phase->grow ? *width + phase->columns : *width - phase->columns;
    *height = phase->grow ? *height + phase->rows : *height - phase->rows;
}

#endif
