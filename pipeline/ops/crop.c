// SPDX-License-Identifier: Apache-2.0
/* A part of the image, given by its size and the side where it lies. */
#include "pipeline/ops/crop.h"

static const struct param params[] = {
    [CROP_WIDTH] = { .name = "width",
                     .summary = "Columns to keep; all if not given",
                     .unit = "pixels",
                     .type = PARAM_INT,
                     .share = SHARE_OF_WIDTH,
                     .min = 1,
                     .max = IMAGE_SIDE_MAX,
                     .example = 8 },
    [CROP_HEIGHT] = { .name = "height",
                      .summary = "Rows to keep; all if not given",
                      .unit = "pixels",
                      .type = PARAM_INT,
                      .share = SHARE_OF_HEIGHT,
                      .min = 1,
                      .max = IMAGE_SIDE_MAX,
                      .example = 6 },
    [CROP_GRAVITY] = { .name = "gravity",
                       .summary = "Which side of the image is kept",
                       .type = PARAM_CHOICE,
                       .choices = { "centre", "north", "northeast", "east", "southeast", "south",
                                    "southwest", "west", "northwest" } },
    { .name = NULL },
};

static enum status crop_size(const struct params *values, const struct image *in, struct image *out,
                             struct failure *failure) {
    const long *number = values->number;
    return rectangle_size("crop", number[CROP_WIDTH], number[CROP_HEIGHT], in, out, failure);
}

static enum status crop_run(struct op_call *call) {
    return rectangle_copy(call, crop_rectangle(call));
}

const struct op op_crop = {
    .name = "crop",
    .title = "Crop to a size",
    .group = OP_SIZE,
    .summary = "A part of the image, by its size and the side that it lies at",
    .params = params,
    .size = crop_size,
    .run = crop_run,
};
