// SPDX-License-Identifier: Apache-2.0
/* An id is the generation in its upper half, the index in its lower one. */
#include "server/http/engine/connection_table.h"

#include <stdlib.h>

bool connection_table_add(struct connection_table *table, struct deadline *deadline, uint64_t *id) {
    uint32_t index = table->lowest_free;
    while (index < table->used && table->entries[index].deadline) index++;
    if (index == table->capacity) {
        const uint32_t capacity = table->capacity ? 2 * table->capacity : 64;
        struct table_entry *entries = realloc(table->entries, capacity * sizeof *entries);
        if (!entries) return false;
        table->entries = entries;
        table->capacity = capacity;
    }
    if (index == table->used) table->used++;
    table->entries[index] = (struct table_entry){ deadline, ++table->generation };
    table->lowest_free = index + 1;
    table->count++;
    *id = (uint64_t)table->generation << 32 | index;
    return true;
}

void connection_table_remove(struct connection_table *table, uint64_t id) {
    const uint32_t index = (uint32_t)id;
    table->entries[index].deadline = NULL;
    table->count--;
    if (index < table->lowest_free) table->lowest_free = index;
    while (table->used && !table->entries[table->used - 1].deadline) table->used--;
}

struct deadline *connection_table_find(const struct connection_table *table, uint64_t id) {
    const uint32_t index = (uint32_t)id;
    if (index >= table->used || table->entries[index].generation != (uint32_t)(id >> 32))
        return NULL;
    return table->entries[index].deadline;
}

void connection_table_release(struct connection_table *table) {
    free(table->entries);
    *table = (struct connection_table){ 0 };
}
