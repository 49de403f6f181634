// SPDX-License-Identifier: Apache-2.0
/* One pass over memory; cuda/skeletons/point.cuh. */
#include "pipeline/ops/brightness.h"

#include "cuda/skeletons/launch.cuh"

struct brightness {
    struct brightness_rule rule;
    template <int DEPTH> __device__ uint32_t apply(uint32_t sample) const {
        return brightness_of(sample, rule, DEPTH == 8 ? 255 : 65535);
    }
};

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const struct brightness brightness = { brightness_rule_of(
        calls[0].params->number[BRIGHTNESS_SHIFT], calls[0].in.depth) };
    return point_run(context, calls, count, brightness, "brightness");
}

extern "C" const struct cuda_op cuda_op_brightness = { NULL, run };
