// SPDX-License-Identifier: Apache-2.0
/* Stands for energy_variants.cu where there is no nvcc. */
#include "cuda/energy_variants.h"

enum status energy_variants_measure(int device, const struct image *luma,
                                    const uint16_t *const expected[ENERGY_KINDS], int repeats,
                                    struct energy_times *times, struct failure *failure) {
    (void)device, (void)luma, (void)expected, (void)repeats, (void)times;
    return fail(failure, STATUS_DEVICE, "this program was built without CUDA");
}
