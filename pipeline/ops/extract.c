// SPDX-License-Identifier: Apache-2.0
/* A part of the image, given by its corner and its size. */
#include "pipeline/ops/extract.h"

static const struct param params[] = {
    [EXTRACT_LEFT] = { .name = "left",
                       .summary = "Columns left of the part",
                       .unit = "pixels",
                       .type = PARAM_INT,
                       .share = SHARE_OF_WIDTH,
                       .min = 0,
                       .max = IMAGE_SIDE_MAX - 1 },
    [EXTRACT_TOP] = { .name = "top",
                      .summary = "Rows above the part",
                      .unit = "pixels",
                      .type = PARAM_INT,
                      .share = SHARE_OF_HEIGHT,
                      .min = 0,
                      .max = IMAGE_SIDE_MAX - 1 },
    [EXTRACT_WIDTH] = { .name = "width",
                        .summary = "Columns of the part",
                        .unit = "pixels",
                        .type = PARAM_INT,
                        .share = SHARE_OF_WIDTH,
                        .min = 1,
                        .max = IMAGE_SIDE_MAX,
                        .example = 8,
                        .required = true },
    [EXTRACT_HEIGHT] = { .name = "height",
                         .summary = "Rows of the part",
                         .unit = "pixels",
                         .type = PARAM_INT,
                         .share = SHARE_OF_HEIGHT,
                         .min = 1,
                         .max = IMAGE_SIDE_MAX,
                         .example = 8,
                         .required = true },
    { .name = NULL },
};

static enum status extract_size(const struct params *values, const struct image *in,
                                struct image *out, struct failure *failure) {
    const long *number = values->number, left = number[EXTRACT_LEFT], top = number[EXTRACT_TOP];
    const long width = number[EXTRACT_WIDTH], height = number[EXTRACT_HEIGHT];
    enum status status =
        rectangle_side("extract", "left + width", left + width, in, in->width, failure);
    if (!status)
        status = rectangle_side("extract", "top + height", top + height, in, in->height, failure);
    if (!status) *out = image_shape((uint32_t)width, (uint32_t)height, in->channels, in->depth);
    return status;
}

static enum status extract_run(struct op_call *call) {
    return rectangle_copy(call, extract_rectangle(call));
}

const struct op op_extract = {
    .name = "extract",
    .title = "Cut out a rectangle",
    .group = OP_SIZE,
    .summary = "A part of the image, by its corner and size",
    .params = params,
    .size = extract_size,
    .run = extract_run,
};
