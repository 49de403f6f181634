// SPDX-License-Identifier: Apache-2.0
/* animation.h - runs a plan over all frames of an animation, and writes an animation of the
 * results.
 *
 * A frame is the whole canvas as it is shown, and the plan works on each alone: an operator whose
 * result depends on the whole picture, such as histeq, looks at one frame. Delays and the number of
 * plays stay. Frames go through the plan in groups, in the order of the file. What is cut off where
 * a step's shape depends on the pixels (op.finder) is the same of all frames: the file is decoded
 * once more before, for each such step.
 *
 * Used by:  the worker and `burin run`, for files of which probe_frames() has counted the frames.
 * Owns:     nothing; the lane is reserved anew for each group.
 * Fails:    as codec_decode, run_reserve, run_batch and codec_encode do.
 * Threads:  the lane's, which spreads the encoding of a group over a pool.
 * Limits:   the frames that the probe has counted; `group_bytes` of pixels, in or out, a group.
 */
#ifndef BURIN_ANIMATION_H
#define BURIN_ANIMATION_H

#include "pipeline/codec.h"
#include "pipeline/pool.h"
#include "pipeline/run.h"

struct animation {
    const uint8_t *file;
    size_t length;
    const struct probe *probe;
    const struct codec_limits *limits;
    const struct plan *plan;             /* of steps that take no further image */
    const struct encode_options *encode; /* of each frame; its format has `begin_animation` */
    struct pool *pool;                   /* NULL: groups of one frame, in the lane's thread */
    size_t group_bytes;
    uint8_t *bytes; /* room for the result */
    size_t capacity;
    struct progress *progress; /* may be NULL */
    struct timing *timing;     /* gets decode to encode of all frames */
    /* ---- set by animation_run */
    size_t result_length;
    struct image result;             /* shape alone, of each frame */
    struct cut cuts[PLAN_STEPS_MAX]; /* of each step */
    uint32_t notes;
    char warning[WARNING_MAX]; /* with NOTE_DAMAGED */
};

enum status animation_run(struct lane *lane, struct animation *animation, struct failure *failure);

#endif
