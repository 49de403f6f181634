// SPDX-License-Identifier: Apache-2.0
/* picture.cuh - one image on its way through resize.cu: its frame and its scratch.
 *
 * Used by:  group.cuh, for counting scratch and for running.
 * Owns:     nothing. Memory is the call's scratch, or NULL while it is only counted.
 *
 * How it works. pipeline/ops/resize/frame.h computes the picture's size and the part that is kept.
 * Mostly that part is made right in its place in the result. Where the picture must be seen whole
 * before it is cut, all of it is made in scratch, and with seams a second time.
 */
#ifndef BURIN_RESIZE_PICTURE_CUH
#define BURIN_RESIZE_PICTURE_CUH

#include "cuda/ops/resize/weigh.cuh"

extern "C" {
#include "pipeline/arena.h"
#include "pipeline/builtin_ops.h"
}
#include "pipeline/ops/resize/frame.h"

#include <stdio.h>
#include <string.h>

struct picture {
    const struct op_call *call;
    struct frame frame;
    bool moves;                  /* its pixels only change their place */
    struct weighing weigh;       /* `in`, `to` and the axes are set for moved pictures too */
    struct image scaled, carved; /* where it must be seen whole before it is cut */
    struct params carving;       /* of the call that carves it */
    uint32_t *sums;              /* with smart: see smart.cuh */
    uint64_t *weighed;
    struct device_table columns, rows; /* with nearest: sources */
};

static inline bool picture_has_seams(const struct picture *picture) {
    return picture->frame.x.seams || picture->frame.y.seams;
}

/* Smart looks along the side that is cut further. */
static inline bool picture_cuts_columns(const struct picture *picture) {
    const struct frame_side *const x = &picture->frame.x;
    return x->count < x->to - x->seams;
}

/* The picture to cut, scaled and carved. */
static inline struct image picture_whole(const struct picture *picture) {
    return picture_has_seams(picture) ? picture->carved : picture->scaled;
}

/* A picture that is seen whole at its original size is the input itself. */
static inline bool picture_is_moved(const struct picture *picture) {
    return picture->moves && !(picture->frame.whole && !frame_scales(&picture->frame));
}

/* Bytes of a sample between the passes. */
static inline unsigned picture_work_bytes(const struct op_call *call) {
    return call->in.depth == 16 || call->params->number[RESIZE_LINEAR] ? 2 : 1;
}

/* ---- carving */

/* NULL where this build has no carve. */
static inline const struct op *carve_op(void) {
    const struct op *found = NULL;
    for (int i = 0; i < builtin_op_count() && !found; i++)
        if (strcmp(builtin_op_at(i)->name, "carve") == 0) found = builtin_op_at(i);
    return found;
}

static inline void set_number(struct params *params, const char *name, uint32_t value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    params_set(params, carve_op()->params, "carve", name, text, NULL);
}

static inline struct op_call picture_carve_call(struct picture *picture) {
    struct op_call call = {};
    params_init(&picture->carving, carve_op()->params);
    set_number(&picture->carving, "width", picture->carved.width);
    set_number(&picture->carving, "height", picture->carved.height);
    call.op = carve_op();
    call.params = &picture->carving;
    call.in = picture->scaled;
    call.out = picture->carved;
    call.progress = picture->call->progress;
    call.failure = picture->call->failure;
    return call;
}

/* ---- memory */

static inline struct resample_axis axis_of(const struct picture *picture,
                                           const struct frame_side *side) {
    const long kernel = picture->call->params->number[RESIZE_KERNEL];
    struct resample_axis axis = {};
    axis.from = side->from;
    axis.to = side->to;
    axis.first = picture->frame.whole ? 0 : side->first;
    axis.count = picture->frame.whole ? side->to : side->count;
    axis.kernel = kernel == KERNEL_NEAREST ? RESAMPLE_BOX : (enum resample_kernel)kernel;
    return axis;
}

static inline struct image take_image(struct arena *arena, uint32_t width, uint32_t height,
                                      const struct image *like) {
    struct image image = image_shape(width, height, like->channels, like->depth);
    image.pixels = (uint8_t *)arena_take(arena, image_bytes(&image));
    return image;
}

/* The picture's place in the result. */
static inline struct image place_in(const struct op_call *call, const struct frame *frame) {
    struct image place = call->out;
    place.width = frame->x.count, place.height = frame->y.count;
    if (place.pixels)
        place.pixels =
            image_row(&call->out, frame->y.at) + frame->x.at * image_pixel_bytes(&call->out);
    return place;
}

/* Columns or rows that smart weighs; 0: it has no choice. */
static inline size_t picture_sums(const struct picture *picture) {
    const struct image whole = picture_whole(picture);
    if (!picture->frame.smart) return 0;
    return picture_cuts_columns(picture) ? whole.width : whole.height;
}

static inline void picture_take_sums(struct picture *picture, struct arena *arena) {
    const size_t n = picture_sums(picture);
    if (n) picture->sums = (uint32_t *)arena_take(arena, (n + 1) * sizeof *picture->sums);
}

static inline void picture_take_weighed(struct picture *picture, struct arena *arena) {
    const size_t n = picture_sums(picture);
    if (n) picture->weighed = (uint64_t *)arena_take(arena, (n + 1) * sizeof *picture->weighed);
}

/* Takes memory from ARENA. Failures are those of CALL. */
static inline enum status picture_make(struct picture *picture, const struct op_call *call,
                                       struct arena *arena, struct failure *failure) {
    const struct image *const in = &call->in;
    struct frame *const frame = &picture->frame;
    *picture = {};
    picture->call = call;
    const enum status status = frame_make(frame, call->params, in, failure);
    if (status) return status;
    picture->moves = call->params->number[RESIZE_KERNEL] == KERNEL_NEAREST || !frame_scales(frame);
    if (frame->whole)
        picture->scaled =
            frame_scales(frame) ? take_image(arena, frame->x.to, frame->y.to, in) : *in;
    if (picture_has_seams(picture))
        picture->carved =
            take_image(arena, frame->x.to - frame->x.seams, frame->y.to - frame->y.seams, in);
    struct weighing *const weigh = &picture->weigh;
    weigh->in = *in;
    weigh->to = frame->whole ? picture->scaled : place_in(call, frame);
    weigh->x = axis_of(picture, &frame->x);
    weigh->y = axis_of(picture, &frame->y);
    if (!picture->moves)
        weigh->between =
            (uint32_t *)arena_take(arena, between_bytes(weigh, picture_work_bytes(call)));
    return STATUS_OK;
}

#endif
