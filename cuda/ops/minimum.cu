// SPDX-License-Identifier: Apache-2.0
/* The least sample is the complement of the largest complement: cuda/reduction.cuh. */
#include "cuda/reduction.cuh"

struct minimum {
    typedef uint32_t value;
    template <int DEPTH, int CHANNELS> using partial = largest_partial<DEPTH, CHANNELS>;
    static constexpr bool FLIP = true;
    template <int DEPTH>
    static __device__ value value_of(unsigned long long largest, uint64_t pixels) {
        (void)pixels;
        return (DEPTH == 8 ? 255 : 65535) - (value)largest;
    }
};

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return reduction_run<minimum>(context, calls, count, "minimum");
}

extern "C" const struct cuda_op cuda_op_minimum = { NULL, run };
