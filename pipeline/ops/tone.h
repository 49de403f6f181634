// SPDX-License-Identifier: Apache-2.0
/* tone.h - operators that look every colour sample up in a table, which the host makes for both
 * devices. Alpha is kept, and so are the colour channels that are not chosen.
 *
 * Used by:  gamma.c, contrast.c, levels.c; cuda/tone.cuh, for their twins.
 * Threads:  any; parts of a table may be made at the same time.
 */
#ifndef BURIN_OPS_TONE_H
#define BURIN_OPS_TONE_H

#include "pipeline/param.h"

enum { TONE_LEVELS8 = 256, TONE_LEVELS16 = 65536, TONE_ALL = -1 /* every colour channel */ };

/* Sets LEVELS[v - FIRST], bytes or 16 bits by DEPTH, to the new levels of v = FIRST..END-1. */
typedef void tone_fill(const struct params *params, unsigned depth, uint32_t first, uint32_t end,
                       void *levels);

#endif
