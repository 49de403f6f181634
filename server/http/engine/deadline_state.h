// SPDX-License-Identifier: Apache-2.0
/* deadline_state.h - what deadline.c sets and deadline_thread.c checks.
 *
 * Used by:  deadline.c, deadline_thread.c, deadline_drain.c, pressure.c, connection_eviction.c.
 * Threads:  each field says whose it is.
 */
#ifndef BURIN_DEADLINE_STATE_H
#define BURIN_DEADLINE_STATE_H

#include "server/http/engine/deadline_thread.h"
#include "server/http/engine/pressure.h"

#include <linux/sockios.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* Times are of CLOCK_MONOTONIC, in nanoseconds. A deadline lies at most a day ahead. The low three
 * bits of a word of `struct deadline` are its phase: those of NO_DEADLINE are free. */
#define MS_NS       INT64_C(1000000)
#define LONGEST_NS  (INT64_C(86400) * 1000 * MS_NS)
#define NO_DEADLINE (INT64_MAX & ~INT64_C(7))

/* PHASE_LONG_WRITE: of an answer so long that the client's pace decides. Its word's time is
 * write_ms from its start. */
enum phase { PHASE_HEADERS, PHASE_BODY, PHASE_WAITING, PHASE_WRITE, PHASE_LONG_WRITE, PHASE_IDLE };

/* How fast a client receives a long answer, by the bytes that its kernel has acknowledged: the
 * library does not report what it sends. TCP alone (tcp_info of linux/tcp.h, RFC 4898). Bytes in
 * the client's receive buffer count as received. */
struct acked_bytes {
    int64_t start_ns;       /* of the answer */
    int64_t first;          /* the count at the start */
    int64_t last, moved_ns; /* the last count, and since when it has not moved */
};

/* How fast a client has moved lately, over half a window to a whole one: a body's bytes that came,
 * or an answer's that were acknowledged. The average since the start would excuse one who sent much
 * at first and then stands still. */
struct pace {
    int64_t older_ns, older; /* where the part that counts begins: a time, and the count then */
    int64_t newer_ns, newer; /* where it will begin next */
    int64_t last, moved_ns;  /* the last count, and when it was first seen */
};

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

/* The open connections, each under an id that is never given twice, so that a late event of a
 * closed connection is recognised: the generation in the upper half, the index in the lower one. */
struct connection_table {
    struct table_entry {
        struct deadline *deadline; /* NULL: free */
        uint32_t generation;
    } * entries;
    uint32_t capacity, used; /* used: entries to look at, free ones among them too */
    uint32_t lowest_free;    /* no entry below it is free */
    uint32_t generation;
    int count;
};

/* Clients that may be let go while something is short; see pressure.c. */
struct eviction {
    struct candidate {
        struct deadline *deadline;
        int64_t word;
        double rate; /* bytes a second, lately */
        bool young;  /* it began less than patience_ms ago: nobody can say yet */
    } * candidates;
    uint32_t count, capacity;
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

/* MS of 0: no deadline. */
static inline int64_t deadline_after(int64_t now, long ms) {
    return ms > 0 ? now + ms * MS_NS : NO_DEADLINE;
}

/* max(MS, BYTES / RATE) after START. */
static inline int64_t deadline_of_bytes(int64_t start, long ms, int64_t bytes, long rate_bytes) {
    if (ms <= 0) return NO_DEADLINE;
    double at_rate = rate_bytes > 0 ? (double)bytes / (double)rate_bytes * 1e9 : 0;
    int64_t ns = at_rate < (double)LONGEST_NS ? (int64_t)at_rate : LONGEST_NS;
    return start + (ns > ms * MS_NS ? ns : ms * MS_NS);
}

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

/* Bytes that the client has acknowledged since it connected; -1: no TCP socket. */
int64_t acked_bytes_count(int fd);

/* An answer began at START_NS, when the count was FIRST. */
void acked_bytes_begin(struct acked_bytes *acked, int64_t start_ns, int64_t first);

/* Asks FD at NOW_NS. The deadline of the answer, unless the count moves again: MS after it last
 * moved, and no later than what was acknowledged allows at RATE_BYTES a second, or MS. */
int64_t acked_bytes_deadline(struct acked_bytes *acked, int fd, int64_t now_ns, long ms,
                             long rate_bytes);

/* Lets as many clients go as what is short needs, by pressure_missing: those that stand still, then
 * the slowest. The deadlines' thread, under its lock. */
void eviction_run(struct deadline_thread *deadlines, int64_t now_ns);

/* Wakes the deadlines' thread. */
void deadline_thread_wake(struct deadline_thread *deadlines);

#endif
