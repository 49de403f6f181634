// SPDX-License-Identifier: Apache-2.0
/* connection_table.h - the open connections, each under an id that is never given twice, so that a
 * late event of a closed connection is recognised.
 *
 * Used by:  deadline_thread.c, under its lock; the table has none of its own.
 * Owns:     its entries, not the deadlines in them. All zero is an empty table.
 * Fails:    connection_table_add returns false without memory.
 * Limits:   4 billion connections between two that share an id.
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
    struct table_entry *entries;
    uint32_t capacity, used; /* used: entries to look at, free ones among them too */
    uint32_t lowest_free;    /* no entry below it is free */
    uint32_t generation;
    int count;
};

bool connection_table_add(struct connection_table *table, struct deadline *deadline, uint64_t *id);
void connection_table_remove(struct connection_table *table, uint64_t id);

/* NULL: that connection is closed. */
struct deadline *connection_table_find(const struct connection_table *table, uint64_t id);

void connection_table_release(struct connection_table *table);

#endif
