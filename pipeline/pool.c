// SPDX-License-Identifier: Apache-2.0
/* How it works. pool_run puts a ticket, which lies on the caller's stack, into a queue: first come,
 * first served. The ticket's indices are claimed with one atomic addition, without the lock; the
 * lock guards the queue and the number of helpers inside a ticket. A helper enters a ticket only
 * while the ticket is queued, and the caller returns only when its ticket has left the queue and no
 * helper is inside, so a ticket never outlives its stack frame. A caller waits only for indices
 * that are being worked on, so calls may nest. */
#include "pipeline/pool.h"

#include "pipeline/thread_remains.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct ticket {
    void (*work)(void *argument, int index);
    void *argument;
    int count;
    atomic_int next;      /* first unclaimed index */
    int helpers;          /* helpers inside, without the caller; under the lock */
    bool waiting;         /* in the queue; under the lock */
    pthread_cond_t left;  /* the last helper has left */
    struct ticket *after; /* in the queue; under the lock */
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t come; /* signals a new ticket or the end */
    struct ticket *first, *last;
    int idle; /* helpers that wait on `come` */
    bool ending;
    bool leaves_nothing;
    int helper_count;
    pthread_t helpers[];
};

static void enqueue(struct pool *pool, struct ticket *ticket) {
    ticket->waiting = true;
    if (pool->first)
        pool->last->after = ticket;
    else
        pool->first = ticket;
    pool->last = ticket;
}

static void dequeue(struct pool *pool, struct ticket *ticket) {
    if (!ticket->waiting) return;
    struct ticket **link = &pool->first, *before = NULL;
    for (; *link != ticket; link = &before->after) before = *link;
    *link = ticket->after;
    if (pool->last == ticket) pool->last = before;
    ticket->waiting = false;
}

static void work_off(struct ticket *ticket) {
    int index;
    while ((index = atomic_fetch_add_explicit(&ticket->next, 1, memory_order_relaxed)) <
           ticket->count)
        ticket->work(ticket->argument, index);
}

static void *help(void *argument) {
    struct pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        pool->idle++;
        while (!pool->first && !pool->ending) pthread_cond_wait(&pool->come, &pool->lock);
        pool->idle--;
        struct ticket *ticket = pool->first;
        if (!ticket) break;
        ticket->helpers++;
        pthread_mutex_unlock(&pool->lock);
        work_off(ticket);
        if (pool->leaves_nothing) thread_remains_clear();
        pthread_mutex_lock(&pool->lock);
        dequeue(pool, ticket);
        if (--ticket->helpers == 0) pthread_cond_signal(&ticket->left);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct pool *pool_create(int threads) {
    assert(threads >= 1);
    struct pool *pool = calloc(1, sizeof *pool + (size_t)(threads - 1) * sizeof(pthread_t));
    if (!pool) return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->come, NULL);

    /* Helpers block all signals; the existing threads handle them. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (pool->helper_count < threads - 1 &&
           pthread_create(&pool->helpers[pool->helper_count], NULL, help, pool) == 0)
        pool->helper_count++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);

    if (pool->helper_count == threads - 1) return pool;
    pool_destroy(pool);
    return NULL;
}

void pool_destroy(struct pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    assert(!pool->first);
    pool->ending = true;
    pthread_cond_broadcast(&pool->come);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->helper_count; i++) pthread_join(pool->helpers[i], NULL);
    pthread_cond_destroy(&pool->come);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void pool_leave_nothing(struct pool *pool) {
    if (pool) pool->leaves_nothing = true;
}

int pool_threads(const struct pool *pool) {
    return pool ? pool->helper_count + 1 : 1;
}

static void run_shared(struct pool *pool, struct ticket *ticket) {
    pthread_cond_init(&ticket->left, NULL);
    pthread_mutex_lock(&pool->lock);
    enqueue(pool, ticket);
    int wanted = ticket->count - 1 < pool->idle ? ticket->count - 1 : pool->idle;
    pthread_mutex_unlock(&pool->lock);
    /* Busy helpers look at the queue again by themselves, so only idle ones are woken. */
    for (int i = 0; i < wanted; i++) pthread_cond_signal(&pool->come);

    work_off(ticket);

    pthread_mutex_lock(&pool->lock);
    dequeue(pool, ticket);
    while (ticket->helpers) pthread_cond_wait(&ticket->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&ticket->left);
}

void pool_run(struct pool *pool, void (*work)(void *argument, int index), void *argument,
              int count) {
    if (!pool || !pool->helper_count || count <= 1) {
        for (int index = 0; index < count; index++) work(argument, index);
        return;
    }
    struct ticket ticket = { .work = work, .argument = argument, .count = count };
    run_shared(pool, &ticket);
}
