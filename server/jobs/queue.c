// SPDX-License-Identifier: Apache-2.0
/* How it works. A doubly linked list through arrays that are indexed by slot: every step takes the
 * same time, and a slot is found without a search. */
#include "server/jobs/queue.h"

#include <stdlib.h>

enum { NONE = -1, ABSENT = -2 };

struct queue {
    int capacity, length, first, last;
    int *next, *previous; /* by slot; next is ABSENT where the slot does not wait */
};

struct queue *queue_create(int capacity, int slots) {
    struct queue *queue = calloc(1, sizeof *queue);
    if (!queue) return NULL;
    queue->next = malloc((size_t)slots * sizeof(int));
    queue->previous = malloc((size_t)slots * sizeof(int));
    if (!queue->next || !queue->previous) return queue_destroy(queue), NULL;
    for (int i = 0; i < slots; i++) queue->next[i] = ABSENT;
    queue->capacity = capacity;
    queue->first = queue->last = NONE;
    return queue;
}

void queue_destroy(struct queue *queue) {
    if (!queue) return;
    free(queue->next);
    free(queue->previous);
    free(queue);
}

static void link_between(struct queue *queue, int slot, int previous, int next) {
    queue->previous[slot] = previous;
    queue->next[slot] = next;
    *(previous == NONE ? &queue->first : &queue->next[previous]) = slot;
    *(next == NONE ? &queue->last : &queue->previous[next]) = slot;
    queue->length++;
}

bool queue_push(struct queue *queue, int slot) {
    if (queue->length >= queue->capacity) return false;
    link_between(queue, slot, queue->last, NONE);
    return true;
}

void queue_push_front(struct queue *queue, int slot) {
    link_between(queue, slot, NONE, queue->first);
}

bool queue_remove(struct queue *queue, int slot) {
    if (queue->next[slot] == ABSENT) return false;
    const int previous = queue->previous[slot], next = queue->next[slot];
    *(previous == NONE ? &queue->first : &queue->next[previous]) = next;
    *(next == NONE ? &queue->last : &queue->previous[next]) = previous;
    queue->next[slot] = ABSENT;
    queue->length--;
    return true;
}

int queue_length(const struct queue *queue) {
    return queue->length;
}

int queue_first(const struct queue *queue) {
    return queue->first;
}

int queue_next(const struct queue *queue, int slot) {
    return queue->next[slot];
}
