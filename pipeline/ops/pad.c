// SPDX-License-Identifier: Apache-2.0
/* The image is copied into place, and resize's canvas is filled around it. */
#include "pipeline/ops/pad.h"

#include "pipeline/op.h"
#include "pipeline/ops/resize/scale.h"

#define SIDE(NAME, SUMMARY, EXAMPLE)                                                               \
    {                                                                                              \
        .name = NAME, .summary = SUMMARY, .unit = "pixels", .type = PARAM_INT,                     \
        .max = IMAGE_SIDE_MAX - 1, .example = EXAMPLE                                              \
    }

static const struct param params[] = {
    [PAD_TOP] = SIDE("top", "Rows added above", 3),
    [PAD_RIGHT] = SIDE("right", "Columns added on the right", 4),
    [PAD_BOTTOM] = SIDE("bottom", "Rows added below", 5),
    [PAD_LEFT] = SIDE("left", "Columns added on the left", 6),
    [PAD_AROUND] = { .name = "around",
                     .summary = "The border is the background, the edge going on, or the image "
                                "mirrored",
                     .type = PARAM_CHOICE,
                     .choices = { "background", "edge", "mirror" } },
    [PAD_BACKGROUND] = { .name = "background",
                         .summary = "Colour of the border, which may be transparent",
                         .type = PARAM_COLOUR,
                         .def = 0xffffffff },
    { .name = NULL },
};

static enum status pad_size(const struct params *values, const struct image *in, struct image *out,
                            struct failure *failure) {
    const struct frame frame = pad_frame(values, in);
    (void)failure; /* the caller checks the sides */
    *out = image_shape(frame.x.out, frame.y.out, frame.channels, in->depth);
    return STATUS_OK;
}

static enum status pad_run(struct op_call *call) {
    const struct frame frame = pad_frame(call->params, &call->in);
    const uint32_t width = call->in.width, height = call->in.height;
    struct scale copy = { .in = call->in,
                          .out = call->out,
                          .x = { .from = width, .to = width, .count = width },
                          .y = { .from = height, .to = height, .count = height },
                          .pool = call->pool,
                          .progress = call->progress };
    copy.out.width = width, copy.out.height = height;
    copy.out.pixels =
        image_row(&call->out, frame.y.at) + frame.x.at * image_pixel_bytes(&call->out);
    const enum status status = scale_run(&copy);
    if (!status)
        canvas_fill(&frame, &call->out, (uint32_t)call->params->number[PAD_BACKGROUND],
                    call->params->number[PAD_AROUND], call->pool);
    return status ? status : progress_check(call->progress);
}

const struct op op_pad = {
    .name = "pad",
    .title = "Add a border",
    .group = OP_SIZE,
    .summary = "A border of any width on each side, of a colour or of the image's own pixels",
    .params = params,
    .size = pad_size,
    .run = pad_run,
};
