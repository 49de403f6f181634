// SPDX-License-Identifier: Apache-2.0
/* deadline_state.h - what deadline.c sets and deadline_thread.c checks.
 *
 * Used by:  deadline.c, deadline_thread.c, deadline_drain.c, eviction.c, connection_eviction.c.
 * Threads:  each field says whose it is.
 */
#ifndef BURIN_DEADLINE_STATE_H
#define BURIN_DEADLINE_STATE_H

#include "server/http/engine/acked_bytes.h"
#include "server/http/engine/connection_table.h"
#include "server/http/engine/deadline_thread.h"
#include "server/http/engine/deadline_time.h"
#include "server/http/engine/eviction.h"
#include "server/http/engine/pace.h"
#include "server/http/engine/pressure.h"

#include <linux/sockios.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

/* PHASE_LONG_WRITE: of an answer so long that the client's pace decides. Its word's time is
 * write_ms from its start. */
enum phase { PHASE_HEADERS, PHASE_BODY, PHASE_WAITING, PHASE_WRITE, PHASE_LONG_WRITE, PHASE_IDLE };

struct deadline {
    struct deadline_thread *deadlines;
    int fd;
    uint64_t id;           /* in the table, and to epoll */
    _Atomic uint64_t peer; /* whose it is, see connection_eviction.h; 0: never let go */
    _Atomic int64_t word;  /* time | phase */

    /* of a body or an answer; set before the word by the thread that enters phases */
    _Atomic int64_t started_ns;
    _Atomic int64_t bytes, moved_ns; /* of a body: how many have come, and when the last did */
    _Atomic int64_t held;            /* kept from others in this phase, see deadline_hold */

    /* of a body or an answer, INT64_MAX if unknown; set before the word */
    _Atomic int64_t expected;

    /* of a long answer, set before the word; the deadlines' thread may read it with an older word,
     * and then does nothing by it */
    _Atomic int64_t first_acked;

    pthread_mutex_t lock;
    atomic_bool gone; /* the client has disconnected; written under the lock */
    void (*callback)(void *argument);
    void *argument;

    bool cut; /* shut down already; under deadlines.lock */

    /* of the deadlines' thread */
    int64_t idle_word, idle_ns; /* since when nothing has moved, for GRACE */
    int64_t acked_word;         /* the answer that `acked` is of */
    struct acked_bytes acked;
    int64_t pace_of; /* the start of the phase that `pace` is of */
    struct pace pace;
    int64_t unread_ns; /* when bytes of its body were last seen that we had not read */

    /* of the thread that drains, under deadlines.lock */
    int64_t drained_of;               /* the start of the body or answer that these are of */
    int64_t drained_ns, drained_from; /* when its bytes were looked at, and how many had moved */
    int64_t drained_rate;             /* bytes a second that are asked of it since then */
};

struct deadline_thread {
    struct deadline_limits limits;
    int64_t shortest; /* of all deadlines that can be set, and a second */
    int64_t pace;     /* between two looks at a long answer */
    int epoll, wake;
    pthread_t thread;
    atomic_bool stop;
    struct pressure pressure;
    struct eviction eviction; /* the thread's */
    _Atomic uint64_t by_reason[END_REASONS];

    pthread_mutex_t lock;
    struct connection_table table;
};

static inline enum phase deadline_phase(int64_t word) {
    return (enum phase)(word & 7);
}

static inline bool deadline_is_answer(enum phase phase) {
    return phase == PHASE_WRITE || phase == PHASE_LONG_WRITE;
}

static inline int64_t deadline_time(int64_t word) {
    return word & ~INT64_C(7);
}

/* When it entered the phase that WORD tells: idle, or headers. */
static inline int64_t deadline_entered(const struct deadline_limits *limits, int64_t word) {
    const bool idle = deadline_phase(word) == PHASE_IDLE;
    const long allowed_ms = idle ? limits->keep_alive_ms : limits->header_ms;
    return allowed_ms > 0 ? deadline_time(word) - allowed_ms * MS_NS : 0;
}

/* A client is not blamed for us: bytes that we have not read, and an answer of which nothing is on
 * its way, are our own delay. Under deadlines.lock. */
static inline bool deadline_waits_for_client(const struct deadline *deadline, enum phase phase) {
    int bytes = 0;
    if (deadline_is_answer(phase)) return ioctl(deadline->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
    return ioctl(deadline->fd, FIONREAD, &bytes) == 0 && bytes == 0;
}

/* Under deadlines.lock, so that the descriptor is still open. Shuts the connection down, unless its
 * phase has just changed: then it says so. */
bool deadline_cut(struct deadline_thread *deadlines, struct deadline *deadline, int64_t word,
                  enum end_reason reason);

/* Wakes the deadlines' thread. */
void deadline_thread_wake(struct deadline_thread *deadlines);

#endif
