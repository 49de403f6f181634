// SPDX-License-Identifier: Apache-2.0
/* resample.h - scales an image by weights: along its rows first, then along its columns.
 *
 * Samples between the two passes have the image's depth, rounded and clamped, and all channels are
 * treated alike; with `alpha` rows/resample_alpha.h says what is between and how it ends. Only the
 * source pixels that the wanted target pixels need are read. An axis that keeps its size is copied,
 * also if both do.
 *
 * A row may be prepared after it is read and finished before it is written, to make light linear;
 * `depth` is then the depth in between, which may differ from the images'.
 *
 * Used by:  operators that scale.
 * Owns:     nothing; the scratch, of resample_bytes bytes, is the caller's.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE from progress_check.
 * Threads:  a job belongs to one thread, which shares it through `pool`; several call prepare and
 *           finish at once.
 */
#ifndef BURIN_RESAMPLE_H
#define BURIN_RESAMPLE_H

#include "pipeline/image.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"
#include "pipeline/rows/resample_weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Converts PIXELS pixels of one row; FROM and TO do not overlap. */
typedef void resample_row(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels);

struct resample {
    struct image in;
    struct image
        out; /* x.count by y.count, not overlapping `in`; the channels of `in` unless `finish`
                changes them */
    struct resample_axis x, y; /* `from` is the side of `in` */
    unsigned depth;            /* 8 or 16, between reading and writing */
    resample_row *prepare;     /* samples of `in` to samples of `depth`; NULL: unchanged */
    bool alpha;                /* the last of 2 or 4 channels weighs the others */
    resample_row *finish;      /* samples of `depth` to samples of `out`; NULL: unchanged */
    const void *argument;      /* of prepare and finish */
    struct pool *pool;         /* NULL: the caller's thread alone */
    struct progress *progress; /* may be NULL */
    void *scratch;             /* 64-byte aligned, not cleared */
};

/* Returns the scratch bytes of JOB, from its shapes, axes, depth and `alpha`: the most of any way
 * and strip. */
size_t resample_bytes(const struct resample *job);

enum status resample_run(const struct resample *job);

#ifdef __cplusplus
}
#endif
#endif
