// SPDX-License-Identifier: Apache-2.0
/* A name is the generation in its upper half, the place in its lower one. */
#include "server/http/roll.h"

#include <stdlib.h>

bool roll_enter(struct roll *roll, struct watched *watched, uint64_t *name) {
    uint32_t place = roll->lowest;
    while (place < roll->used && roll->places[place].watched) place++;
    if (place == roll->room) {
        const uint32_t room = roll->room ? 2 * roll->room : 64;
        struct roll_place *places = realloc(roll->places, room * sizeof *places);
        if (!places) return false;
        roll->places = places;
        roll->room = room;
    }
    if (place == roll->used) roll->used++;
    roll->places[place] = (struct roll_place){ watched, ++roll->generation };
    roll->lowest = place + 1;
    roll->count++;
    *name = (uint64_t)roll->generation << 32 | place;
    return true;
}

void roll_leave(struct roll *roll, uint64_t name) {
    const uint32_t place = (uint32_t)name;
    roll->places[place].watched = NULL;
    roll->count--;
    if (place < roll->lowest) roll->lowest = place;
    while (roll->used && !roll->places[roll->used - 1].watched) roll->used--;
}

struct watched *roll_find(const struct roll *roll, uint64_t name) {
    const uint32_t place = (uint32_t)name;
    if (place >= roll->used || roll->places[place].generation != (uint32_t)(name >> 32))
        return NULL;
    return roll->places[place].watched;
}

void roll_release(struct roll *roll) {
    free(roll->places);
    *roll = (struct roll){ 0 };
}
