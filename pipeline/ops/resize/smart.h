// SPDX-License-Identifier: Apache-2.0
/* smart.h - which part of a picture to keep where one side must be cut.
 *
 * A pixel's energy is carve's gradient of 8-bit luma, border replicated; a picture with alpha is
 * laid over a background before. Energies are summed along
 * the side that is not cut. Sum i of n weighs min(i + 1, n - i), because pictures are busy at their
 * edges too. The window of the greatest sum is kept; of equal ones the nearest to the middle, then
 * the first.
 *
 * Used by:  ops/resize.c; smart_window: its twin too.
 * Owns:     nothing; the scratch, of smart_bytes bytes, is the caller's.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE from progress_check.
 * Threads:  a call belongs to one thread, which shares it through its pool.
 */
#ifndef BURIN_OPS_RESIZE_SMART_H
#define BURIN_OPS_RESIZE_SMART_H

#include "pipeline/image.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the start of the best window of COUNT of the N sums; COUNT is 1..N, N below 2^16. A sum,
 * not weighed yet, is below 2^26 (65535 pixels of at most 690). */
uint32_t smart_window(const uint32_t *sums, uint32_t n, uint32_t count);

size_t smart_bytes(const struct image *picture, bool columns);

/* Sets FIRST to the first of the COUNT columns, or rows, of PICTURE to keep. BACKGROUND: a
 * parameter's number, 0xRRGGBBAA. SCRATCH: 64-byte aligned. */
enum status smart_find(const struct image *picture, long background, bool columns, uint32_t count,
                       void *scratch, struct pool *pool, struct progress *progress,
                       uint32_t *first);

#ifdef __cplusplus
}
#endif
#endif
