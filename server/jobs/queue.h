// SPDX-License-Identifier: Apache-2.0
/* queue.h - bounded line of jobs that wait for a worker, oldest first.
 *
 * Used by:  dispatcher.c, under the supervisor's lock; the queue has none of its own.
 * Owns:     nothing; a slot's number waits in it.
 * Fails:    queue_push returns false when `capacity` jobs wait. queue_push_front never fails for a
 *           job that was in the queue before: there is a place for every slot.
 * Limits:   capacity fixed by queue_create.
 */
#ifndef BURIN_QUEUE_H
#define BURIN_QUEUE_H

#include <stdbool.h>

struct queue;

/* SLOTS: how many different jobs there can be at all. */
struct queue *queue_create(int capacity, int slots);
void queue_destroy(struct queue *queue);

bool queue_push(struct queue *queue, int slot);
void queue_push_front(struct queue *queue, int slot); /* a job whose worker died goes first */
bool queue_remove(struct queue *queue, int slot);     /* false: it does not wait here */

int queue_length(const struct queue *queue);
int queue_first(const struct queue *queue);          /* -1: empty */
int queue_next(const struct queue *queue, int slot); /* -1: SLOT is the last */

#endif
