// SPDX-License-Identifier: Apache-2.0
/* crew.h - threads of a pool that stay together for a long row of short sections.
 *
 * A seam is found in a tenth of a millisecond; waking a pool's threads takes as long. So they are
 * fetched once, and wait for the next section by looking at one word.
 * Threads:  one member leads, whichever comes first; it works too and waits for nobody who has not
 *           begun, so threads that never come cost nothing.
 */
#ifndef BURIN_CARVE_CREW_H
#define BURIN_CARVE_CREW_H

#include "pipeline/pool.h"

struct crew;

/* Calls LEAD once, on one of at most MEMBERS threads of POOL; returns when it has. */
void crew_run(struct pool *pool, int members, void (*lead)(struct crew *crew, void *argument),
              void *argument);

/* For the leader: WORK(argument, part) for every part in 0..parts-1, several at a time. */
void crew_share(struct crew *crew, void (*work)(void *argument, int part), void *argument,
                int parts);

#endif
