// SPDX-License-Identifier: Apache-2.0
#include "server/http/engine/accept_balance.h"

#include "pipeline/timing.h"
#include "server/log/log.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS = 1 << 20, AHEAD = 1, PAUSE_US = 20000 };

#define PATIENCE_NS INT64_C(1000000)
#define EPISODE_NS  (10 * PATIENCE_NS) /* so long after the last time it is another connection */

/* By descriptor, as recv_filter.c has its filters. */
static _Atomic(struct accept_share *) shares[DESCRIPTORS];

struct accept_share *accept_balance_join(struct accept_balance *balance, int fd,
                                         int connections_max) {
    if (balance->count == ACCEPT_SHARES_MAX || fd < 0 || fd >= DESCRIPTORS) return NULL;
    struct accept_share *share = &balance->shares[balance->count];
    share->balance = balance;
    share->fd = fd;
    share->connections_max = connections_max;
    atomic_store(&share->accepts, true);
    balance->count++;
    atomic_store(&shares[fd], share);
    return share;
}

void accept_balance_leave(struct accept_share *share) {
    if (!share || !atomic_exchange(&share->accepts, false)) return;
    atomic_store(&shares[share->fd], NULL);
}

void accept_balance_count(struct accept_share *share, int change) {
    if (share) atomic_fetch_add_explicit(&share->connections, change, memory_order_relaxed);
}

/* The fewest connections that any other has who may take one more; INT_MAX: nobody may. Shares that
 * have not joined yet accept nothing. */
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

static bool leaves_it_to_others(struct accept_share *mine) {
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

static bool is_short(void) {
    return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

/* To such an error the library listens no more until one of its connections ends; where it has
 * none, it would come again at once, and nobody else waits for this thread. Of a thread without a
 * share, which has a socket to itself, it is not known: its few clients wait with it. */
static int pause_accepting(const struct accept_share *share) {
    static struct log_limit limit;
    const int error = errno;
    int left_out;
    if (log_limit_allows(&limit, clock_ns(), &left_out))
        log_event(LOG_ERROR, "no connection can be accepted until another one ends: %s",
                  strerror(error));
    errno = error;
    if (share && atomic_load_explicit(&share->connections, memory_order_relaxed) > 0) return -1;
    usleep(PAUSE_US);
    errno = EAGAIN;
    return -1;
}

/* The library's accept4(2): the program comes before libc where a shared library's names are looked
 * up. To EAGAIN it says nothing, and comes again at its next turn. */
int accept_balance_accept(int fd, struct sockaddr *address, socklen_t *length,
                          int flags) __asm__("accept4");

int accept_balance_accept(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    struct accept_share *share = fd >= 0 && fd < DESCRIPTORS ? atomic_load(&shares[fd]) : NULL;
    if (share && leaves_it_to_others(share)) {
        sched_yield();
        errno = EAGAIN;
        return -1;
    }
    const int connection = (int)syscall(SYS_accept4, fd, address, length, flags);
    return connection < 0 && is_short() ? pause_accepting(share) : connection;
}
