// SPDX-License-Identifier: Apache-2.0
/* once.h - remembers which addresses that serve one request have served it, until they expire.
 *
 * Only this daemon remembers, and not after its end. The clock by which addresses expire may jump
 * ahead and back: none serves twice that is valid by both clocks or by either, and nothing else is
 * refused. Only an address that had expired by both, and whose entry another has taken since, may
 * serve again once the clock is set back.
 *
 * Used by:  http/access.c.
 * Owns:     its memory, from once_open to once_close.
 * Fails:    once_take: ONCE_FULL.
 * Threads:  any.
 * Limits:   some 40,000 addresses that have not expired, ONCE_KEY_MAX of them of one key; none
 *           takes an entry from others for much longer than ONCE_SECONDS_MAX: judge.c allows no
 *           later expiry.
 */
#ifndef BURIN_ONCE_H
#define BURIN_ONCE_H

#include "server/access/grant.h"

struct once;

struct once *once_open(void);
void once_close(struct once *once); /* accepts NULL */

enum { ONCE_KEY_MAX = 1 << 14 };

enum once_answer {
    ONCE_TAKEN,
    ONCE_USED, /* or expired */
    ONCE_FULL
};

/* KEY: the id of its key. WHICH: a digest. EXPIRES and WALL, the time now, are of the system's
 * clock in seconds, NOW of the monotonic one. */
enum once_answer once_take(struct once *once, const char *key, const uint8_t which[ONCE_BYTES],
                           int64_t expires, int64_t wall, int64_t now);

/* The request was refused before it did anything. */
void once_give_back(struct once *once, const uint8_t which[ONCE_BYTES]);

#endif
