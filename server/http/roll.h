// SPDX-License-Identifier: Apache-2.0
/* roll.h - the roll of watched connections, each under a name that is never given twice, so that an
 * event that comes late is known as such.
 *
 * Used by:  watch.c, under its lock; the roll has none of its own.
 * Owns:     its places, not who stands in them. All zero is an empty roll.
 */
#ifndef BURIN_ROLL_H
#define BURIN_ROLL_H

#include <stdbool.h>
#include <stdint.h>

struct watched;

struct roll_place {
    struct watched *watched; /* NULL: free */
    uint32_t generation;
};

struct roll {
    struct roll_place *places;
    uint32_t room, used; /* used: places to look at, the free ones among them too */
    uint32_t lowest;     /* no place below it is free */
    uint32_t generation;
    int count;
};

/* false: no memory. */
bool roll_enter(struct roll *roll, struct watched *watched, uint64_t *name);
void roll_leave(struct roll *roll, uint64_t name);

/* NULL: it has left. */
struct watched *roll_find(const struct roll *roll, uint64_t name);

void roll_release(struct roll *roll);

#endif
