// SPDX-License-Identifier: Apache-2.0
/* One pass over memory: cuda/skeletons/point.cuh. */
#include "pipeline/ops/threshold.h"

#include "cuda/skeletons/launch.cuh"

struct threshold {
    uint32_t level;
    template <int DEPTH> __device__ uint32_t apply(uint32_t sample) const {
        return threshold_of(sample, level, DEPTH == 8 ? 255 : 65535);
    }
};

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const struct threshold threshold = { threshold_level(calls[0].params->number[THRESHOLD_LEVEL],
                                                         calls[0].in.depth) };
    return point_run(context, calls, count, threshold, "threshold");
}

extern "C" const struct cuda_op cuda_op_threshold = { NULL, run };
