// SPDX-License-Identifier: Apache-2.0
/* limits.cuh - what the choice of a method depends on beside the search itself.
 *
 * Used by:  method.cuh, which asks the device for them; the plans of the cluster methods.
 * Threads:  any.
 *
 * Plans are functions of these numbers and of the search, and ask the device nothing: what was
 * chosen when memory was counted is chosen again when it is used, and a test can name any device.
 */
#ifndef BURIN_CARVE_LIMITS_CUH
#define BURIN_CARVE_LIMITS_CUH

#include <stdint.h>

/* Kernels of which all blocks must be resident at once, in clusters: by the method and by the
 * columns of a sweeper's lane. */
enum cluster_kernel_id {
    CLUSTER_LANE_6,
    CLUSTER_LANE_8,
    DUAL_LANE_6,
    DUAL_LANE_8,
    CLUSTER_KERNELS
};

struct carve_limits {
    int capability; /* 90 for 9.0 */
    uint32_t multiprocessors;
    uint32_t shared_bytes; /* that a block may have */
    /* How many blocks of KERNEL are resident at once, each with all of shared_bytes, in clusters of
     * CLUSTER; 0: none, or the device could not be asked. */
    uint32_t (*resident)(const struct carve_limits *limits, enum cluster_kernel_id kernel,
                         uint32_t cluster);
};

/* Multiprocessors of one search: an eighth is left to other lanes, which else would wait for all of
 * it. */
static inline uint32_t limits_share(const struct carve_limits *limits) {
    return limits->multiprocessors - limits->multiprocessors / 8;
}

#endif
