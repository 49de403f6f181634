// SPDX-License-Identifier: Apache-2.0
/* current.h - the table or the set that is in force: a reload replaces it as a whole while requests
 * go on with the one that they hold.
 *
 * A thing begins with an int, the number of its holders, which is atomic. A holder is added under
 * the lock while the thing is in force, or by a caller that holds it already. So once it is
 * replaced, only its holders can add one, and a sole holder remains the only one.
 *
 * Used by:  generation.c and request/service.h (operators), http/front_state.h and http/reload.c
 *           (keys).
 * Owns:     a hold of the thing in force.
 * Threads:  any.
 */
#ifndef BURIN_CURRENT_H
#define BURIN_CURRENT_H

#include <pthread.h>

struct current {
    pthread_mutex_t lock;
    void *thing; /* NULL: none */
};

/* Takes over the caller's hold of FIRST, which may be NULL. */
static inline void current_init(struct current *current, void *first) {
    pthread_mutex_init(&current->lock, NULL);
    current->thing = first;
}

/* The thing in force, held for the caller; NULL: none. */
static inline void *current_hold(struct current *current) {
    pthread_mutex_lock(&current->lock);
    int *holders = current->thing;
    if (holders) __atomic_add_fetch(holders, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&current->lock);
    return holders;
}

/* Puts NEXT in force, and takes over the caller's hold of it; returns what was in force before,
 * whose hold is the caller's now. */
static inline void *current_replace(struct current *current, void *next) {
    pthread_mutex_lock(&current->lock);
    void *before = current->thing;
    current->thing = next;
    pthread_mutex_unlock(&current->lock);
    return before;
}

#endif
