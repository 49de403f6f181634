// SPDX-License-Identifier: Apache-2.0
/* energy_variants.h - the energies of carving as simple kernels, with and without shared memory.
 *
 * For `burin bench energy`: what a tile in shared memory brings, and when. Not the shipped kernels.
 */
#ifndef BURIN_ENERGY_VARIANTS_H
#define BURIN_ENERGY_VARIANTS_H

#include "pipeline/image.h"
#include "pipeline/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ENERGY_KINDS = 3 };

/* Milliseconds of each kind (CARVE_GRADIENT...), luma and energies in device memory: medians. */
struct energy_times {
    double global_ms[ENERGY_KINDS], shared_ms[ENERGY_KINDS];
};

/* LUMA is 8-bit gray in host memory; EXPECTED[kind] its energies, tight rows of 16 bit, with which
 * the result of each kernel is compared. STATUS_DEVICE where there is no such GPU or a
 * result is wrong. */
enum status energy_variants_measure(int device, const struct image *luma,
                                    const uint16_t *const expected[ENERGY_KINDS], int repeats,
                                    struct energy_times *times, struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
