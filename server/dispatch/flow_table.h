// SPDX-License-Identifier: Apache-2.0
/* flow_table.h - the clients of a fair queue, each a flow of jobs with its account.
 *
 * A flow with jobs in the queue is busy. One that is idle is kept as long as there is room, for it
 * has had its turn lately and may come back; then the one that has been idle longest is forgotten.
 *
 * Used by:  queue.c.
 * Owns:     the flows. What queue.c keeps in them is its own.
 * Fails:    flow_table_create returns NULL without memory.
 * Threads:  one at a time.
 * Limits:   `busy_max` busy flows, and as many idle ones at the least.
 */
#ifndef BURIN_FLOW_TABLE_H
#define BURIN_FLOW_TABLE_H

#include <netinet/in.h>

struct flow {
    /* ---- queue.c's; 0 in a new flow but for `first` and `last`, which are -1 */
    double start_ms; /* the start tag of its next job: when it is due, in virtual time */
    int first, last; /* of its jobs that wait, by slot */
    int waiting;     /* how many they are; the flow is busy where there is one */
    int place;       /* among the busy flows */

    /* ---- the table's */
    struct in6_addr client;
    int next;         /* of the same hash; -1: none */
    int bucket;       /* -1: it is nobody's */
    int older, newer; /* among the idle ones; -1: none */
};

struct flow_table;

struct flow_table *flow_table_create(int busy_max);
void flow_table_destroy(struct flow_table *table);

/* The number of CLIENT's flow, a new one where it has none. It stays the client's until
 * flow_table_idle. */
int flow_table_take(struct flow_table *table, const struct in6_addr *client);

/* Of CLIENT; -1: it has none. */
int flow_table_find(const struct flow_table *table, const struct in6_addr *client);

/* Nothing of it waits any more: it may be forgotten. */
void flow_table_idle(struct flow_table *table, int number);

struct flow *flow_table_at(struct flow_table *table, int number);

#endif
