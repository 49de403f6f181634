// SPDX-License-Identifier: Apache-2.0
/* A name is the generation in its upper half, the place in its lower one. */
#include "server/http/engine/connection_table.h"

#include <stdlib.h>

bool connection_table_add(struct connection_table *roll, struct deadline *deadline,
                          uint64_t *name) {
    uint32_t place = roll->lowest;
    while (place < roll->used && roll->places[place].deadline) place++;
    if (place == roll->room) {
        const uint32_t room = roll->room ? 2 * roll->room : 64;
        struct table_entry *places = realloc(roll->places, room * sizeof *places);
        if (!places) return false;
        roll->places = places;
        roll->room = room;
    }
    if (place == roll->used) roll->used++;
    roll->places[place] = (struct table_entry){ deadline, ++roll->generation };
    roll->lowest = place + 1;
    roll->count++;
    *name = (uint64_t)roll->generation << 32 | place;
    return true;
}

void connection_table_remove(struct connection_table *roll, uint64_t name) {
    const uint32_t place = (uint32_t)name;
    roll->places[place].deadline = NULL;
    roll->count--;
    if (place < roll->lowest) roll->lowest = place;
    while (roll->used && !roll->places[roll->used - 1].deadline) roll->used--;
}

struct deadline *connection_table_find(const struct connection_table *roll, uint64_t name) {
    const uint32_t place = (uint32_t)name;
    if (place >= roll->used || roll->places[place].generation != (uint32_t)(name >> 32))
        return NULL;
    return roll->places[place].deadline;
}

void connection_table_release(struct connection_table *roll) {
    free(roll->places);
    *roll = (struct connection_table){ 0 };
}
