// SPDX-License-Identifier: Apache-2.0
/* pool.h - threads that share the pieces of one piece of work.
 *
 * Used by:  operators (bands of rows) and the worker (a batch's images to decode or encode).
 * Owns:     its threads: a pool of n has n - 1 helpers; the caller works too.
 * Fails:    pool_create returns NULL.
 * Threads:  several threads may call pool_run at once, also from within work; each call returns
 *           when its own pieces are done.
 */
#ifndef BURIN_POOL_H
#define BURIN_POOL_H

#ifdef __cplusplus
extern "C" {
#endif

struct pool;

/* Starts THREADS - 1 helpers, THREADS >= 1. Returns NULL if they could not be started. */
struct pool *pool_create(int threads);
void pool_destroy(struct pool *pool); /* while no pool_run runs; NULL is fine */

int pool_threads(const struct pool *pool); /* 1 for NULL */

/* From now on a helper clears its stack and registers after each piece of work, before pool_run
 * returns. Call it before the first pool_run; NULL is fine. */
void pool_leave_nothing(struct pool *pool);

/* Calls WORK(argument, index) once for every index in 0..count-1, in any order, several at a time.
 * With a NULL pool the caller runs them one after the other. */
void pool_run(struct pool *pool, void (*work)(void *argument, int index), void *argument,
              int count);

#ifdef __cplusplus
}
#endif
#endif
