// SPDX-License-Identifier: Apache-2.0
/* pool.h - threads that share out the parts of a piece of work.
 *
 * Used by:  operators (bands of rows) and the GPU worker (a batch's images to decode or encode).
 * Threads:  pool_run may be called from several threads at once; each returns when its own parts
 * are done. The caller works too, so a pool of n threads is n - 1 helpers and the caller.
 */
#ifndef BURIN_POOL_H
#define BURIN_POOL_H

#ifdef __cplusplus
extern "C" {
#endif

struct pool;

/* THREADS >= 1. NULL when threads could not be had. */
struct pool *pool_create(int threads);
void pool_destroy(struct pool *pool); /* no pool_run may be under way; NULL is fine */

int pool_threads(const struct pool *pool); /* 1 for NULL */

/* Calls WORK(argument, part) once for every part in 0..parts-1, in any order, several at a time.
 * A NULL pool runs them one after the other on the caller. */
void pool_run(struct pool *pool, void (*work)(void *argument, int part), void *argument, int parts);

#ifdef __cplusplus
}
#endif
#endif
