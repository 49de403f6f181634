// SPDX-License-Identifier: Apache-2.0
/* One pass at the speed of memory. */
#include "pipeline/ops/brightness.h"

#include "cuda/pointwise.cuh"

struct brighter {
    struct brightness_rule rule;
    template <int DEPTH> __device__ uint32_t of(uint32_t sample) const {
        return brightness_of(sample, rule, DEPTH == 8 ? 255 : 65535);
    }
};

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const struct brighter brighter = { brightness_rule_of(calls[0].params->number[BRIGHTNESS_SHIFT],
                                                          calls[0].in.depth) };
    return pointwise_run(context, calls, count, brighter, "brightness");
}

extern "C" const struct cuda_op cuda_op_brightness = { NULL, run };
