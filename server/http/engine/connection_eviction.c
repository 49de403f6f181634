// SPDX-License-Identifier: Apache-2.0
/* How it works. Each client's connections are ranked from the youngest, 1, to the oldest. The
 * highest ranks of all go first, and of equal ones the oldest: that is the same as to take the
 * oldest of who has the most, one by one. */
#include "server/http/engine/connection_eviction.h"

#include "pipeline/timing.h"
#include "server/http/engine/deadline_state.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

struct idler {
    struct deadline *deadline;
    int64_t word, since_ns;
    uint64_t peer;
    uint32_t rank;
};

/* An IPv4 address lies beyond all prefixes that are in use; 0 is nobody. */
void connection_eviction_peer(struct deadline *deadline, const struct sockaddr *peer) {
    uint64_t key = 1;
    if (!deadline) return;
    if (peer && peer->sa_family == AF_INET)
        key = UINT64_C(0xffff) << 32 |
              ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr;
    if (peer && peer->sa_family == AF_INET6)
        memcpy(&key, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, sizeof key);
    atomic_store_explicit(&deadline->peer, key ? key : 1, memory_order_relaxed);
}

/* Since when no request is under way and nothing comes; false: one is. */
static bool idles(const struct deadline_thread *deadlines, const struct deadline *deadline,
                  int64_t word, int64_t now, int64_t *since_ns) {
    const struct pressure_options *options = &deadlines->pressure.options;
    const enum phase phase = deadline_phase(word);
    long patience_ms = options->idle_patience_ms;
    if (phase == PHASE_BODY) {
        *since_ns = atomic_load_explicit(&deadline->moved_ns, memory_order_relaxed);
        patience_ms = options->patience_ms;
    } else if (phase == PHASE_IDLE || phase == PHASE_HEADERS) {
        *since_ns = deadline_entered(&deadlines->limits, word);
    } else {
        return false;
    }
    return now - *since_ns >= patience_ms * MS_NS;
}

/* By client, the youngest first. */
static int by_peer(const void *a, const void *b) {
    const struct idler *x = a, *y = b;
    if (x->peer != y->peer) return x->peer > y->peer ? 1 : -1;
    return (x->since_ns < y->since_ns) - (x->since_ns > y->since_ns);
}

static int by_rank(const void *a, const void *b) {
    const struct idler *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? 1 : -1;
    return (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

static void rank(struct idler *idlers, uint32_t count) {
    qsort(idlers, count, sizeof *idlers, by_peer);
    for (uint32_t i = 0; i < count; i++)
        idlers[i].rank = i && idlers[i].peer == idlers[i - 1].peer ? idlers[i - 1].rank + 1 : 1;
    qsort(idlers, count, sizeof *idlers, by_rank);
}

/* Those that can be let go; *LEAVING: those that have been, and are still there. */
static uint32_t find_idlers(const struct deadline_thread *deadlines, struct idler *idlers,
                            int *leaving) {
    const int64_t now = clock_ns();
    uint32_t count = 0;
    *leaving = 0;
    for (uint32_t index = 0; index < deadlines->table.used; index++) {
        struct deadline *deadline = deadlines->table.entries[index].deadline;
        if (!deadline) continue;
        const uint64_t peer = atomic_load_explicit(&deadline->peer, memory_order_relaxed);
        const int64_t word = atomic_load(&deadline->word);
        int64_t since_ns;
        if (!peer) continue;
        if (deadline->cut)
            ++*leaving;
        else if (idles(deadlines, deadline, word, now, &since_ns))
            idlers[count++] = (struct idler){ deadline, word, since_ns, peer, 0 };
    }
    return count;
}

/* Bytes that are not read yet may be a request. */
static bool let_go(struct deadline_thread *deadlines, const struct idler *idler) {
    int unread = 0;
    return ioctl(idler->deadline->fd, FIONREAD, &unread) == 0 && unread == 0 &&
           deadline_cut(deadlines, idler->deadline, idler->word, ENDED_CROWDED);
}

int connection_eviction_run(struct deadline_thread *deadlines, int (*waiting)(const void *context),
                            const void *context) {
    int gone = 0;
    pthread_mutex_lock(&deadlines->lock);
    const int wanted = waiting(context);
    struct idler *idlers = malloc((deadlines->table.used + 1) * sizeof *idlers);
    if (idlers) {
        const uint32_t count = find_idlers(deadlines, idlers, &gone);
        if (gone < wanted) rank(idlers, count);
        for (uint32_t i = 0; i < count && gone < wanted; i++) gone += let_go(deadlines, &idlers[i]);
    }
    pthread_mutex_unlock(&deadlines->lock);
    free(idlers);
    return gone;
}
