// SPDX-License-Identifier: Apache-2.0
/* scale.h - scales a picture or a part of it: pixels weighed, moved by `nearest`, or copied.
 *
 * Used by:  ops/resize.c.
 * Owns:     nothing; the scratch, scale_bytes of it, is the caller's.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE from progress_check.
 * Threads:  a job belongs to one thread, which shares it through `pool`.
 */
#ifndef BURIN_OPS_RESIZE_SCALE_H
#define BURIN_OPS_RESIZE_SCALE_H

#include "pipeline/image.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"
#include "pipeline/rows/resample_weights.h"

struct scale {
    struct image in;
    struct image out;          /* x.count by y.count; at least the channels of `in` */
    struct resample_axis x, y; /* with `nearest` the kernel is ignored */
    bool nearest, linear;
    struct pool *pool;         /* NULL: the caller's thread alone */
    struct progress *progress; /* may be NULL */
    void *scratch;             /* 64-byte aligned, not cleared */
};

/* Returns the scratch bytes of JOB, from its shapes, axes and flags. */
size_t scale_bytes(const struct scale *job);

enum status scale_run(const struct scale *job);

#endif
