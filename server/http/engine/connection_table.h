// SPDX-License-Identifier: Apache-2.0
/* roll.h - the roll of deadline connections, each under a name that is never given twice, so that an
 * event that comes late is known as such.
 *
 * Used by:  deadlines.c, under its lock; the roll has none of its own.
 * Owns:     its places, not who stands in them. All zero is an empty roll.
 */
#ifndef BURIN_CONNECTION_TABLE_H
#define BURIN_CONNECTION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct deadline;

struct table_entry {
    struct deadline *deadline; /* NULL: free */
    uint32_t generation;
};

struct connection_table {
    struct table_entry *places;
    uint32_t room, used; /* used: places to look at, the free ones among them too */
    uint32_t lowest;     /* no place below it is free */
    uint32_t generation;
    int count;
};

/* false: no memory. */
bool connection_table_add(struct connection_table *roll, struct deadline *deadline, uint64_t *name);
void connection_table_remove(struct connection_table *roll, uint64_t name);

/* NULL: it has left. */
struct deadline *connection_table_find(const struct connection_table *roll, uint64_t name);

void connection_table_release(struct connection_table *roll);

#endif
