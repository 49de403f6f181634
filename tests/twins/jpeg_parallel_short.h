// SPDX-License-Identifier: Apache-2.0
/* jpeg_parallel_short.h - the CPU's twin of cuda/codecs/jpeg_decode/phases.cuh: short subsequences,
 * decoded from all phases at once, and the path through them.
 *
 * Used by:  jpeg_parallel.c.
 * Fails:    JPEG_FLAG_REPAIRS without memory.
 */
#ifndef BURIN_JPEG_PARALLEL_SHORT_H
#define BURIN_JPEG_PARALLEL_SHORT_H

#include "pipeline/codecs/jpeg/picture.h"

/* Replaces the walk, with ROUNDS rounds of continuing. */
void jpeg_parallel_walk_short(struct jpeg_picture *picture, uint32_t rounds);
/* Puts the decodings on the path where the first ones stand. */
void jpeg_parallel_choose_short(struct jpeg_picture *picture, uint32_t subs);

#endif
