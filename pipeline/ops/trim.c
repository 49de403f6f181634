// SPDX-License-Identifier: Apache-2.0
/* The border is cut off, as find_trim.h defines it. The result's size depends on the pixels:
 * find_trim runs first (op.h, `finder`), and its values become the call's `cut`. They are reported
 * as values of this operator. */
#include "pipeline/ops/find_trim.h"
#include "pipeline/ops/rectangle.h"

extern const struct op op_find_trim;

static const struct param params[] = TRIM_PARAMS;

static enum status trim_run(struct op_call *call) {
    return rectangle_copy(call, (struct rectangle){ call->cut.left, call->cut.top });
}

const struct op op_trim = {
    .name = "trim",
    .title = "Cut the border off",
    .group = OP_SIZE,
    .summary = "The image without a border of one colour; returns what was cut off",
    .params = params,
    .finder = &op_find_trim,
    .run = trim_run,
};
