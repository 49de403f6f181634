// SPDX-License-Identifier: Apache-2.0
#include "server/access/once.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* How it works. An address is in one of the PROBES entries from the place that its digest gives.
 * Entries are counted by key. What has expired is remembered, and counted, until its entry is
 * needed, or until its key has too many: then all such entries are freed, at most once a second.
 * The system's clock may jump; judge.c goes by it. So an address has expired here only if it would
 * have by the monotonic clock too, and else is refused as long as it is remembered. */
enum { ENTRIES = 1 << 16, PROBES = 128 };

struct once_entry {
    uint8_t which[ONCE_BYTES];
    uint16_t key;
    int64_t until;   /* by the monotonic clock; 0: the entry is free */
    int64_t expires; /* by the system's */
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

/* Another address may have the entry. What expires later than any address may is not valid. */
static bool is_over(const struct once_entry *entry, int64_t wall, int64_t now) {
    return entry->until <= now &&
           (entry->expires <= wall || entry->expires - wall > ONCE_SECONDS_MAX);
}

static bool has_share(struct once *once, uint16_t key, int64_t wall, int64_t now) {
    if (once->counts[key] >= ONCE_KEY_MAX && once->freed < now) {
        once->freed = now;
        for (int i = 0; i < ENTRIES; i++)
            if (is_over(&once->entries[i], wall, now)) free_entry(once, &once->entries[i]);
    }
    return once->counts[key] < ONCE_KEY_MAX;
}

/* The entry that has WHICH, or else the one that was over first, or NULL. */
static struct once_entry *find(struct once *once, const uint8_t *which, int64_t wall, int64_t now) {
    struct once_entry *over = NULL;
    for (int i = 0; i < PROBES; i++) {
        struct once_entry *entry = entry_at(once, which, i);
        if (has(entry, which)) return entry;
        if (is_over(entry, wall, now) && (!over || entry->until < over->until)) over = entry;
    }
    return over;
}

enum once_answer once_take(struct once *once, const char *key, const uint8_t which[ONCE_BYTES],
                           int64_t expires, int64_t wall, int64_t now) {
    const uint16_t hash = hash_of(key);
    enum once_answer answer = ONCE_FULL;
    pthread_mutex_lock(&once->lock);
    struct once_entry *entry = find(once, which, wall, now);
    if (expires <= wall || (entry && has(entry, which))) {
        answer = ONCE_USED;
    } else if (entry && has_share(once, hash, wall, now)) {
        free_entry(once, entry);
        memcpy(entry->which, which, ONCE_BYTES);
        entry->key = hash;
        entry->until = now + (expires - wall) + 1; /* the clocks' seconds do not begin together */
        entry->expires = expires;
        once->counts[hash]++;
        answer = ONCE_TAKEN;
    }
    pthread_mutex_unlock(&once->lock);
    return answer;
}

void once_give_back(struct once *once, const uint8_t which[ONCE_BYTES]) {
    pthread_mutex_lock(&once->lock);
    for (int i = 0; i < PROBES; i++)
        if (has(entry_at(once, which, i), which)) free_entry(once, entry_at(once, which, i));
    pthread_mutex_unlock(&once->lock);
}
