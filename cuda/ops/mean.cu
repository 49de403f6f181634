// SPDX-License-Identifier: Apache-2.0
/* An exact sum, divided once as IEEE 754 defines it, as on the CPU: cuda/reduction.cuh. */
#include "cuda/reduction.cuh"

struct mean {
    typedef double value;
    template <int DEPTH, int CHANNELS> using partial = sum_partial<DEPTH, CHANNELS>;
    static constexpr bool FLIP = false;
    template <int DEPTH> static __device__ value value_of(unsigned long long sum, uint64_t pixels) {
        return __ddiv_rn((double)sum, (double)pixels);
    }
};

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return reduction_run<mean>(context, calls, count, "mean");
}

extern "C" const struct cuda_op cuda_op_mean = { NULL, run };
