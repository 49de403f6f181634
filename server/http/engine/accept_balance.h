// SPDX-License-Identifier: Apache-2.0
/* accept_balance.h - spreads new connections over the I/O threads: one that has few takes the next.
 *
 * The threads share a listening socket, and each accepts all connections that wait. Without this,
 * the thread that wakes first would take nearly all connections that arrive together.
 *
 * Used by:  listener.c joins, leaves and accepts; connection.c counts.
 * Owns:     nothing; a share is part of the front's memory, and outlives its listener.
 * Threads:  join and leave: the main thread; count, leaves, is_full: the share's I/O thread.
 * Limits:   a thread that has more than others leaves a connection to them for at most 1 ms: they
 *           may be busy.
 */
#ifndef BURIN_ACCEPT_BALANCE_H
#define BURIN_ACCEPT_BALANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ACCEPT_SHARES_MAX = 64 };

/* One thread's. */
struct accept_share {
    struct accept_balance *balance;
    int connections_max;
    atomic_bool accepts;
    atomic_int connections;    /* open */
    int64_t first_ns, last_ns; /* first and last time it left this connection to others */
};

/* Zeroed at the start. */
struct accept_balance {
    struct accept_share shares[ACCEPT_SHARES_MAX];
    int count;
};

/* A share for a thread with at most CONNECTIONS_MAX connections; NULL: none is left. */
struct accept_share *accept_balance_join(struct accept_balance *balance, int connections_max);

/* Other threads leave it no more connections. Accepts NULL. */
void accept_balance_leave(struct accept_share *share);

/* True: leave this connection to another thread, which has fewer. False if SHARE is NULL. */
bool accept_balance_leaves(struct accept_share *share);

/* True: no thread may take one more. False if SHARE is NULL. */
bool accept_balance_is_full(const struct accept_share *share);

/* A connection has begun (1) or ended (-1). Accepts NULL. */
void accept_balance_count(struct accept_share *share, int change);

#endif
