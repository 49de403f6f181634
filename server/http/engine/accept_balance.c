// SPDX-License-Identifier: Apache-2.0
#include "server/http/engine/accept_balance.h"

#include "pipeline/timing.h"

#include <limits.h>
#include <stddef.h>

enum { AHEAD = 1 };

#define PATIENCE_NS INT64_C(1000000)
#define EPISODE_NS  (10 * PATIENCE_NS) /* after such a pause, the next connection is a new one */

struct accept_share *accept_balance_join(struct accept_balance *balance, int connections_max) {
    if (balance->count == ACCEPT_SHARES_MAX) return NULL;
    struct accept_share *share = &balance->shares[balance->count];
    share->balance = balance;
    share->connections_max = connections_max;
    atomic_store(&share->accepts, true);
    balance->count++;
    return share;
}

void accept_balance_leave(struct accept_share *share) {
    if (share) atomic_store(&share->accepts, false);
}

void accept_balance_count(struct accept_share *share, int change) {
    if (share) atomic_fetch_add_explicit(&share->connections, change, memory_order_relaxed);
}

/* The fewest connections of any other thread that may take one more; INT_MAX: none may. Shares that
 * have not joined do not accept. */
static int fewest_of_others(const struct accept_share *mine) {
    int fewest = INT_MAX;
    for (int i = 0; i < ACCEPT_SHARES_MAX; i++) {
        const struct accept_share *share = &mine->balance->shares[i];
        if (share == mine || !atomic_load(&share->accepts)) continue;
        const int count = atomic_load_explicit(&share->connections, memory_order_relaxed);
        if (count < share->connections_max && count < fewest) fewest = count;
    }
    return fewest;
}

bool accept_balance_is_full(const struct accept_share *share) {
    return share && atomic_load(&share->connections) >= share->connections_max &&
           fewest_of_others(share) == INT_MAX;
}

bool accept_balance_leaves(struct accept_share *mine) {
    if (!mine) return false;
    const int fewest = fewest_of_others(mine);
    const int own = atomic_load_explicit(&mine->connections, memory_order_relaxed);
    if (fewest == INT_MAX || own <= fewest + AHEAD) return false;
    const int64_t now = clock_ns();
    if (now - mine->last_ns > EPISODE_NS) mine->first_ns = now;
    mine->last_ns = now;
    if (now - mine->first_ns < PATIENCE_NS) return true;
    mine->last_ns = 0;
    return false;
}
