// SPDX-License-Identifier: Apache-2.0
/* How.
 *
 * A connection's phase and the end of it are one atomic word, so that setting a phase is one store:
 * the end in nanoseconds, its low three bits replaced by the phase. The thread looks at all words
 * when the first end it saw has come, at most once a TICK; an end set meanwhile lies at least
 * `shortest` in the future, so sleeping that long misses none and setters need not wake the thread.
 * Only the end of a long answer moves with what the client takes, which nobody but the kernel
 * knows: the thread is woken, and looks every `pace` while there is one. While bodies are pressed
 * it looks every PRESSED_PACE, and goes by their other end.
 *
 * epoll watches each socket for EPOLLRDHUP, edge triggered: the kernel does not wake us for data,
 * and reports a half-closed socket once. That sets `gone`, for good. In the waiting phase the
 * callback follows. In other phases the client may have shut down its side behind a whole request,
 * so the library is left to read what there is; only when all of it has been read and nothing has
 * moved for GRACE has it missed the FIN, and the socket is shut down.
 *
 * Locks. watch.lock guards the roll; watched.lock guards gone, callback and argument, and is held
 * during a callback. The thread takes watched.lock under watch.lock and gives up watch.lock before
 * it calls; nobody takes watch.lock under watched.lock. watch_remove takes the entry off the roll
 * first, so nobody finds it any more, and then its lock, so nobody is left in it. Events carry the
 * roll's name, so one that lies behind is recognised as stale. */
#include "server/http/watch.h"

#include "pipeline/timing.h"
#include "server/http/ends.h"
#include "server/http/press.h"
#include "server/http/roll.h"
#include "server/http/uptake.h"

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

#define TICK         (50 * MS_NS)  /* the thread looks no more often */
#define GRACE        (250 * MS_NS) /* for the library to notice a FIN */
#define PRESSED_PACE (2 * TICK)
#define WAKE         UINT64_MAX /* epoll's name for the eventfd */
#define EVENTS       64

/* PHASE_LONG: of an answer so long that the client's pace decides. Its word's end is write_ms
 * from its start. */
enum phase { PHASE_HEADERS, PHASE_BODY, PHASE_WAITING, PHASE_WRITE, PHASE_LONG, PHASE_IDLE };

struct watched {
    struct watch *watch;
    int fd;
    uint64_t name;               /* in the roll, and to epoll */
    _Atomic int64_t word;        /* end | phase */
    _Atomic int64_t pressed_end; /* of a body, set before the word */

    /* of the thread that sets phases */
    int64_t started_ns; /* of the body that watch_progress prolongs */
    int64_t expected;   /* its bytes, INT64_MAX if unknown */

    /* of a long answer, set before the word; the watcher may read it with a word that is no more,
     * and then does nothing by it */
    _Atomic int64_t first_mark;

    pthread_mutex_t lock;
    atomic_bool gone; /* written under the lock */
    void (*callback)(void *argument);
    void *argument;

    /* of the watcher's thread */
    bool cut;                         /* shut down already */
    int64_t drained_word, drained_ns; /* since when nothing has moved, for GRACE */
    int64_t taken_word;               /* the answer that `uptake` is of */
    struct uptake uptake;
};

struct watch {
    struct watch_limits limits;
    int64_t shortest; /* of all ends that can be set */
    int64_t pace;     /* between two looks at a long answer */
    int epoll, wake;
    pthread_t thread;
    atomic_bool stop;
    struct press press;
    bool pressed; /* at this look; the thread's */
    _Atomic uint64_t by_reason[WATCH_REASONS];

    pthread_mutex_t lock;
    struct roll roll;
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
    watched->started_ns = clock_ns();
    watched->expected = expected < 0 ? INT64_MAX : expected;
    atomic_store_explicit(&watched->pressed_end, NO_END, memory_order_relaxed);
    set_word(watched, end_after(watched->started_ns, watched->watch->limits.body_ms), PHASE_BODY);
}

void watch_progress(struct watched *watched, int64_t bytes) {
    if (!watched) return;
    enum phase phase = phase_of(atomic_load_explicit(&watched->word, memory_order_relaxed));
    if (phase != PHASE_BODY) return;
    if (bytes > watched->expected) bytes = watched->expected;
    const struct watch_limits *limits = &watched->watch->limits;
    const int64_t start = watched->started_ns;
    const long rate = limits->body_rate_bytes;
    atomic_store_explicit(&watched->pressed_end,
                          end_of_bytes(start, limits->body_pressed_ms, bytes, rate),
                          memory_order_relaxed);
    set_word(watched, end_of_bytes(start, limits->body_ms, bytes, rate), phase);
}

void watch_phase_idle(struct watched *watched) {
    if (!watched) return;
    set_word(watched, end_after(clock_ns(), watched->watch->limits.keep_alive_ms), PHASE_IDLE);
}

static void wake(struct watch *watch) {
    const uint64_t one = 1;
    ssize_t ignored = write(watch->wake, &one, sizeof one);
    (void)ignored;
}

void watch_press(struct watch *watch) {
    if (press_tell(&watch->press)) wake(watch);
}

void watch_phase_write(struct watched *watched, int64_t bytes) {
    if (!watched) return;
    const struct watch_limits *limits = &watched->watch->limits;
    const int64_t now = clock_ns(), end = end_after(now, limits->write_ms);
    const int64_t longest = end_of_bytes(now, limits->write_ms, bytes, limits->write_rate_bytes);
    const int64_t mark = longest > end ? uptake_mark(watched->fd) : -1;
    if (mark < 0) {
        set_word(watched, longest, PHASE_WRITE);
        return;
    }
    atomic_store_explicit(&watched->first_mark, mark, memory_order_relaxed);
    set_word(watched, end, PHASE_LONG);
    wake(watched->watch);
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

/* ---- connections ---- */

static bool enter(struct watch *watch, struct watched *watched) {
    pthread_mutex_lock(&watch->lock);
    bool entered = roll_enter(&watch->roll, watched, &watched->name);
    if (entered) {
        struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.u64 = watched->name };
        entered = epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watched->fd, &event) == 0;
        if (!entered) roll_leave(&watch->roll, watched->name);
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
    roll_leave(&watch->roll, watched->name);
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
    pthread_mutex_lock(&watch->lock);
    struct watched *watched = roll_find(&watch->roll, name);
    if (watched) notify(watch, watched, true);
    pthread_mutex_unlock(&watch->lock);
}

static const enum watch_reason reasons[] = {
    [PHASE_HEADERS] = WATCH_HEADERS, [PHASE_BODY] = WATCH_BODY,       [PHASE_WRITE] = WATCH_WRITE,
    [PHASE_LONG] = WATCH_WRITE,      [PHASE_IDLE] = WATCH_KEEP_ALIVE,
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
    const enum phase phase = phase_of(word);
    if (phase == PHASE_WRITE || phase == PHASE_LONG || ioctl(watched->fd, FIONREAD, &unread) < 0 ||
        unread > 0)
        word = -1;
    if (word == -1 || watched->drained_word != word) {
        watched->drained_word = word;
        watched->drained_ns = now;
        return false;
    }
    return now - watched->drained_ns >= GRACE;
}

/* When the client is given up, by what it has taken of a long answer. Under watch.lock, so that the
 * descriptor is still open. */
static int64_t end_of_answer(struct watch *watch, struct watched *watched, int64_t word,
                             int64_t now) {
    const struct watch_limits *limits = &watch->limits;
    if (watched->taken_word != word)
        uptake_begin(&watched->uptake, end_of(word) - limits->write_ms * MS_NS,
                     watched->first_mark);
    watched->taken_word = word;
    return uptake_end(&watched->uptake, watched->fd, now, limits->write_ms,
                      limits->write_rate_bytes);
}

/* Of a phase whose end does not move with what the client takes. */
static int64_t end_of_phase(const struct watch *watch, struct watched *watched, int64_t word) {
    const int64_t end = end_of(word);
    if (!watch->pressed || phase_of(word) != PHASE_BODY) return end;
    const int64_t pressed = atomic_load_explicit(&watched->pressed_end, memory_order_relaxed);
    return pressed < end ? pressed : end;
}

/* Under watch.lock. Returns when to look again. */
static int64_t look(struct watch *watch, struct watched *watched, int64_t now) {
    int64_t word = atomic_load(&watched->word);
    if (phase_of(word) == PHASE_WAITING) {
        if (watched->gone) notify(watch, watched, false);
        return NO_END;
    }
    if (watched->cut) return NO_END;
    const bool is_long = phase_of(word) == PHASE_LONG;
    const int64_t end =
        is_long ? end_of_answer(watch, watched, word, now) : end_of_phase(watch, watched, word);
    if (end <= now) {
        cut(watch, watched, word, reasons[phase_of(word)]);
        return NO_END;
    }
    if (!watched->gone) return is_long && end > now + watch->pace ? now + watch->pace : end;
    if (overlooked(watched, word, now)) cut(watch, watched, word, WATCH_HUNG_UP);
    return now + TICK;
}

/* Returns when to look again. The roll may change where notify gives up its lock: places only. */
static int64_t look_at_all(struct watch *watch, int64_t now) {
    watch->pressed = press_lasts(&watch->press);
    int64_t next = now + (watch->pressed ? PRESSED_PACE : watch->shortest);
    pthread_mutex_lock(&watch->lock);
    for (uint32_t place = 0; place < watch->roll.used; place++) {
        if (!watch->roll.places[place].watched) continue;
        int64_t end = look(watch, watch->roll.places[place].watched, now);
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
        for (int i = 0; i < got; i++)
            if (events[i].data.u64 != WAKE) take_event(watch, events[i].data.u64);
        int64_t now = clock_ns();
        if (got > 0 && next > now + TICK) next = now + TICK; /* who left or woke us needs a look */
        if (now >= next) next = look_at_all(watch, now);
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

/* A sixteenth of write_ms, for what the client takes is seen so much too late; 1 s at most. */
static int64_t pace_of(const struct watch_limits *limits) {
    const int64_t pace = limits->write_ms * MS_NS / 16;
    return pace < TICK ? TICK : pace < 1000 * MS_NS ? pace : 1000 * MS_NS;
}

/* The thread takes no signal: they are for the main thread. */
static bool start(struct watch *watch) {
    /* Edge triggered: each write is told once, and nobody reads it. */
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = WAKE };
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
    roll_release(&watch->roll);
    free(watch);
}

struct watch *watch_create(const struct watch_limits *limits) {
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch) return NULL;
    watch->limits = *limits;
    watch->press = (struct press){ limits->pressed, limits->context, false };
    watch->shortest = shortest_of(limits);
    watch->pace = pace_of(limits);
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
    counts->watched = watch->roll.count;
    pthread_mutex_unlock(&watch->lock);
}

const char *watch_reason_name(enum watch_reason reason) {
    static const char *const names[WATCH_REASONS] = { "headers",    "body", "write",
                                                      "keep_alive", "left", "hung_up",
                                                      "unwatched" };
    return (unsigned)reason < WATCH_REASONS ? names[reason] : "unknown";
}
