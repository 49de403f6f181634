// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch/flow_table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { NONE = -1 };

struct flow_table {
    int count;        /* flows; as many buckets */
    uint64_t seed[2]; /* so that nobody can choose addresses of one hash */
    int *buckets;
    struct flow *flows;
    int oldest, newest; /* of the idle flows */
};

struct flow *flow_table_at(struct flow_table *table, int number) {
    return &table->flows[number];
}

/* ---- idle flows, in the order in which they became so */

static void join_idle(struct flow_table *table, int number) {
    struct flow *flow = &table->flows[number];
    flow->older = table->newest;
    flow->newer = NONE;
    *(table->newest == NONE ? &table->oldest : &table->flows[table->newest].newer) = number;
    table->newest = number;
}

static void leave_idle(struct flow_table *table, int number) {
    const struct flow *flow = &table->flows[number];
    *(flow->older == NONE ? &table->oldest : &table->flows[flow->older].newer) = flow->newer;
    *(flow->newer == NONE ? &table->newest : &table->flows[flow->newer].older) = flow->older;
}

void flow_table_idle(struct flow_table *table, int number) {
    join_idle(table, number);
}

/* ---- life */

struct flow_table *flow_table_create(int busy_max) {
    struct flow_table *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    table->count = 2 * busy_max;
    table->buckets = malloc((size_t)table->count * sizeof *table->buckets);
    table->flows = calloc((size_t)table->count, sizeof *table->flows);
    if (!table->buckets || !table->flows) return flow_table_destroy(table), NULL;
    if (getrandom(table->seed, sizeof table->seed, 0) < 0) table->seed[0] = (uintptr_t)table;
    table->oldest = table->newest = NONE;
    for (int i = 0; i < table->count; i++) {
        table->buckets[i] = NONE;
        table->flows[i].bucket = NONE;
        join_idle(table, i);
    }
    return table;
}

void flow_table_destroy(struct flow_table *table) {
    if (!table) return;
    free(table->buckets);
    free(table->flows);
    free(table);
}

/* ---- by client */

static uint64_t mix(uint64_t bits) {
    bits = (bits ^ bits >> 32) * UINT64_C(0xd6e8feb86659fd93);
    bits = (bits ^ bits >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return bits ^ bits >> 32;
}

static int bucket_of(const struct flow_table *table, const struct in6_addr *client) {
    uint64_t halves[2];
    memcpy(halves, client, sizeof halves);
    const uint64_t hash = mix(mix(halves[0] ^ table->seed[0]) ^ halves[1] ^ table->seed[1]);
    return (int)(hash % (uint64_t)table->count);
}

static bool same_client(const struct in6_addr *a, const struct in6_addr *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static void forget(struct flow_table *table, int number) {
    const struct flow *flow = &table->flows[number];
    if (flow->bucket == NONE) return;
    int *link = &table->buckets[flow->bucket];
    while (*link != number) link = &table->flows[*link].next;
    *link = flow->next;
}

static int add(struct flow_table *table, const struct in6_addr *client, int bucket) {
    const int number = table->oldest;
    leave_idle(table, number);
    forget(table, number);
    table->flows[number] = (struct flow){ .first = NONE,
                                          .last = NONE,
                                          .client = *client,
                                          .bucket = bucket,
                                          .next = table->buckets[bucket] };
    table->buckets[bucket] = number;
    return number;
}

int flow_table_find(const struct flow_table *table, const struct in6_addr *client) {
    int number = table->buckets[bucket_of(table, client)];
    while (number != NONE && !same_client(&table->flows[number].client, client))
        number = table->flows[number].next;
    return number;
}

int flow_table_take(struct flow_table *table, const struct in6_addr *client) {
    const int number = flow_table_find(table, client);
    if (number == NONE) return add(table, client, bucket_of(table, client));
    if (!table->flows[number].waiting) leave_idle(table, number);
    return number;
}
