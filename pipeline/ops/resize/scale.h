// SPDX-License-Identifier: Apache-2.0
/* scale.h - a picture, or a part of it, in another size: weighed, moved by `nearest`, or copied.
 *
 * Used by:  ops/resize.c.
 * Owns:     nothing; the scratch, scale_bytes of it, is the caller's.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE from progress_check.
 * Threads:  a job belongs to one, which shares it out by `pool`.
 */
#ifndef BURIN_OPS_RESIZE_SCALE_H
#define BURIN_OPS_RESIZE_SCALE_H

#include "pipeline/image.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"
#include "pipeline/rows/resample_weights.h"

struct scale {
    struct image in;
    struct image out;          /* x.count by y.count, of as many channels as in or more */
    struct resample_axis x, y; /* with `nearest` the kernel is not looked at */
    bool nearest, linear;
    struct pool *pool;         /* NULL: the caller's thread alone */
    struct progress *progress; /* may be NULL */
    void *scratch;             /* 64-byte aligned, not cleared */
};

/* Scratch bytes of JOB, of which shapes and axes and how they are scaled are looked at. */
size_t scale_bytes(const struct scale *job);

enum status scale_run(const struct scale *job);

#endif
