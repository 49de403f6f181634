// SPDX-License-Identifier: Apache-2.0
/* deadline_state.h - the connections, their deadlines, and what is short: the state that deadline.c
 * and eviction.c share.
 *
 * Used by:  deadline.c, eviction.c.
 * Owns:     nothing; deadline.c creates and frees it.
 * Threads:  each field names its thread or lock.
 * Units:    times are nanoseconds of CLOCK_MONOTONIC; a deadline is at most a day ahead.
 */
#ifndef BURIN_DEADLINE_STATE_H
#define BURIN_DEADLINE_STATE_H

#include "server/http/engine/deadline.h"
#include "server/http/engine/eviction.h"

#include <linux/sockios.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* The low three bits of a deadline's word are its phase; those of NO_DEADLINE are 0. */
#define MS_NS       INT64_C(1000000)
#define LONGEST_NS  (INT64_C(86400) * 1000 * MS_NS)
#define NO_DEADLINE (INT64_MAX & ~INT64_C(7))

/* PHASE_LONG_WRITE: an answer so long that the client's pace decides. Its word's time is write_ms
 * from its start. */
enum phase { PHASE_HEADERS, PHASE_BODY, PHASE_WAITING, PHASE_WRITE, PHASE_LONG_WRITE, PHASE_IDLE };

/* How fast a client receives a long answer, by the bytes that its kernel has acknowledged: the
 * library does not report what it sends. TCP only (tcp_info of linux/tcp.h, RFC 4898). Bytes in the
 * client's receive buffer count as received. */
struct acked_bytes {
    int64_t start_ns;       /* of the answer */
    int64_t first;          /* the count at the start */
    int64_t last, moved_ns; /* the last count, and when it last changed */
};

/* How fast a body came, or an answer was acknowledged, over the last half to whole window. The
 * average since the start would excuse a client that sends much at first and then stands still. */
struct pace {
    int64_t older_ns, older; /* start of the measured interval: a time, and the count then */
    int64_t newer_ns, newer; /* start of the next interval */
    int64_t last, moved_ns;  /* the last count, and when it was first seen */
};

struct deadline {
    struct deadline_thread *deadlines;
    int fd;
    uint64_t id;           /* in the table, and to epoll */
    _Atomic uint64_t peer; /* key of the client's address; 0: connection_eviction_run exempts it */
    _Atomic int64_t word;  /* time | phase */

    /* of a body or an answer; the I/O thread sets them before the word */
    _Atomic int64_t started_ns;
    _Atomic int64_t bytes, moved_ns; /* of a body: the bytes so far, and when the last one came */
    _Atomic int64_t held;            /* see deadline_hold */
    _Atomic int64_t expected;        /* bytes in all; INT64_MAX: unknown */

    /* of a long answer, set before the word; the deadline thread may read it with an older word,
     * and then makes no use of it */
    _Atomic int64_t first_acked;

    pthread_mutex_t lock;
    atomic_bool gone; /* the client has disconnected; written under the lock */
    void (*callback)(void *argument);
    void *argument;

    bool cut; /* shut down already; under deadlines.lock */

    /* of the deadline thread */
    int64_t idle_word, idle_ns; /* nothing has moved since idle_ns, for GRACE */
    int64_t acked_word;         /* the answer that `acked` belongs to */
    struct acked_bytes acked;
    int64_t pace_of; /* start of the phase that `pace` belongs to */
    struct pace pace;
    int64_t unread_ns; /* when we last had unread bytes of its body */

    /* of the draining thread, under deadlines.lock */
    int64_t drained_of;               /* start of the body or answer that these belong to */
    int64_t drained_ns, drained_from; /* start of the window, and its count of bytes then */
    int64_t drained_rate;             /* bytes a second required in it */
};

/* The open connections. An id is never given twice, so that a late event of a closed connection is
 * recognised: the generation in the upper half, the index in the lower one. */
struct connection_table {
    struct table_entry {
        struct deadline *deadline; /* NULL: free */
        uint32_t generation;
    } * entries;
    uint32_t capacity, used; /* used: entries to walk, free ones included */
    uint32_t lowest_free;    /* no entry below it is free */
    uint32_t generation;
    int count;
};

/* The shortage of one resource. */
struct demand {
    int64_t wanted;   /* -1: nothing; 0: none is left, though no request was refused yet */
    int64_t until_ns; /* when the demand lapses */
    int64_t missing;  /* must become free; 0: it is not short */
    int steps;        /* doublings of the required rate */
    int64_t step_ns;  /* when it last rose or fell */
};

struct pressure {
    struct pressure_options options;
    _Atomic int64_t reported[RESOURCES]; /* the most since the last look, as `wanted` */
    struct demand demands[RESOURCES];    /* the deadline thread's */
};

/* Clients that may be cut off while something is short. */
struct eviction {
    struct candidate {
        struct deadline *deadline;
        int64_t word;
        double rate; /* bytes a second, lately */
        bool young;  /* it began less than patience_ms ago: too early to judge */
    } * candidates;
    uint32_t count, capacity;
};

struct deadline_thread {
    struct deadline_limits limits;
    int64_t shortest; /* the shortest of all deadlines that can be set, at most a second */
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

/* When the connection entered the phase in WORD, which is idle or headers. */
static inline int64_t deadline_entered(const struct deadline_limits *limits, int64_t word) {
    const bool idle = deadline_phase(word) == PHASE_IDLE;
    const long allowed_ms = idle ? limits->keep_alive_ms : limits->header_ms;
    return allowed_ms > 0 ? deadline_time(word) - allowed_ms * MS_NS : 0;
}

/* Whether the client is the one to act. Bytes that we have not read, and an answer with no bytes in
 * flight, are our own delay. Under deadlines.lock. */
static inline bool deadline_waits_for_client(const struct deadline *deadline, enum phase phase) {
    int bytes = 0;
    if (deadline_is_answer(phase)) return ioctl(deadline->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
    return ioctl(deadline->fd, FIONREAD, &bytes) == 0 && bytes == 0;
}

/* ---- deadline.c */

/* Shuts the connection down. False: its phase has just changed, and nothing is done. Under
 * deadlines.lock, so that the descriptor is still open. */
bool deadline_cut(struct deadline_thread *deadlines, struct deadline *deadline, int64_t word,
                  enum end_reason reason);

/* Bytes that the client has acknowledged since it connected; -1: no TCP socket. */
int64_t acked_bytes_count(int fd);

/* An answer began at START_NS, when the count was FIRST. */
void acked_bytes_begin(struct acked_bytes *acked, int64_t start_ns, int64_t first);

/* Reads FD's count at NOW_NS and returns the answer's deadline, should the count not change again:
 * MS after its last change, but no later than what was acknowledged allows at RATE_BYTES a second,
 * or MS after the start. */
int64_t acked_bytes_deadline(struct acked_bytes *acked, int fd, int64_t now_ns, long ms,
                             long rate_bytes);

void deadline_thread_wake(struct deadline_thread *deadlines);

/* ---- eviction.c; all but pressure_report are called by the deadline thread */

void pressure_init(struct pressure *pressure, const struct pressure_options *options);

/* Notes a shortage (deadline_thread_note_pressure). True: the first report since the last look, so
 * the thread must be woken. */
bool pressure_report(struct pressure *pressure, enum resource resource, int64_t wanted);

/* Takes the reports. False: nothing is or was lately short; the next look can wait for a report. */
bool pressure_look(struct pressure *pressure, int64_t now_ns);

static inline int64_t pressure_missing(const struct pressure *pressure, enum resource resource) {
    return pressure->demands[resource].missing;
}

/* Cutting off clients below the present rate does not suffice: raises the rate, if a request was
 * refused. Clients that send or receive hold HELD; if that is little, work holds the rest, and the
 * rate stays. */
void pressure_raise(struct pressure *pressure, enum resource resource, int64_t held,
                    int64_t now_ns);

/* The rate required now, in bytes a second, where BASE is required at first. */
int64_t pressure_rate(const struct pressure *pressure, enum resource resource, int64_t base);

/* Cuts off as many clients as pressure_missing needs: those that stand still, then the slowest.
 * Under deadlines.lock. */
void eviction_run(struct deadline_thread *deadlines, int64_t now_ns);

#endif
