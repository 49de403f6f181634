// SPDX-License-Identifier: Apache-2.0
/* A part of the image, told by its size and by the side that it lies at. */
#include "pipeline/ops/crop.h"

static const struct param params[] = {
    [CROP_WIDTH] = { .name = "width",
                     .summary = "Columns to keep; all if not given",
                     .unit = "pixels",
                     .type = PARAM_INT,
                     .min = 1,
                     .max = IMAGE_SIDE_MAX,
                     .example = 8 },
    [CROP_HEIGHT] = { .name = "height",
                      .summary = "Rows to keep; all if not given",
                      .unit = "pixels",
                      .type = PARAM_INT,
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
    if (!number[CROP_WIDTH] && !number[CROP_HEIGHT])
        return fail(failure, STATUS_BAD_PARAM, "crop: width, height or both must be given");
    const long width = number[CROP_WIDTH] ? number[CROP_WIDTH] : (long)in->width;
    const long height = number[CROP_HEIGHT] ? number[CROP_HEIGHT] : (long)in->height;
    enum status status = rectangle_side("crop", "width", width, in, in->width, failure);
    if (!status) status = rectangle_side("crop", "height", height, in, in->height, failure);
    if (!status) *out = image_shape((uint32_t)width, (uint32_t)height, in->channels, in->depth);
    return status;
}

static enum status crop_run(struct op_call *call) {
    return rectangle_copy(call, crop_rectangle(call));
}

const struct op op_crop = {
    .name = "crop",
    .summary = "A part of the image, by its size and the side that it lies at",
    .params = params,
    .size = crop_size,
    .run = crop_run,
};
