// SPDX-License-Identifier: Apache-2.0
/* jpeg_cores.h - how fast the CPU codec, which is libjpeg-turbo, does the same work.
 *
 * Used by:  jpeg.c.
 * Fails:    a status and its sentence; also where a result is not what was expected.
 * Threads:  one core a thread of the pool.
 */
#ifndef BURIN_JPEG_CORES_H
#define BURIN_JPEG_CORES_H

#include "tests/bench/burin-bench/jpeg_batches.h"

/* Microseconds a picture: each core does all subjects in a round, each beginning with a different
 * one; the median of the rounds of BATCHES, the first not counted. BATCHES' device, batch and
 * streams are ignored. POOL NULL: one core. */
enum status jpeg_cores_measure(const struct jpeg_batches *batches, struct pool *pool,
                               double *picture_us, struct failure *failure);

#endif
