// SPDX-License-Identifier: Apache-2.0
/* team.h - threads of a pool that stay together for many short sections of work.
 *
 * Used by:  seam_search.c.
 * Owns:     nothing; the team lies in its user's memory, as long as team_run() runs.
 * Threads:  the leader, who runs `lead`, calls team_share(); sections run on any member.
 * Limits:   TEAM_PIECES_MAX pieces a section; those that members keep, TEAM_KEPT_MAX.
 */
#ifndef BURIN_CARVE_TEAM_H
#define BURIN_CARVE_TEAM_H

#include "pipeline/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TEAM_PIECES_MAX = 127, TEAM_KEPT_MAX = 32, CACHE_LINE = 64 };

struct work; /* the user's */

/* A member, as itself sees it. */
struct team_member {
    int number;
    int section, seen; /* of its last piece; the last one that it saw */
    int looks;         /* in vain, since that piece or section */
    bool spare;        /* it has no piece of its own where members keep theirs */
    bool helps;        /* it has waited for others in `section` */
};

struct team {
    struct work *work;
    void (*lead)(struct work *work);
    void (*section)(struct work *work, int index);
    int pieces, number; /* of the section */
    int alone;          /* sections that the leader still does alone */
    struct team_member leader;
    atomic_flag led;
    atomic_int members;                   /* so far */
    _Alignas(CACHE_LINE) atomic_int open; /* the section's number and its unclaimed pieces */
    _Alignas(CACHE_LINE) atomic_int done;
    atomic_int_least64_t longest_ns; /* of a core, for a piece of the section */
    struct team_claim {
        _Alignas(CACHE_LINE) atomic_bool taken;
    } claims[TEAM_KEPT_MAX]; /* of the present section's pieces */
};

/* Runs LEAD on one of up to THREADS of the pool's threads; the others are its team, until LEAD
 * returns. TEAM is zero. */
void team_run(struct team *team, struct pool *pool, int threads, struct work *work,
              void (*lead)(struct work *work));

/* For the leader: runs SECTION for every index in 0..count-1, several at a time. KEPT: an index
 * goes to the same member as in the last such section, if that one comes. */
void team_share(struct team *team, void (*section)(struct work *work, int index), int count,
                bool kept);

/* For a thread that waits for another and has looked in vain LOOKS times. */
void team_breathe(int looks);

/* Looks after which a thread does what is another's: that one may have no core. From
 * LOOKS_BEFORE_SLEEP on it sleeps between them. */
enum { LOOKS_BEFORE_OTHERS = 200, LOOKS_BEFORE_SLEEP = 16000 };

#endif
