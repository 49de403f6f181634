// SPDX-License-Identifier: Apache-2.0
#include "server/access/once.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* How it works. An address is in one of the PROBES entries from the place that its digest gives.
 * Entries are counted by key. What has expired is remembered, and counted, until its entry is
 * needed, or until its key has too many: then all such entries are freed, at most once a second.
 * Only the monotonic clock counts: an address of which the other clock says that it is valid is
 * refused as long as it is remembered. */
enum { ENTRIES = 1 << 16, PROBES = 128 };

struct once_entry {
    uint8_t which[ONCE_BYTES];
    uint16_t key;
    int64_t until; /* 0: the entry is free; up to now: it has expired, and another may have it */
};

struct once {
    pthread_mutex_t lock;
    int64_t freed;              /* when expired entries were freed */
    int counts[UINT16_MAX + 1]; /* of entries, by the key's hash: keys that meet share one */
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

static bool has(const struct once_entry *entry, const uint8_t *which) {
    return entry->until && memcmp(entry->which, which, ONCE_BYTES) == 0;
}

static void free_entry(struct once *once, struct once_entry *entry) {
    if (entry->until) once->counts[entry->key]--;
    entry->until = 0;
}

/* FNV-1a, folded. */
static uint16_t hash_of(const char *key) {
    uint32_t hash = 2166136261;
    for (; *key; key++) hash = (hash ^ (unsigned char)*key) * 16777619;
    return (uint16_t)(hash ^ hash >> 16);
}

static bool has_share(struct once *once, uint16_t key, int64_t now) {
    if (once->counts[key] >= ONCE_KEY_MAX && once->freed < now) {
        once->freed = now;
        for (int i = 0; i < ENTRIES; i++)
            if (once->entries[i].until <= now) free_entry(once, &once->entries[i]);
    }
    return once->counts[key] < ONCE_KEY_MAX;
}

/* The entry that has WHICH, or else the first to be free or to expire. */
static struct once_entry *find(struct once *once, const uint8_t *which) {
    struct once_entry *first = entry_at(once, which, 0);
    for (int i = 0; i < PROBES; i++) {
        struct once_entry *entry = entry_at(once, which, i);
        if (has(entry, which)) return entry;
        if (entry->until < first->until) first = entry;
    }
    return first;
}

enum once_answer once_take(struct once *once, const char *key, const uint8_t which[ONCE_BYTES],
                           int64_t left_s, int64_t now) {
    const uint16_t hash = hash_of(key);
    pthread_mutex_lock(&once->lock);
    struct once_entry *entry = find(once, which);
    enum once_answer answer = left_s <= 0 || has(entry, which) ? ONCE_USED : ONCE_FULL;
    if (answer == ONCE_FULL && entry->until <= now && has_share(once, hash, now)) {
        free_entry(once, entry);
        memcpy(entry->which, which, ONCE_BYTES);
        entry->key = hash;
        entry->until = now + left_s + 1; /* the clocks' seconds do not begin together */
        once->counts[hash]++;
        answer = ONCE_TAKEN;
    }
    pthread_mutex_unlock(&once->lock);
    return answer;
}

void once_give_back(struct once *once, const uint8_t which[ONCE_BYTES]) {
    pthread_mutex_lock(&once->lock);
    struct once_entry *entry = find(once, which);
    if (has(entry, which)) free_entry(once, entry);
    pthread_mutex_unlock(&once->lock);
}
