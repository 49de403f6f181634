// SPDX-License-Identifier: Apache-2.0
/* How it works. frame.h decides the picture's size and which part is kept; definition.h defines how
 * its pixels are computed. Usually the kept part is scaled right to its place in the result
 * (scale.h), and the space around it is filled (canvas.h). If the whole picture is needed before
 * the cut, it is scaled into the scratch: carve removes seams from it, smart.h finds the window,
 * and the kept part is copied. */
#include "pipeline/ops/resize/definition.h"

#include "pipeline/arena.h"
#include "pipeline/band.h"
#include "pipeline/builtin_ops.h"
#include "pipeline/op.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/ops/rectangle.h"
#include "pipeline/ops/resize/canvas.h"
#include "pipeline/ops/resize/frame.h"
#include "pipeline/ops/resize/scale.h"
#include "pipeline/ops/resize/smart.h"

#include <stdio.h>
#include <string.h>

static const struct param params[] = {
    [RESIZE_WIDTH] = { .name = "width",
                       .summary = "Width of the result; one of width and height is enough",
                       .unit = "pixels",
                       .type = PARAM_INT,
                       .share = SHARE_OF_WIDTH,
                       .min = 1,
                       .max = IMAGE_SIDE_MAX,
                       .example = 320 },
    [RESIZE_HEIGHT] = { .name = "height",
                        .summary = "Height of the result; if one is missing, it follows the shape",
                        .unit = "pixels",
                        .type = PARAM_INT,
                        .share = SHARE_OF_HEIGHT,
                        .min = 1,
                        .max = IMAGE_SIDE_MAX,
                        .example = 240 },
    [RESIZE_FIT] = { .name = "fit",
                     .summary =
                         "cover cuts what is over, contain puts background around, fill stretches, "
                         "inside is no larger, outside no smaller, carve takes out seams",
                     .type = PARAM_CHOICE,
                     .choices = { "cover", "contain", "fill", "inside", "outside", "carve" } },
    [RESIZE_KERNEL] = { .name = "kernel",
                        .summary = "How source pixels are weighed, from the sharpest to none",
                        .type = PARAM_CHOICE,
                        .choices = { "lanczos3", "cubic", "linear", "box", "nearest" } },
    [RESIZE_POSITION] = { .name = "position",
                          .summary = "What is kept, or where it lies on a background; smart: where "
                                     "most happens",
                          .type = PARAM_CHOICE,
                          .choices = { "centre", "north", "northeast", "east", "southeast", "south",
                                       "southwest", "west", "northwest", "smart" } },
    [RESIZE_X] = { .name = "x",
                   .summary = "In place of position: a point to keep, from the left edge on",
                   .unit = "thousandths",
                   .type = PARAM_INT,
                   .min = 0,
                   .max = 1000,
                   .def = -1 },
    [RESIZE_Y] = { .name = "y",
                   .summary = "In place of position: a point to keep, from the upper edge on",
                   .unit = "thousandths",
                   .type = PARAM_INT,
                   .min = 0,
                   .max = 1000,
                   .def = -1 },
    [RESIZE_ENLARGE] = { .name = "enlarge",
                         .summary = "Whether the image may be scaled up",
                         .type = PARAM_BOOL,
                         .def = true },
    [RESIZE_LINEAR] = { .name = "linear",
                        .summary = "Weigh light, not samples: by sRGB's curve for any profile",
                        .type = PARAM_BOOL },
    [RESIZE_BACKGROUND] = { .name = "background",
                            .summary =
                                "Colour around the image with fit=contain, and under transparent "
                                "pixels where the type has no transparency",
                            .type = PARAM_COLOUR,
                            .def = 0xffffffff },
    [RESIZE_SHARE] = { .name = "share",
                       .summary = "With fit=carve: how much of what is over goes by seams",
                       .unit = "percent",
                       .type = PARAM_INT,
                       .min = 0,
                       .max = 100,
                       .def = 100 },
    [RESIZE_AROUND] = { .name = "around",
                        .summary = "With fit=contain: around the image is the background, its edge "
                                   "going on, or the image mirrored",
                        .type = PARAM_CHOICE,
                        .choices = { "background", "edge", "mirror" } },
    { .name = NULL },
};

static const struct op *carve(void) {
    return builtin_op_find("carve");
}

/* ---- size and amount of work */

static enum status resize_size(const struct params *values, const struct image *in,
                               struct image *out, struct failure *failure) {
    struct frame frame;
    const enum status status = frame_make(&frame, values, in, failure);
    if (status) return status;
    if (values->number[RESIZE_FIT] == FIT_CARVE && !carve())
        return fail(failure, STATUS_BAD_PARAM,
                    "resize: fit=carve is not in this build; use cover, contain, fill, inside or "
                    "outside");
    *out = image_shape(frame.x.out, frame.y.out, frame.channels, in->depth);
    return STATUS_OK;
}

/* `nearest` moves pixels, so it ignores light. */
static bool resize_assumes_srgb(const struct params *values) {
    return values->number[RESIZE_LINEAR] && values->number[RESIZE_KERNEL] != KERNEL_NEAREST;
}

/* Returns the kernel's taps for each target pixel on one axis. */
static double taps(const struct frame_side *side, long kernel) {
    static const double widths[] = { 6, 4, 2, 1, 1 };
    const double ratio = (double)side->from / side->to;
    return side->from == side->to ? 1 : widths[kernel] * (ratio > 1 && kernel < 4 ? ratio : 1);
}

/* A pass is two taps for each pixel of the mean of input and result, or one seam. Taps with alpha,
 * of more bits, take half as long again. */
static uint32_t resize_passes(const struct params *values, const struct image *in) {
    struct frame frame;
    if (frame_make(&frame, values, in, NULL)) return 1;
    const long kernel = values->number[RESIZE_KERNEL];
    const struct frame_side *x = &frame.x, *y = &frame.y;
    const double width = frame.whole ? x->to : x->count, height = frame.whole ? y->to : y->count;
    const double source_rows = (double)y->from * height / y->to;
    const double pixels = ((double)image_pixels(in) + (double)x->out * y->out) / 2;
    double work = (source_rows * taps(x, kernel) + height * taps(y, kernel)) * width / 2;
    if (image_has_alpha(in)) work *= 1.5;
    work += width * height * (x->seams + y->seams + frame.smart);
    const double passes = work / pixels + 1;
    return passes < UINT32_MAX ? (uint32_t)passes : UINT32_MAX;
}

/* ---- scratch: the same function counts it and lays it out */

struct room {
    struct arena arena;
    struct image scaled, carved; /* where the whole picture is needed */
    struct scale scale;
    struct params carving;
    void *scratch; /* used by each step in turn; as large as the largest */
};

static struct scale scale_of(const struct op_call *call, const struct frame *frame) {
    const long kernel = call->params->number[RESIZE_KERNEL];
    const struct frame_side *sides[2] = { &frame->x, &frame->y };
    struct resample_axis axes[2];
    for (int i = 0; i < 2; i++)
        axes[i] = (struct resample_axis){
            .from = sides[i]->from,
            .to = sides[i]->to,
            .first = frame->whole ? 0 : sides[i]->first,
            .count = frame->whole ? sides[i]->to : sides[i]->count,
            .kernel = kernel == KERNEL_NEAREST ? RESAMPLE_BOX : (enum resample_kernel)kernel,
        };
    return (struct scale){ .in = call->in,
                           .x = axes[0],
                           .y = axes[1],
                           .nearest = kernel == KERNEL_NEAREST,
                           .linear = call->params->number[RESIZE_LINEAR],
                           .pool = call->pool,
                           .progress = call->progress };
}

static struct image take_image(struct arena *arena, uint32_t width, uint32_t height,
                               const struct image *like) {
    struct image image = image_shape(width, height, like->channels, like->depth);
    image.pixels = arena_take(arena, image_bytes(&image));
    return image;
}

static struct op_call carve_call(const struct op_call *call, struct room *room) {
    char number[16];
    params_init(&room->carving, carve()->params);
    snprintf(number, sizeof number, "%u", room->carved.width);
    params_set(&room->carving, carve()->params, "carve", "width", number, NULL);
    snprintf(number, sizeof number, "%u", room->carved.height);
    params_set(&room->carving, carve()->params, "carve", "height", number, NULL);
    room->carving.number[CARVE_BACKGROUND] = call->params->number[RESIZE_BACKGROUND];
    return (struct op_call){ .op = carve(),
                             .params = &room->carving,
                             .in = room->scaled,
                             .out = room->carved,
                             .scratch = room->scratch,
                             .pool = call->pool,
                             .progress = call->progress,
                             .failure = call->failure };
}

static bool has_seams(const struct frame *frame) {
    return frame->x.seams || frame->y.seams;
}

/* Whether columns, not rows, are cut further after the seams. */
static bool cuts_columns(const struct frame *frame) {
    return frame->x.count < frame->x.to - frame->x.seams;
}

static void larger(size_t *most, size_t bytes) {
    if (bytes > *most) *most = bytes;
}

static void lay_room(struct room *room, const struct op_call *call, const struct frame *frame) {
    const struct frame_side *x = &frame->x, *y = &frame->y;
    size_t most;
    room->scale = scale_of(call, frame);
    if (frame->whole) room->scaled = take_image(&room->arena, x->to, y->to, &call->in);
    if (has_seams(frame))
        room->carved = take_image(&room->arena, x->to - x->seams, y->to - y->seams, &call->in);
    room->scale.out = frame->whole ? room->scaled : call->out;
    if (!frame->whole) {
        room->scale.out.width = x->count, room->scale.out.height = y->count;
        if (call->out.pixels)
            room->scale.out.pixels =
                image_row(&call->out, y->at) + x->at * image_pixel_bytes(&call->out);
    }
    most = scale_bytes(&room->scale);
    if (has_seams(frame)) {
        const struct op_call carving = carve_call(call, room);
        larger(&most, carve()->scratch(&carving));
    }
    if (frame->smart)
        larger(&most,
               smart_bytes(has_seams(frame) ? &room->carved : &room->scaled, cuts_columns(frame)));
    room->scratch = room->scale.scratch = arena_take(&room->arena, most);
}

static size_t resize_scratch(const struct op_call *call) {
    struct room room = { .arena = { .base = NULL } };
    struct frame frame;
    if (frame_make(&frame, call->params, &call->in, NULL)) return 0;
    lay_room(&room, call, &frame);
    return room.arena.used;
}

/* ---- run */

/* Copies the kept part of the whole picture, which lies scaled in ROOM. */
static enum status cut_whole(struct op_call *call, struct frame *frame, struct room *room) {
    struct op_call cutting = *call;
    enum status status = STATUS_OK;
    cutting.in = room->scaled;
    if (has_seams(frame)) {
        struct op_call carving = carve_call(call, room);
        status = carve()->run(&carving);
        cutting.in = room->carved;
    }
    if (!status && frame->smart)
        status = smart_find(
            &cutting.in, call->params->number[RESIZE_BACKGROUND], cuts_columns(frame),
            cuts_columns(frame) ? frame->x.count : frame->y.count, room->scratch, call->pool,
            call->progress, cuts_columns(frame) ? &frame->x.first : &frame->y.first);
    if (status) return status;
    return rectangle_copy(&cutting, (struct rectangle){ frame->x.first, frame->y.first });
}

static enum status resize_run(struct op_call *call) {
    struct room room = { .arena = { .base = call->scratch } };
    struct frame frame;
    enum status status = frame_make(&frame, call->params, &call->in, call->failure);
    if (status) return status;
    lay_room(&room, call, &frame);
    status = scale_run(&room.scale);
    if (!status && frame.whole) status = cut_whole(call, &frame, &room);
    if (!status)
        canvas_fill(&frame, &call->out, (uint32_t)call->params->number[RESIZE_BACKGROUND],
                    call->params->number[RESIZE_AROUND], call->pool);
    return status ? status : progress_check(call->progress);
}

const struct op op_resize = {
    .name = "resize",
    .title = "Resize",
    .group = OP_SIZE,
    .summary = "A new size: cut, with background around, stretched, or with seams taken out",
    .unit = "seams",
    .params = params,
    .widths = true,
    .size = resize_size,
    .assumes_srgb = resize_assumes_srgb,
    .passes = resize_passes,
    .scratch = resize_scratch,
    .run = resize_run,
};
