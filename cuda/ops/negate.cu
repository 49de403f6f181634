// SPDX-License-Identifier: Apache-2.0
/* One pass over memory: cuda/skeletons/point.cuh. */
#include "cuda/skeletons/launch.cuh"

struct negate {
    template <int DEPTH> __device__ uint32_t apply(uint32_t sample) const {
        return ~sample;
    }
};

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return point_run(context, calls, count, negate(), "negate");
}

extern "C" const struct cuda_op cuda_op_negate = { NULL, run };
