// SPDX-License-Identifier: Apache-2.0
/* One pass over memory: cuda/reduction.cuh. */
#include "cuda/reduction.cuh"

struct maximum {
    typedef uint32_t value;
    template <int DEPTH, int CHANNELS> using partial = largest_partial<DEPTH, CHANNELS>;
    static constexpr bool FLIP = false;
    template <int DEPTH>
    static __device__ value value_of(unsigned long long largest, uint64_t pixels) {
        (void)pixels;
        return (value)largest;
    }
};

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return reduction_run<maximum>(context, calls, count, "maximum");
}

extern "C" const struct cuda_op cuda_op_maximum = { NULL, run };
