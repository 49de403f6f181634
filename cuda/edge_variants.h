// SPDX-License-Identifier: Apache-2.0
/* edge_variants.h - sobel3 of 8-bit gray on a GPU the ways that textbooks show and the way that is
 * shipped, timed alike, copies included.
 *
 * For `burin bench edge`. A kernel's time is the GPU's alone: handing it over, which takes as long
 * as a small image does, is done before.
 */
#ifndef BURIN_EDGE_VARIANTS_H
#define BURIN_EDGE_VARIANTS_H

#include "pipeline/image.h"
#include "pipeline/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum edge_variant {
    EDGE_VARIANT_PLAIN,  /* a thread a pixel, all neighbours from global memory */
    EDGE_VARIANT_SHARED, /* the same, neighbours from a tile in shared memory */
    EDGE_VARIANT_SHIPPED /* cuda/ops/edge.cu; only where the operator is built in */
};

struct edge_variant_times {
    double upload, compute, download; /* ms, medians; host memory is pinned */
};

/* PICTURE is 8-bit gray in host memory; EXPECTED its edges by default parameters, compared with
 * what comes back. STATUS_DEVICE where there is no such GPU or a result is wrong. */
enum status edge_variant_measure(int device, enum edge_variant variant, const struct image *picture,
                                 const struct image *expected, int repeats,
                                 struct edge_variant_times *times, struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
