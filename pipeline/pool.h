// SPDX-License-Identifier: Apache-2.0
/* pool.h - threads that share the pieces of one work.
 *
 * Used by:  operators (bands of rows) and the worker (a batch's images to decode or encode).
 * Owns:     its threads; a pool of n is n - 1 helpers and the caller, who works too.
 * Threads:  pool_run may be called from several threads at once, and from within work; each returns
 *           when its own pieces are done.
 */
#ifndef BURIN_POOL_H
#define BURIN_POOL_H

#ifdef __cplusplus
extern "C" {
#endif

struct pool;

/* THREADS >= 1. NULL when threads could not be started. */
struct pool *pool_create(int threads);
void pool_destroy(struct pool *pool); /* no pool_run may be under way; NULL is fine */

int pool_threads(const struct pool *pool); /* 1 for NULL */

/* From now on a helper clears its stack and its registers behind each work, before pool_run
 * returns. Before the first pool_run; NULL is fine. */
void pool_leave_nothing(struct pool *pool);

/* Calls WORK(argument, index) once for every index in 0..count-1, in any order, several at a time.
 * A NULL pool runs them one after the other on the caller. */
void pool_run(struct pool *pool, void (*work)(void *argument, int index), void *argument,
              int count);

#ifdef __cplusplus
}
#endif
#endif
