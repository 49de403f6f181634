// SPDX-License-Identifier: Apache-2.0
/* eviction.h - who must go while others are refused: clients that stand still, then the slowest.
 *
 * Used by:  deadline_thread.c.
 * Owns:     its list of candidates. All zero is an empty one.
 * Threads:  the deadlines' thread, under its lock.
 * Limits:   everybody has patience_ms from the start of a body or an answer, whatever its rate; as
 *           long as those will do who are slower and have some of it left, nobody faster goes.
 *           Without memory for the list only those that stand still are let go. Answers on unix
 *           sockets are left alone: nobody knows what was received there.
 */
#ifndef BURIN_EVICTION_H
#define BURIN_EVICTION_H

#include <stdbool.h>
#include <stdint.h>

struct deadline;
struct deadline_thread;

struct candidate {
    struct deadline *deadline;
    int64_t word;
    double rate; /* bytes a second, lately */
    bool young;  /* it began less than patience_ms ago: nobody can say yet */
};

struct eviction {
    struct candidate *candidates;
    uint32_t count, capacity;
};

/* Lets go as many as what is short needs, by pressure_missing. */
void eviction_run(struct deadline_thread *deadlines, int64_t now_ns);

void eviction_release(struct eviction *eviction);

#endif
