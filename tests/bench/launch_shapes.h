// SPDX-License-Identifier: Apache-2.0
/* launch_shapes.h - histogram equalization in three plain kernels, at launch shapes of one's
 * choice.
 *
 * Used by:  launch_shapes.c. Not the shipped kernels, which choose their shape themselves.
 * Fails:    STATUS_DEVICE where there is no such GPU or a result is wrong.
 */
#ifndef BURIN_LAUNCH_SHAPES_H
#define BURIN_LAUNCH_SHAPES_H

#include "pipeline/image.h"
#include "pipeline/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct launch_shape {
    int blocks, threads; /* in; threads at most 1024 */
    double ms;           /* out: median of three runs, picture and result in device memory */
};

/* PICTURE is 8-bit RGB in host memory; EXPECTED the right result, compared with each shape's own.
 * Weak: NULL in a build without CUDA. */
__attribute__((weak)) enum status launch_shapes_measure(int device, const struct image *picture,
                                                        const struct image *expected,
                                                        struct launch_shape *shapes, int count,
                                                        struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
