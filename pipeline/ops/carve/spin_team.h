// SPDX-License-Identifier: Apache-2.0
/* spin_team.h - threads of a pool that stay together for a long row of short sections.
 *
 * A seam is found in a tenth of a millisecond; waking a pool's threads takes as long. So they are
 * fetched once, and wait for the next section by looking at one word.
 *
 * Used by:  seam_search.c.
 * Threads:  one member leads, whichever comes first; it works too and waits for nobody who has not
 *           begun, so threads that never come cost nothing.
 */
#ifndef BURIN_CARVE_SPIN_TEAM_H
#define BURIN_CARVE_SPIN_TEAM_H

#include "pipeline/pool.h"

struct spin_team;

/* Calls LEAD once, on one of at most MEMBERS threads of POOL; returns when it has. */
void spin_team_run(struct pool *pool, int members,
                   void (*lead)(struct spin_team *team, void *argument), void *argument);

/* For the leader: WORK(argument, index) for every index in 0..count-1, several at a time. */
void spin_team_share(struct spin_team *team, void (*work)(void *argument, int index),
                     void *argument, int count);

#endif
