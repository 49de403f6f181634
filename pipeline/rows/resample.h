// SPDX-License-Identifier: Apache-2.0
/* resample.h - an image scaled by weights: along its rows first, then along its columns.
 *
 * Between the two lie samples of the image's own depth, rounded and clamped. Only what the wanted
 * target pixels need is read and worked on; an axis that keeps its size is copied, both together
 * too. All channels are treated alike.
 *
 * A row may be prepared as it is read and finished as it is written, for alpha that is multiplied
 * in or light that is made linear: then `depth` is the depth between, and may be another than
 * that of the images.
 *
 * Used by:  operators that scale.
 * Owns:     nothing; the scratch, resample_bytes of it, is the caller's.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE from progress_check.
 * Threads:  a job belongs to one, which shares it out by `pool`; prepare and finish are called by
 *           several at once.
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

/* PIXELS pixels of one row, FROM and TO apart. */
typedef void resample_row(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels);

struct resample {
    struct image in;
    struct image out; /* x.count by y.count; apart from `in`, and of as many channels unless
                                  `finish` makes others */
    struct resample_axis x, y; /* `from` is the side of `in` */
    unsigned depth;            /* 8 or 16, between reading and writing */
    resample_row *prepare;     /* samples of `in` to samples of `depth`; NULL: as they are */
    bool premultiply;          /* that is what `prepare` does (premultiply.h), to 2 or 4 channels
                                  of the same depth: what works on rows may do it in its stead */
    resample_row *finish;      /* samples of `depth` to samples of `out`; NULL: as they are */
    const void *argument;      /* of prepare and finish */
    struct pool *pool;         /* NULL: the caller's thread alone */
    struct progress *progress; /* may be NULL */
    void *scratch;             /* 64-byte aligned, not cleared */
};

/* Scratch bytes of JOB, of which shapes, axes and depth alone are looked at. */
size_t resample_bytes(const struct resample *job);

enum status resample_run(const struct resample *job);

#ifdef __cplusplus
}
#endif
#endif
