// SPDX-License-Identifier: Apache-2.0
/* edge_ways.h - sobel3 of 8-bit gray on a GPU, by textbook kernels and by the shipped one, all
 * timed alike, copies included.
 *
 * Used by:  edge_ways.c.
 * Fails:    STATUS_DEVICE where there is no such GPU or a result is wrong.
 * Limits:   at most 100 runs are timed.
 */
#ifndef BURIN_EDGE_WAYS_H
#define BURIN_EDGE_WAYS_H

#include "pipeline/image.h"
#include "pipeline/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum edge_way {
    EDGE_WAY_PLAIN,  /* a thread a pixel, all neighbours from global memory */
    EDGE_WAY_SHARED, /* the same, neighbours from a tile in shared memory */
    EDGE_WAY_SHIPPED /* cuda/ops/edge.cu */
};

/* Medians. Host memory is pinned; compute is the kernel alone, handed over before the clock
 * runs. */
struct edge_way_times {
    double upload_ms, compute_ms, download_ms;
};

/* PICTURE is 8-bit gray in host memory; EXPECTED its edges by default parameters, compared with
 * what comes back. Weak: NULL in a build without CUDA, which has no GPU to call it for. */
__attribute__((weak)) enum status edge_way_measure(int device, enum edge_way way,
                                                   const struct image *picture,
                                                   const struct image *expected, int repeats,
                                                   struct edge_way_times *times,
                                                   struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
