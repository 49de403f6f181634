// SPDX-License-Identifier: Apache-2.0
/* How.
 *
 * A connection's phase and the end of it are one atomic word, so that setting a phase is one store:
 * the end in nanoseconds, its low three bits replaced by the phase. The thread looks at all words
 * when the first end it saw has come, at most once a TICK; an end set meanwhile lies at least
 * `shortest` in the future, so sleeping that long misses none and setters need not wake the thread.
 *
 * epoll watches each socket for EPOLLRDHUP, edge triggered: the kernel does not wake us for data,
 * and reports a half-closed socket once. That sets `gone`, for good. In the waiting phase the
 * callback follows. In other phases the client may have shut down its side behind a whole request,
 * so the library is left to read what there is; only when all of it has been read and nothing has
 * moved for GRACE has it missed the FIN, and the socket is shut down.
 *
 * Locks. watch.lock guards the table; watched.lock guards gone, callback and argument, and is held
 * during a callback. The thread takes watched.lock under watch.lock and gives up watch.lock before
 * it calls; nobody takes watch.lock under watched.lock. watch_remove takes the entry off the table
 * first, so nobody finds it any more, and then its lock, so nobody is left in it. Events name an
 * entry by place and generation, so one that lies behind is recognised as stale. */
#include "server/http/watch.h"

#include "pipeline/timing.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS_NS   INT64_C(1000000)
#define TICK    (50 * MS_NS)  /* the thread looks no more often */
#define GRACE   (250 * MS_NS) /* for the library to notice a FIN */
#define LONGEST (INT64_C(86400) * 1000 * MS_NS)
#define NO_END  (INT64_MAX & ~INT64_C(7))
#define WAKE    UINT64_MAX /* epoll's name for the eventfd */
#define EVENTS  64

enum phase { PHASE_HEADERS, PHASE_BODY, PHASE_WAITING, PHASE_WRITE, PHASE_IDLE };

struct watched {
    struct watch *watch;
    int fd;
    uint32_t place, generation; /* in the table */
    _Atomic int64_t word;       /* end | phase */

    /* of the thread that sets phases */
    int64_t started_ns; /* of a body or an answer that watch_progress prolongs; 0: it does not */
    int64_t expected;   /* bytes, INT64_MAX if unknown */
    long rate_bytes;

    pthread_mutex_t lock;
    atomic_bool gone; /* written under the lock */
    void (*callback)(void *argument);
    void *argument;

    /* of the watcher's thread */
    bool cut;                         /* shut down already */
    int64_t drained_word, drained_ns; /* since when nothing has moved, for GRACE */
};

struct watch {
    struct watch_limits limits;
    int64_t shortest; /* of all ends that can be set */
    int epoll, wake;
    pthread_t thread;
    atomic_bool stop;
    _Atomic uint64_t by_reason[WATCH_REASONS];

    pthread_mutex_t lock;
    struct watched **table; /* NULL: a free place */
    uint32_t room, used;    /* used: places looked at, the free ones among them too */
    uint32_t lowest;        /* no place below it is free */
    uint32_t generation;
    int count;
};

static enum phase phase_of(int64_t word) {
    return (enum phase)(word & 7);
}

static int64_t end_of(int64_t word) {
    return word & ~INT64_C(7);
}

static void count(struct watch *watch, enum watch_reason reason) {
    atomic_fetch_add_explicit(&watch->by_reason[reason], 1, memory_order_relaxed);
}

/* ---- phases, on the connection's thread ---- */

/* The next phase. Leaving the waiting phase ends the right to call. */
static void set_word(struct watched *watched, int64_t end, enum phase phase) {
    int64_t now = atomic_load_explicit(&watched->word, memory_order_relaxed);
    int64_t word = (end & ~INT64_C(7)) | phase;
    bool waited = phase_of(now) == PHASE_WAITING;
    if (waited) {
        pthread_mutex_lock(&watched->lock);
        watched->callback = NULL;
    }
    atomic_store_explicit(&watched->word, word, memory_order_release);
    if (waited) pthread_mutex_unlock(&watched->lock);
}

static int64_t end_after(int64_t now, long ms) {
    return ms > 0 ? now + ms * MS_NS : NO_END;
}

/* max(MS, BYTES / RATE) after START. */
static int64_t end_of_bytes(int64_t start, long ms, int64_t bytes, long rate_bytes) {
    if (ms <= 0) return NO_END;
    double at_rate = rate_bytes > 0 ? (double)bytes / (double)rate_bytes * 1e9 : 0;
    int64_t ns = at_rate < (double)LONGEST ? (int64_t)at_rate : LONGEST;
    return start + (ns > ms * MS_NS ? ns : ms * MS_NS);
}

void watch_phase_headers(struct watched *watched) {
    if (!watched) return;
    int64_t word = atomic_load_explicit(&watched->word, memory_order_relaxed);
    if (phase_of(word) == PHASE_HEADERS) return;
    set_word(watched, end_after(clock_ns(), watched->watch->limits.header_ms), PHASE_HEADERS);
}

void watch_phase_begun(struct watched *watched) {
    if (!watched) return;
    int64_t word = atomic_load_explicit(&watched->word, memory_order_relaxed);
    if (phase_of(word) == PHASE_IDLE) watch_phase_headers(watched);
}

void watch_phase_body(struct watched *watched, int64_t expected) {
    if (!watched) return;
    const struct watch_limits *limits = &watched->watch->limits;
    watched->started_ns = clock_ns();
    watched->expected = expected < 0 ? INT64_MAX : expected;
    watched->rate_bytes = limits->body_rate_bytes;
    set_word(watched, end_after(watched->started_ns, limits->body_ms), PHASE_BODY);
}

void watch_phase_write(struct watched *watched, int64_t bytes) {
    if (!watched) return;
    const struct watch_limits *limits = &watched->watch->limits;
    int64_t now = clock_ns();
    watched->started_ns = bytes < 0 ? now : 0;
    watched->expected = INT64_MAX;
    watched->rate_bytes = limits->write_rate_bytes;
    set_word(watched,
             end_of_bytes(now, limits->write_ms, bytes < 0 ? 0 : bytes, limits->write_rate_bytes),
             PHASE_WRITE);
}

void watch_progress(struct watched *watched, int64_t bytes) {
    if (!watched) return;
    enum phase phase = phase_of(atomic_load_explicit(&watched->word, memory_order_relaxed));
    if (watched->started_ns == 0 || (phase != PHASE_BODY && phase != PHASE_WRITE)) return;
    if (bytes > watched->expected) bytes = watched->expected;
    const struct watch_limits *limits = &watched->watch->limits;
    const long ms = phase == PHASE_BODY ? limits->body_ms : limits->write_ms;
    set_word(watched, end_of_bytes(watched->started_ns, ms, bytes, watched->rate_bytes), phase);
}

void watch_phase_idle(struct watched *watched) {
    if (!watched) return;
    set_word(watched, end_after(clock_ns(), watched->watch->limits.keep_alive_ms), PHASE_IDLE);
}

static void wake(struct watch *watch) {
    const uint64_t one = 1;
    ssize_t ignored = write(watch->wake, &one, sizeof one); /* full means: awake already */
    (void)ignored;
}

/* The client may have left before: then its event has been and gone, and the thread is told. Either
 * it finds the waiting phase, or we find `gone`, for both are written under the lock. */
void watch_phase_waiting(struct watched *watched, void (*gone)(void *argument), void *argument) {
    if (!watched) return;
    pthread_mutex_lock(&watched->lock);
    watched->callback = gone;
    watched->argument = argument;
    atomic_store(&watched->word, NO_END | PHASE_WAITING);
    bool late = atomic_load_explicit(&watched->gone, memory_order_relaxed);
    pthread_mutex_unlock(&watched->lock);
    if (late) wake(watched->watch);
}

/* ---- the table ---- */

/* Under watch.lock. */
static bool take_place(struct watch *watch, struct watched *watched) {
    uint32_t place = watch->lowest;
    while (place < watch->used && watch->table[place]) place++;
    if (place == watch->room) {
        uint32_t room = watch->room ? 2 * watch->room : 64;
        struct watched **table = realloc(watch->table, room * sizeof(*table));
        if (!table) return false;
        watch->table = table;
        watch->room = room;
    }
    if (place == watch->used) watch->used++;
    watched->place = place;
    watched->generation = ++watch->generation;
    watch->table[place] = watched;
    watch->lowest = place + 1;
    watch->count++;
    return true;
}

/* Under watch.lock. */
static void leave_place(struct watch *watch, const struct watched *watched) {
    watch->table[watched->place] = NULL;
    watch->count--;
    if (watched->place < watch->lowest) watch->lowest = watched->place;
    while (watch->used && !watch->table[watch->used - 1]) watch->used--;
}

static bool enter(struct watch *watch, struct watched *watched) {
    pthread_mutex_lock(&watch->lock);
    bool entered = take_place(watch, watched);
    if (entered) {
        struct epoll_event event = {
            .events = EPOLLRDHUP | EPOLLET,
            .data.u64 = (uint64_t)watched->generation << 32 | watched->place,
        };
        entered = epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watched->fd, &event) == 0;
        if (!entered) leave_place(watch, watched);
    }
    pthread_mutex_unlock(&watch->lock);
    return entered;
}

struct watched *watch_add(struct watch *watch, int fd) {
    struct watched *watched = calloc(1, sizeof *watched);
    if (watched) {
        watched->watch = watch;
        watched->fd = fd;
        atomic_init(&watched->word, end_after(clock_ns(), watch->limits.header_ms) & ~INT64_C(7));
        pthread_mutex_init(&watched->lock, NULL);
        if (enter(watch, watched)) return watched;
        pthread_mutex_destroy(&watched->lock);
        free(watched);
    }
    shutdown(fd, SHUT_RDWR);
    count(watch, WATCH_UNWATCHED);
    return NULL;
}

void watch_remove(struct watch *watch, struct watched *watched) {
    if (!watched) return;
    pthread_mutex_lock(&watch->lock);
    leave_place(watch, watched);
    pthread_mutex_unlock(&watch->lock);
    epoll_ctl(watch->epoll, EPOLL_CTL_DEL, watched->fd, NULL);
    pthread_mutex_lock(&watched->lock); /* a callback under way is waited for */
    pthread_mutex_unlock(&watched->lock);
    pthread_mutex_destroy(&watched->lock);
    free(watched);
}

/* ---- the watcher's thread ---- */

/* Called with watch.lock and without watched.lock; gives up watch.lock during the callback. */
static void notify(struct watch *watch, struct watched *watched, bool gone) {
    pthread_mutex_lock(&watched->lock);
    if (gone) atomic_store(&watched->gone, true);
    pthread_mutex_unlock(&watch->lock);
    void (*callback)(void *) = watched->callback; /* NULL but in the waiting phase */
    if (callback) {
        watched->callback = NULL;
        count(watch, WATCH_LEFT);
        callback(watched->argument);
    }
    pthread_mutex_unlock(&watched->lock);
    pthread_mutex_lock(&watch->lock);
}

static void take_event(struct watch *watch, uint64_t name) {
    uint32_t place = (uint32_t)name, generation = (uint32_t)(name >> 32);
    pthread_mutex_lock(&watch->lock);
    struct watched *watched = place < watch->used ? watch->table[place] : NULL;
    if (watched && watched->generation == generation) notify(watch, watched, true);
    pthread_mutex_unlock(&watch->lock);
}

static const enum watch_reason reasons[] = {
    [PHASE_HEADERS] = WATCH_HEADERS,
    [PHASE_BODY] = WATCH_BODY,
    [PHASE_WRITE] = WATCH_WRITE,
    [PHASE_IDLE] = WATCH_KEEP_ALIVE,
};

/* Under watch.lock, so that the descriptor is still open. If the phase has just changed, nothing.
 */
static void cut(struct watch *watch, struct watched *watched, int64_t word,
                enum watch_reason reason) {
    if (atomic_load(&watched->word) != word) return;
    watched->cut = true;
    count(watch, reason);
    shutdown(watched->fd, SHUT_RDWR);
}

/* The client has left, not in the waiting phase: has the library read all that came, and not moved
 * since? In the write phase it may be sending to one who only shut down his side. */
static bool overlooked(struct watched *watched, int64_t word, int64_t now) {
    int unread = 0;
    if (phase_of(word) == PHASE_WRITE || ioctl(watched->fd, FIONREAD, &unread) < 0 || unread > 0)
        word = -1;
    if (word == -1 || watched->drained_word != word) {
        watched->drained_word = word;
        watched->drained_ns = now;
        return false;
    }
    return now - watched->drained_ns >= GRACE;
}

/* Under watch.lock. Returns when to look again. */
static int64_t look(struct watch *watch, struct watched *watched, int64_t now) {
    int64_t word = atomic_load(&watched->word);
    if (phase_of(word) == PHASE_WAITING) {
        if (watched->gone) notify(watch, watched, false);
        return NO_END;
    }
    if (watched->cut) return NO_END;
    if (end_of(word) <= now) {
        cut(watch, watched, word, reasons[phase_of(word)]);
        return NO_END;
    }
    if (!watched->gone) return end_of(word);
    if (overlooked(watched, word, now)) cut(watch, watched, word, WATCH_HUNG_UP);
    return now + TICK;
}

/* Returns when to look again. The table may change where notify gives up its lock: places only. */
static int64_t look_at_all(struct watch *watch, int64_t now) {
    int64_t next = now + watch->shortest;
    pthread_mutex_lock(&watch->lock);
    for (uint32_t place = 0; place < watch->used; place++) {
        if (!watch->table[place]) continue;
        int64_t end = look(watch, watch->table[place], now);
        if (end < next) next = end;
    }
    pthread_mutex_unlock(&watch->lock);
    return next < now + TICK ? now + TICK : next;
}

static void *run(void *argument) {
    struct watch *watch = argument;
    int64_t next = 0;
    while (!atomic_load(&watch->stop)) {
        struct epoll_event events[EVENTS];
        int64_t wait_ns = next - clock_ns();
        int wait_ms = wait_ns > 0 ? (int)((wait_ns + MS_NS - 1) / MS_NS) : 0;
        int got = epoll_wait(watch->epoll, events, EVENTS, wait_ms);
        bool woken = false;
        for (int i = 0; i < got; i++) {
            uint64_t ignored;
            if (events[i].data.u64 != WAKE)
                take_event(watch, events[i].data.u64);
            else
                woken = read(watch->wake, &ignored, sizeof ignored) > 0;
        }
        int64_t now = clock_ns();
        if (got > 0 && next > now + TICK) next = now + TICK; /* one who left needs a look */
        if (woken || now >= next) next = look_at_all(watch, now);
    }
    return NULL;
}

/* ---- life ---- */

static int64_t shortest_of(const struct watch_limits *limits) {
    const long all[] = { limits->header_ms, limits->body_ms, limits->keep_alive_ms,
                         limits->write_ms };
    int64_t shortest = 3600 * 1000 * MS_NS;
    for (int i = 0; i < 4; i++)
        if (all[i] > 0 && all[i] * MS_NS < shortest) shortest = all[i] * MS_NS;
    return shortest;
}

/* The thread takes no signal: they are for the main thread. */
static bool start(struct watch *watch) {
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = WAKE };
    sigset_t all, before;
    if (watch->epoll < 0 || watch->wake < 0 ||
        epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->wake, &event) < 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&watch->thread, NULL, run, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_setname_np(watch->thread, "watch");
    return started;
}

static void release(struct watch *watch) {
    if (watch->epoll >= 0) close(watch->epoll);
    if (watch->wake >= 0) close(watch->wake);
    pthread_mutex_destroy(&watch->lock);
    free(watch->table);
    free(watch);
}

struct watch *watch_create(const struct watch_limits *limits) {
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch) return NULL;
    watch->limits = *limits;
    watch->shortest = shortest_of(limits);
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&watch->lock, NULL);
    if (start(watch)) return watch;
    release(watch);
    return NULL;
}

void watch_destroy(struct watch *watch) {
    if (!watch) return;
    atomic_store(&watch->stop, true);
    wake(watch);
    pthread_join(watch->thread, NULL);
    release(watch);
}

void watch_counts(struct watch *watch, struct watch_counts *counts) {
    for (int i = 0; i < WATCH_REASONS; i++)
        counts->by_reason[i] = atomic_load_explicit(&watch->by_reason[i], memory_order_relaxed);
    pthread_mutex_lock(&watch->lock);
    counts->watched = watch->count;
    pthread_mutex_unlock(&watch->lock);
}

const char *watch_reason_name(enum watch_reason reason) {
    static const char *const names[WATCH_REASONS] = { "headers",    "body", "write",
                                                      "keep_alive", "left", "hung_up",
                                                      "unwatched" };
    return (unsigned)reason < WATCH_REASONS ? names[reason] : "unknown";
}
