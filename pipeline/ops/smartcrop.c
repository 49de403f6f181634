// SPDX-License-Identifier: Apache-2.0
/* The part of a given size that is looked at first: smartcrop.h says which that is, and
 * smartcrop/search.c finds it. */
#include "pipeline/ops/smartcrop.h"

#include "pipeline/ops/rectangle.h"
#include "pipeline/ops/smartcrop/search.h"

static const struct param params[] = {
    [SMARTCROP_WIDTH] = { .name = "width",
                          .summary = "Columns to keep; all if not given",
                          .unit = "pixels",
                          .type = PARAM_INT,
                          .min = 1,
                          .max = IMAGE_SIDE_MAX,
                          .example = 8 },
    [SMARTCROP_HEIGHT] = { .name = "height",
                           .summary = "Rows to keep; all if not given",
                           .unit = "pixels",
                           .type = PARAM_INT,
                           .min = 1,
                           .max = IMAGE_SIDE_MAX,
                           .example = 6 },
    { .name = NULL },
};

static enum status smartcrop_size(const struct params *values, const struct image *in,
                                  struct image *out, struct failure *failure) {
    if (image_pixels(in) > SMARTCROP_PIXELS_MAX)
        return fail(failure, STATUS_TOO_LARGE,
                    "smartcrop takes at most %d pixels, and the image is %u x %u",
                    SMARTCROP_PIXELS_MAX, in->width, in->height);
    return rectangle_size("smartcrop", values->number[SMARTCROP_WIDTH],
                          values->number[SMARTCROP_HEIGHT], in, out, failure);
}

static size_t smartcrop_scratch(const struct op_call *call) {
    return smartcrop_search_bytes(&call->in);
}

static enum status smartcrop_run(struct op_call *call) {
    struct smartcrop_part best;
    const enum status status = smartcrop_search(call, &best);
    return status ? status : rectangle_copy(call, (struct rectangle){ best.left, best.top });
}

const struct op op_smartcrop = {
    .name = "smartcrop",
    .summary = "The part of the image with the most detail near its middle",
    .params = params,
    .size = smartcrop_size,
    .scratch = smartcrop_scratch,
    .run = smartcrop_run,
};
