// SPDX-License-Identifier: Apache-2.0
#include "server/access/once.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An address is in one of the PROBES entries from the place that its digest gives. */
enum { ENTRIES = 1 << 16, PROBES = 128 };

struct once_entry {
    uint8_t which[ONCE_BYTES];
    int64_t expires; /* 0, or up to now: the entry is free */
};

struct once {
    pthread_mutex_t lock;
    int64_t now; /* the latest time so far */
    struct once_entry entries[ENTRIES];
};

struct once *once_open(void) {
    struct once *once = calloc(1, sizeof *once);
    if (once) pthread_mutex_init(&once->lock, NULL);
    return once;
}

void once_close(struct once *once) {
    if (once) pthread_mutex_destroy(&once->lock);
    free(once);
}

static struct once_entry *entry_at(struct once *once, const uint8_t *which, int probe) {
    uint32_t place;
    memcpy(&place, which, sizeof place);
    return &once->entries[(place + (uint32_t)probe) % ENTRIES];
}

/* The entry of WHICH, or a free one; NULL: there is none. */
static struct once_entry *find(struct once *once, const uint8_t *which) {
    struct once_entry *unused = NULL;
    for (int i = 0; i < PROBES; i++) {
        struct once_entry *entry = entry_at(once, which, i);
        const bool is_used = entry->expires > once->now;
        if (is_used && memcmp(entry->which, which, ONCE_BYTES) == 0) return entry;
        if (!is_used && !unused) unused = entry;
    }
    return unused;
}

enum once_answer once_take(struct once *once, const uint8_t which[ONCE_BYTES], int64_t expires,
                           int64_t now) {
    enum once_answer answer = ONCE_USED;
    pthread_mutex_lock(&once->lock);
    if (now > once->now) once->now = now;
    struct once_entry *entry = expires > once->now ? find(once, which) : NULL;
    if (!entry && expires > once->now) answer = ONCE_FULL;
    if (entry && entry->expires <= once->now) {
        memcpy(entry->which, which, ONCE_BYTES);
        entry->expires = expires;
        answer = ONCE_TAKEN;
    }
    pthread_mutex_unlock(&once->lock);
    return answer;
}

void once_give_back(struct once *once, const uint8_t which[ONCE_BYTES]) {
    pthread_mutex_lock(&once->lock);
    struct once_entry *entry = find(once, which);
    if (entry) entry->expires = 0;
    pthread_mutex_unlock(&once->lock);
}
