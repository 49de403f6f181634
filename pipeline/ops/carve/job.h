// SPDX-License-Identifier: Apache-2.0
/* job.h - one call of carving, phase by phase (carve.h tells what a phase is).
 *
 * The picture goes from `in` straight into `out` and grows there; show=seams, which draws on a copy
 * of `in`, keeps it in scratch. Of each phase remain the pixels, the marks of masks and, for
 * show=seams, the ids of pixels; everything else is laid out anew in the same memory.
 */
#ifndef BURIN_CARVE_JOB_H
#define BURIN_CARVE_JOB_H

#include "pipeline/op.h"
#include "pipeline/ops/carve/seam.h"

struct carve_job {
    const struct op_call *call;
    uint32_t goal_width, goal_height;
    bool drawn; /* show=seams */

    struct image now;                          /* the picture that the present phase begins with */
    struct image marks, ids;                   /* of `now`; no pixels: call->aux, positions */
    struct image later_marks, later_ids, work; /* memory for later phases, or no pixels */

    struct carve_plane upright, turned; /* of the present phase */
    uint16_t *seams, *origins;
    struct carve_arena arena;
    size_t kept; /* of the arena: what outlives a phase */

    uint32_t done, total; /* seams */
    int64_t ns[CARVE_TIMES];
};

/* A job for CALL; with MEMORY NULL nothing can be run, only carve_job_bytes asked. */
void carve_job_begin(struct carve_job *job, const struct op_call *call, uint32_t goal_width,
                     uint32_t goal_height, void *memory);

/* Scratch bytes of all that is to come. */
size_t carve_job_bytes(struct carve_job *job);

/* From the first phase to the last. For show=seams `out` holds the picture already. */
enum status carve_job_run(struct carve_job *job);

/* The picture's energies, gray, into `out`, instead of all that. */
size_t carve_draw_energy_bytes(struct carve_job *job);
enum status carve_draw_energy(struct carve_job *job);

#endif
