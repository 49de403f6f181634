// SPDX-License-Identifier: Apache-2.0
/* smart.h - which part of a picture to keep where one side of it must be cut.
 *
 * Energy of a pixel is carve's gradient of 8-bit luma, border replicated. It is summed along the
 * side that is not cut, and the sum i of n weighs min(i + 1, n - i), since pictures are busy at
 * their edges too. The window of the greatest sum is kept; of equals the one nearest to the middle,
 * then the first.
 *
 * Used by:  ops/resize.c; smart_window: its twin too.
 * Owns:     nothing; the scratch, smart_bytes of it, is the caller's.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE from progress_check.
 * Threads:  a call belongs to one, which shares it out by its pool.
 */
#ifndef BURIN_OPS_RESIZE_SMART_H
#define BURIN_OPS_RESIZE_SMART_H

#include "pipeline/image.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the best window of COUNT of the N sums begins; COUNT is 1..N, N below 2^16, a sum below
 * 2^26 (65535 pixels of at most 690), not weighed yet. */
uint32_t smart_window(const uint32_t *sums, uint32_t n, uint32_t count);

size_t smart_bytes(const struct image *picture, bool columns);

/* The first of the COUNT columns, or rows, of PICTURE that are kept. SCRATCH: 64-byte aligned. */
enum status smart_find(const struct image *picture, bool columns, uint32_t count, void *scratch,
                       struct pool *pool, struct progress *progress, uint32_t *first);

#ifdef __cplusplus
}
#endif
#endif
