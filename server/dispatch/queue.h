// SPDX-License-Identifier: Apache-2.0
/* queue.h - bounded queue of jobs that wait for a worker, fair by client.
 *
 * Clients share the workers' time by start-time fair queueing, with a job's predicted cost, divided
 * by its client's share, as its length: a client that has used little time comes before one that
 * has used much, however many jobs either sends. Among a client's own jobs short ones come before
 * long ones, until a long one has waited as long as it takes.
 *
 *     for (slot = queue_first(queue); slot >= 0; slot = queue_next(queue))
 *         if (a worker takes it) queue_serve(queue, slot);
 *
 * One client may fill the whole queue. When another one's job comes then, the client with the most
 * jobs loses its newest one.
 *
 * Used by:  dispatcher.c.
 * Owns:     its memory; the slots whose numbers it holds stay the caller's.
 * Fails:    queue_create returns NULL without memory. queue_push takes no job beyond `capacity`
 *           unless queue_displace finds one to go for it. queue_push_again and queue_push_front
 *           never fail: there is an entry for every slot.
 * Threads:  one at a time, under the supervisor's lock.
 * Limits:   fixed by queue_create. queue_has_room on a full queue looks at each client once.
 * Source:   P. Goyal, H. M. Vin, H. Cheng: Start-time Fair Queuing, SIGCOMM 1996; P. E. McKenney:
 *           Stochastic Fairness Queueing, INFOCOM 1990 (a full queue drops from the longest flow).
 */
#ifndef BURIN_QUEUE_H
#define BURIN_QUEUE_H

#include "server/client.h"

#include <stdbool.h>
#include <stdint.h>

struct queue;

struct queue_options {
    int capacity; /* jobs */
    int slots;    /* slots are numbered from 0 to this */
};

struct queue *queue_create(const struct queue_options *options);
void queue_destroy(struct queue *queue);

struct queue_job {
    struct client client;
    double cost_ms;   /* predicted */
    int64_t since_ns; /* when the job came, a time of clock_ns */
    int share;        /* the client's weight beside others; 0: 1 */
};

/* false: there is no room. May leave the queue one job above its capacity; the caller then calls
 * queue_displace. */
bool queue_push(struct queue *queue, int slot, const struct queue_job *job);

/* True if queue_push would take one more job of CLIENT after MORE others. NULL: an unknown client,
 * for which no other client's job is displaced. */
bool queue_has_room(const struct queue *queue, const struct client *client, int more);

/* If the queue is above its capacity, removes the newest job of the client with the most jobs.
 * Returns its slot, or -1. */
int queue_displace(struct queue *queue);

/* For a further run of a job, whose cost was charged with the first one and is 0 here: among its
 * client's jobs this one is due at once. */
void queue_push_again(struct queue *queue, int slot, const struct queue_job *job);

void queue_push_front(struct queue *queue, int slot); /* for a job whose worker died */
bool queue_remove(struct queue *queue, int slot);     /* false: the job is not queued */

/* Removes a job that goes to a worker, and charges its cost to its client. */
void queue_serve(struct queue *queue, int slot);

/* Forgets how much time clients have used; for when no job is queued or running. */
void queue_forget_usage(struct queue *queue);

/* A walk over all queued jobs, in their order; -1: the end. Jobs already visited may be served or
 * removed during the walk; any other change ends it. */
int queue_first(struct queue *queue);
int queue_next(struct queue *queue);

bool queue_has(const struct queue *queue, int slot);
int queue_length(const struct queue *queue);
double queue_cost_ms(const struct queue *queue); /* sum over the queued jobs, rounded */
int queue_clients(const struct queue *queue);    /* clients with queued jobs */

#endif
