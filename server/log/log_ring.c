// SPDX-License-Identifier: Apache-2.0
/* How it works. A line is a record: its length, in 4 bytes, and its text, together a multiple of 8,
 * so that a length never lies across the ring's end. Who puts one in first takes the room, by
 * moving `head`, then copies the text, and at last writes the length, which says that the record is
 * whole. Who takes one out zeroes it before it gives the room back by moving `tail`: a length that
 * is not written yet is 0. A thread that is stopped between taking room and writing the length
 * holds back the lines behind it, and nobody who puts more in. */
#include "server/log/log_ring.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = sizeof(uint32_t), STEP = 8 };

struct log_ring {
    uint64_t head; /* atomic; both count on for ever */
    uint64_t tail; /* atomic */
    size_t size;   /* a power of two */
    char *bytes;
};

struct log_ring *log_ring_create(size_t bytes) {
    struct log_ring *ring = calloc(1, sizeof *ring);
    if (!ring) return NULL;
    ring->size = 2 * LOG_LINE_MAX;
    while (ring->size < bytes) ring->size *= 2;
    ring->bytes = calloc(1, ring->size);
    if (ring->bytes) return ring;
    free(ring);
    return NULL;
}

void log_ring_destroy(struct log_ring *ring) {
    if (!ring) return;
    free(ring->bytes);
    free(ring);
}

static size_t record_bytes(size_t length) {
    return (HEAD + length + STEP - 1) / STEP * STEP;
}

static uint32_t *length_at(const struct log_ring *ring, uint64_t at) {
    return (uint32_t *)(void *)(ring->bytes + (at & (ring->size - 1)));
}

/* How much of LENGTH bytes from AT lies before the ring's end. */
static size_t first_part(const struct log_ring *ring, uint64_t at, size_t length) {
    const size_t left = ring->size - (at & (ring->size - 1));
    return length < left ? length : left;
}

/* The acquire: what is taken here is zero, and stays so until we write. */
static bool take_room(struct log_ring *ring, size_t need, uint64_t *at) {
    *at = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    do {
        const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
        if ((int64_t)(*at + need - tail) > (int64_t)ring->size) return false;
    } while (!__atomic_compare_exchange_n(&ring->head, at, *at + need, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    return true;
}

bool log_ring_put(struct log_ring *ring, const char *line, size_t length) {
    uint64_t at;
    if (!length || length > LOG_LINE_MAX || !take_room(ring, record_bytes(length), &at))
        return false;
    const uint64_t text = at + HEAD;
    const size_t first = first_part(ring, text, length);
    memcpy(ring->bytes + (text & (ring->size - 1)), line, first);
    memcpy(ring->bytes, line + first, length - first);
    __atomic_store_n(length_at(ring, at), (uint32_t)length, __ATOMIC_RELEASE);
    return true;
}

static void take_text(struct log_ring *ring, uint64_t at, char *to, size_t length) {
    const uint64_t text = at + HEAD;
    const size_t first = first_part(ring, text, length);
    memcpy(to, ring->bytes + (text & (ring->size - 1)), first);
    memcpy(to + first, ring->bytes, length - first);
}

static void give_room(struct log_ring *ring, uint64_t at, size_t bytes) {
    const size_t first = first_part(ring, at, bytes);
    memset(ring->bytes + (at & (ring->size - 1)), 0, first);
    memset(ring->bytes, 0, bytes - first);
    __atomic_store_n(&ring->tail, at + bytes, __ATOMIC_RELEASE);
}

size_t log_ring_take(struct log_ring *ring, char *to, size_t size, uint64_t *lines) {
    size_t taken = 0;
    for (;;) {
        const uint64_t at = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
        const size_t length = __atomic_load_n(length_at(ring, at), __ATOMIC_ACQUIRE);
        if (!length || taken + length > size) return taken;
        take_text(ring, at, to + taken, length);
        give_room(ring, at, record_bytes(length));
        taken += length;
        ++*lines;
    }
}

uint64_t log_ring_head(const struct log_ring *ring) {
    return __atomic_load_n(&ring->head, __ATOMIC_SEQ_CST);
}

uint64_t log_ring_tail(const struct log_ring *ring) {
    return __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
}

size_t log_ring_size(const struct log_ring *ring) {
    return ring->size;
}
