// SPDX-License-Identifier: Apache-2.0
/* Stands for edge_variants.cu where there is no nvcc. */
#include "cuda/edge_variants.h"

enum status edge_variant_measure(int device, enum edge_variant variant, const struct image *picture,
                                 const struct image *expected, int repeats,
                                 struct edge_variant_times *times, struct failure *failure) {
    (void)device, (void)variant, (void)picture, (void)expected, (void)repeats, (void)times;
    return fail(failure, STATUS_DEVICE, "this program was built without CUDA");
}
