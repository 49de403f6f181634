// SPDX-License-Identifier: Apache-2.0
/* queue.h - bounded line of jobs that wait for a worker, fair by client.
 *
 * Clients share the workers' time: it is start-time fair queueing with a job's predicted cost as
 * its length. A client that has had little comes before one that has had much, however many jobs
 * either sends. Among a client's own jobs short ones come before long ones, until these have waited
 * as long as they take.
 *
 *     for (slot = queue_first(queue); slot >= 0; slot = queue_next(queue))
 *         if (a worker takes it) queue_serve(queue, slot);
 *
 * One client may fill the whole queue. When another comes and it is full, the client with the most
 * jobs gives up its newest one.
 *
 * Used by:  dispatcher.c, under the supervisor's lock; the queue has none of its own.
 * Owns:     nothing; a slot's number waits in it.
 * Fails:    queue_push takes no job beyond `capacity` unless queue_displace finds one to go for it.
 *           queue_push_front never fails for a job that was in the queue before: there is a place
 *           for every slot.
 * Limits:   fixed by queue_create. While the queue is full, a question looks at each client once.
 * Source:   P. Goyal, H. M. Vin, H. Cheng: Start-time Fair Queuing, SIGCOMM 1996; P. E. McKenney:
 *           Stochastic Fairness Queueing, INFOCOM 1990 (a full queue drops of the longest flow).
 */
#ifndef BURIN_QUEUE_H
#define BURIN_QUEUE_H

#include "server/client.h"

#include <stdbool.h>
#include <stdint.h>

struct queue;

struct queue_options {
    int capacity; /* jobs */
    int slots;    /* how many different jobs there can be at all */
};

struct queue *queue_create(const struct queue_options *options);
void queue_destroy(struct queue *queue);

struct queue_job {
    struct client client;
    double cost_ms;   /* predicted */
    int64_t since_ns; /* when it came, a time of clock_ns */
};

/* false: there is no room. May leave the queue with one job more than its capacity, which
 * queue_displace then finds. */
bool queue_push(struct queue *queue, int slot, const struct queue_job *job);

/* Would queue_push take the next job but MORE of CLIENT? NULL: of a client that nobody knows, for
 * which no other's job makes room. */
bool queue_has_room(const struct queue *queue, const struct client *client, int more);

/* While the queue is longer than its capacity: removes the newest job of the client with the most
 * jobs. Returns its slot; -1: the queue is not too long. */
int queue_displace(struct queue *queue);

void queue_push_front(struct queue *queue, int slot); /* a job whose worker died goes first */
bool queue_remove(struct queue *queue, int slot);     /* false: it does not wait here */

/* It goes to a worker: its client has had its turn. */
void queue_serve(struct queue *queue, int slot);

/* Nothing waits, and no worker has a job: what clients have had is forgotten. */
void queue_rest(struct queue *queue);

/* A walk over all that wait, in their order; -1: there are no more. Of what the walk has come to
 * any may be served or removed meanwhile; anything else ends the walk. */
int queue_first(struct queue *queue);
int queue_next(struct queue *queue);

bool queue_has(const struct queue *queue, int slot);
int queue_length(const struct queue *queue);
double queue_cost_ms(const struct queue *queue); /* of all that wait, about */
int queue_clients(const struct queue *queue);    /* of which jobs wait */

#endif
