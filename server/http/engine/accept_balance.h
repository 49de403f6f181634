// SPDX-License-Identifier: Apache-2.0
/* accept_balance.h - which of several I/O threads takes a new connection: one that has few.
 *
 * The threads share a socket, and each accepts as many connections as wait: the first that wakes
 * would have nearly all of those that come together, and do all the work.
 *
 * Used by:  listener.c joins and leaves; connection.c counts; io_thread.c accepts.
 * Owns:     nothing; a share is the front's memory, and outlives its listener.
 * Threads:  joining and leaving: the main thread; counting and accepting: the share's own.
 * Limits:   a thread that has more than others leaves a connection to them for 1 ms, no longer:
 *           they may be busy.
 */
#ifndef BURIN_ACCEPT_BALANCE_H
#define BURIN_ACCEPT_BALANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ACCEPT_SHARES_MAX = 64 };

/* Of one thread. */
struct accept_share {
    struct accept_balance *balance;
    int connections_max;
    atomic_bool accepts;
    atomic_int connections;    /* open */
    int64_t first_ns, last_ns; /* when it began to leave connections to others, and last did */
};

/* Zeroed at the start. */
struct accept_balance {
    struct accept_share shares[ACCEPT_SHARES_MAX];
    int count;
};

/* A share for a thread with CONNECTIONS_MAX connections; NULL: there is none left. */
struct accept_share *accept_balance_join(struct accept_balance *balance, int connections_max);

/* Nobody leaves a connection to it any more. Accepts NULL. */
void accept_balance_leave(struct accept_share *share);

/* True: another thread has fewer connections, and may take this one. False where SHARE is NULL. */
bool accept_balance_leaves(struct accept_share *share);

/* Nobody of the balance may take one more. False where SHARE is NULL. */
bool accept_balance_is_full(const struct accept_share *share);

/* A connection has begun (1) or ended (-1). Accepts NULL. */
void accept_balance_count(struct accept_share *share, int change);

#endif
