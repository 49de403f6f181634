// SPDX-License-Identifier: Apache-2.0
/* Replaces device_cuda.cu where there is no nvcc: it counts no GPU, so no lane is ever opened. */
#include "pipeline/device.h"

#include <stddef.h>

static int count(void) {
    return 0;
}

static enum status none(struct failure *failure) {
    return fail(failure, STATUS_DEVICE, "this program was built without CUDA");
}

static enum status describe(int index, struct device_info *info, struct failure *failure) {
    (void)index, (void)info;
    return none(failure);
}

static enum status open_lane(int index, const struct lane_options *options, struct lane **lane,
                             struct failure *failure) {
    (void)index, (void)options;
    *lane = NULL;
    return none(failure);
}

static void close_lane(struct lane *lane) {
    (void)lane;
}

const struct device_driver device_cuda = {
    .kind = "cuda",
    .count = count,
    .describe = describe,
    .open = open_lane,
    .close = close_lane,
};
