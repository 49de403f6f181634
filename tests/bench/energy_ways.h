// SPDX-License-Identifier: Apache-2.0
/* energy_ways.h - the energies of carving in simple kernels on a GPU, with and without shared
 * memory.
 *
 * Used by:  energy_ways.c: what a tile in shared memory brings, and when. Not the shipped kernels.
 * Fails:    STATUS_DEVICE where there is no such GPU or a result is wrong.
 * Limits:   at most 64 runs are timed.
 */
#ifndef BURIN_ENERGY_WAYS_H
#define BURIN_ENERGY_WAYS_H

#include "pipeline/image.h"
#include "pipeline/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ENERGY_KINDS = 3 };

/* Milliseconds of each kind (CARVE_GRADIENT...), luma and energies in device memory: medians. */
struct energy_way_times {
    double global_ms[ENERGY_KINDS], shared_ms[ENERGY_KINDS];
};

/* LUMA is 8-bit gray in host memory; EXPECTED[kind] its energies, tight rows of 16 bit, with which
 * the result of each kernel is compared. Weak: NULL in a build without CUDA. */
__attribute__((weak)) enum status energy_ways_measure(int device, const struct image *luma,
                                                      const uint16_t *const expected[ENERGY_KINDS],
                                                      int repeats, struct energy_way_times *times,
                                                      struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
