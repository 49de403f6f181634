// SPDX-License-Identifier: Apache-2.0
/* Stands for launch_shapes.cu where there is no nvcc. */
#include "cuda/launch_shapes.h"

enum status launch_shapes_measure(int device, const struct image *picture,
                                  const struct image *expected, struct launch_shape *shapes,
                                  int count, struct failure *failure) {
    (void)device, (void)picture, (void)expected, (void)shapes, (void)count;
    return fail(failure, STATUS_DEVICE, "this program was built without CUDA");
}
