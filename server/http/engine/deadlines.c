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
 * Locks. deadlines.lock guards the roll; deadline.lock guards gone, callback and argument, and is held
 * during a callback. The thread takes deadline.lock under deadlines.lock and gives up deadlines.lock before
 * it calls; nobody takes deadlines.lock under deadline.lock. deadlines_remove takes the entry off the roll
 * first, so nobody finds it any more, and then its lock, so nobody is left in it. Events carry the
 * roll's name, so one that lies behind is recognised as stale. */
#include "server/http/engine/deadlines.h"

#include "pipeline/timing.h"
#include "server/http/engine/acked_bytes.h"
#include "server/http/engine/connection_table.h"
#include "server/http/engine/deadline_time.h"
#include "server/http/engine/slot_pressure.h"

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

struct deadline {
    struct deadlines *deadlines;
    int fd;
    uint64_t name;               /* in the roll, and to epoll */
    _Atomic int64_t word;        /* end | phase */
    _Atomic int64_t pressed_end; /* of a body, set before the word */

    /* of the thread that sets phases */
    int64_t started_ns; /* of the body that deadline_body_progress prolongs */
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
    struct acked_bytes uptake;
};

struct deadlines {
    struct deadline_limits limits;
    int64_t shortest; /* of all ends that can be set */
    int64_t pace;     /* between two looks at a long answer */
    int epoll, wake;
    pthread_t thread;
    atomic_bool stop;
    struct slot_pressure press;
    bool pressed; /* at this look; the thread's */
    _Atomic uint64_t by_reason[END_REASONS];

    pthread_mutex_t lock;
    struct connection_table roll;
};

static enum phase phase_of(int64_t word) {
    return (enum phase)(word & 7);
}

static int64_t end_of(int64_t word) {
    return word & ~INT64_C(7);
}

static void count(struct deadlines *deadlines, enum end_reason reason) {
    atomic_fetch_add_explicit(&deadlines->by_reason[reason], 1, memory_order_relaxed);
}

/* ---- phases, on the connection's thread ---- */

/* The next phase. Leaving the waiting phase ends the right to call. */
static void set_word(struct deadline *deadline, int64_t end, enum phase phase) {
    int64_t now = atomic_load_explicit(&deadline->word, memory_order_relaxed);
    int64_t word = (end & ~INT64_C(7)) | phase;
    bool waited = phase_of(now) == PHASE_WAITING;
    if (waited) {
        pthread_mutex_lock(&deadline->lock);
        deadline->callback = NULL;
    }
    atomic_store_explicit(&deadline->word, word, memory_order_release);
    if (waited) pthread_mutex_unlock(&deadline->lock);
}

void deadline_enter_headers(struct deadline *deadline) {
    if (!deadline) return;
    int64_t word = atomic_load_explicit(&deadline->word, memory_order_relaxed);
    if (phase_of(word) == PHASE_HEADERS) return;
    set_word(deadline, deadline_after(clock_ns(), deadline->deadlines->limits.header_ms),
             PHASE_HEADERS);
}

void deadline_request_started(struct deadline *deadline) {
    if (!deadline) return;
    int64_t word = atomic_load_explicit(&deadline->word, memory_order_relaxed);
    if (phase_of(word) == PHASE_IDLE) deadline_enter_headers(deadline);
}

void deadline_enter_body(struct deadline *deadline, int64_t expected) {
    if (!deadline) return;
    deadline->started_ns = clock_ns();
    deadline->expected = expected < 0 ? INT64_MAX : expected;
    atomic_store_explicit(&deadline->pressed_end, NO_DEADLINE, memory_order_relaxed);
    set_word(deadline, deadline_after(deadline->started_ns, deadline->deadlines->limits.body_ms),
             PHASE_BODY);
}

void deadline_body_progress(struct deadline *deadline, int64_t bytes) {
    if (!deadline) return;
    enum phase phase = phase_of(atomic_load_explicit(&deadline->word, memory_order_relaxed));
    if (phase != PHASE_BODY) return;
    if (bytes > deadline->expected) bytes = deadline->expected;
    const struct deadline_limits *limits = &deadline->deadlines->limits;
    const int64_t start = deadline->started_ns;
    const long rate = limits->body_rate_bytes;
    atomic_store_explicit(&deadline->pressed_end,
                          deadline_of_bytes(start, limits->body_pressed_ms, bytes, rate),
                          memory_order_relaxed);
    set_word(deadline, deadline_of_bytes(start, limits->body_ms, bytes, rate), phase);
}

void deadline_enter_idle(struct deadline *deadline) {
    if (!deadline) return;
    set_word(deadline, deadline_after(clock_ns(), deadline->deadlines->limits.keep_alive_ms),
             PHASE_IDLE);
}

static void wake(struct deadlines *deadlines) {
    const uint64_t one = 1;
    ssize_t ignored = write(deadlines->wake, &one, sizeof one);
    (void)ignored;
}

void deadlines_note_pressure(struct deadlines *deadlines) {
    if (slot_pressure_report(&deadlines->press)) wake(deadlines);
}

void deadline_enter_write(struct deadline *deadline, int64_t bytes) {
    if (!deadline) return;
    const struct deadline_limits *limits = &deadline->deadlines->limits;
    const int64_t now = clock_ns(), end = deadline_after(now, limits->write_ms);
    const int64_t longest =
        deadline_of_bytes(now, limits->write_ms, bytes, limits->write_rate_bytes);
    const int64_t mark = longest > end ? acked_bytes_count(deadline->fd) : -1;
    if (mark < 0) {
        set_word(deadline, longest, PHASE_WRITE);
        return;
    }
    atomic_store_explicit(&deadline->first_mark, mark, memory_order_relaxed);
    set_word(deadline, end, PHASE_LONG);
    wake(deadline->deadlines);
}

/* The client may have left before: then its event has been and gone, and the thread is told. Either
 * it finds the waiting phase, or we find `gone`, for both are written under the lock. */
void deadline_enter_waiting(struct deadline *deadline, void (*gone)(void *argument),
                            void *argument) {
    if (!deadline) return;
    pthread_mutex_lock(&deadline->lock);
    deadline->callback = gone;
    deadline->argument = argument;
    atomic_store(&deadline->word, NO_DEADLINE | PHASE_WAITING);
    bool late = atomic_load_explicit(&deadline->gone, memory_order_relaxed);
    pthread_mutex_unlock(&deadline->lock);
    if (late) wake(deadline->deadlines);
}

/* ---- connections ---- */

static bool enter(struct deadlines *deadlines, struct deadline *deadline) {
    pthread_mutex_lock(&deadlines->lock);
    bool entered = connection_table_add(&deadlines->roll, deadline, &deadline->name);
    if (entered) {
        struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.u64 = deadline->name };
        entered = epoll_ctl(deadlines->epoll, EPOLL_CTL_ADD, deadline->fd, &event) == 0;
        if (!entered) connection_table_remove(&deadlines->roll, deadline->name);
    }
    pthread_mutex_unlock(&deadlines->lock);
    return entered;
}

struct deadline *deadlines_add(struct deadlines *deadlines, int fd) {
    struct deadline *deadline = calloc(1, sizeof *deadline);
    if (deadline) {
        deadline->deadlines = deadlines;
        deadline->fd = fd;
        atomic_init(&deadline->word,
                    deadline_after(clock_ns(), deadlines->limits.header_ms) & ~INT64_C(7));
        pthread_mutex_init(&deadline->lock, NULL);
        if (enter(deadlines, deadline)) return deadline;
        pthread_mutex_destroy(&deadline->lock);
        free(deadline);
    }
    shutdown(fd, SHUT_RDWR);
    count(deadlines, ENDED_UNWATCHED);
    return NULL;
}

void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline) {
    if (!deadline) return;
    pthread_mutex_lock(&deadlines->lock);
    connection_table_remove(&deadlines->roll, deadline->name);
    pthread_mutex_unlock(&deadlines->lock);
    epoll_ctl(deadlines->epoll, EPOLL_CTL_DEL, deadline->fd, NULL);
    pthread_mutex_lock(&deadline->lock); /* a callback under way is waited for */
    pthread_mutex_unlock(&deadline->lock);
    pthread_mutex_destroy(&deadline->lock);
    free(deadline);
}

/* ---- the watcher's thread ---- */

/* Called with deadlines.lock and without deadline.lock; gives up deadlines.lock during the callback. */
static void notify(struct deadlines *deadlines, struct deadline *deadline, bool gone) {
    pthread_mutex_lock(&deadline->lock);
    if (gone) atomic_store(&deadline->gone, true);
    pthread_mutex_unlock(&deadlines->lock);
    void (*callback)(void *) = deadline->callback; /* NULL but in the waiting phase */
    if (callback) {
        deadline->callback = NULL;
        count(deadlines, ENDED_LEFT);
        callback(deadline->argument);
    }
    pthread_mutex_unlock(&deadline->lock);
    pthread_mutex_lock(&deadlines->lock);
}

static void take_event(struct deadlines *deadlines, uint64_t name) {
    pthread_mutex_lock(&deadlines->lock);
    struct deadline *deadline = connection_table_find(&deadlines->roll, name);
    if (deadline) notify(deadlines, deadline, true);
    pthread_mutex_unlock(&deadlines->lock);
}

static const enum end_reason reasons[] = {
    [PHASE_HEADERS] = ENDED_HEADERS, [PHASE_BODY] = ENDED_BODY,       [PHASE_WRITE] = ENDED_WRITE,
    [PHASE_LONG] = ENDED_WRITE,      [PHASE_IDLE] = ENDED_KEEP_ALIVE,
};

/* Under deadlines.lock, so that the descriptor is still open. If the phase has just changed, nothing.
 */
static void cut(struct deadlines *deadlines, struct deadline *deadline, int64_t word,
                enum end_reason reason) {
    if (atomic_load(&deadline->word) != word) return;
    deadline->cut = true;
    count(deadlines, reason);
    shutdown(deadline->fd, SHUT_RDWR);
}

/* The client has left, not in the waiting phase: has the library read all that came, and not moved
 * since? In the write phase it may be sending to one who only shut down his side. */
static bool overlooked(struct deadline *deadline, int64_t word, int64_t now) {
    int unread = 0;
    const enum phase phase = phase_of(word);
    if (phase == PHASE_WRITE || phase == PHASE_LONG || ioctl(deadline->fd, FIONREAD, &unread) < 0 ||
        unread > 0)
        word = -1;
    if (word == -1 || deadline->drained_word != word) {
        deadline->drained_word = word;
        deadline->drained_ns = now;
        return false;
    }
    return now - deadline->drained_ns >= GRACE;
}

/* When the client is given up, by what it has taken of a long answer. Under deadlines.lock, so that the
 * descriptor is still open. */
static int64_t end_of_answer(struct deadlines *deadlines, struct deadline *deadline, int64_t word,
                             int64_t now) {
    const struct deadline_limits *limits = &deadlines->limits;
    if (deadline->taken_word != word)
        acked_bytes_begin(&deadline->uptake, end_of(word) - limits->write_ms * MS_NS,
                          deadline->first_mark);
    deadline->taken_word = word;
    return acked_bytes_deadline(&deadline->uptake, deadline->fd, now, limits->write_ms,
                                limits->write_rate_bytes);
}

/* Of a phase whose end does not move with what the client takes. */
static int64_t end_of_phase(const struct deadlines *deadlines, struct deadline *deadline,
                            int64_t word) {
    const int64_t end = end_of(word);
    if (!deadlines->pressed || phase_of(word) != PHASE_BODY) return end;
    const int64_t pressed = atomic_load_explicit(&deadline->pressed_end, memory_order_relaxed);
    return pressed < end ? pressed : end;
}

/* Under deadlines.lock. Returns when to look again. */
static int64_t look(struct deadlines *deadlines, struct deadline *deadline, int64_t now) {
    int64_t word = atomic_load(&deadline->word);
    if (phase_of(word) == PHASE_WAITING) {
        if (deadline->gone) notify(deadlines, deadline, false);
        return NO_DEADLINE;
    }
    if (deadline->cut) return NO_DEADLINE;
    const bool is_long = phase_of(word) == PHASE_LONG;
    const int64_t end = is_long ? end_of_answer(deadlines, deadline, word, now)
                                : end_of_phase(deadlines, deadline, word);
    if (end <= now) {
        cut(deadlines, deadline, word, reasons[phase_of(word)]);
        return NO_DEADLINE;
    }
    if (!deadline->gone)
        return is_long && end > now + deadlines->pace ? now + deadlines->pace : end;
    if (overlooked(deadline, word, now)) cut(deadlines, deadline, word, ENDED_HUNG_UP);
    return now + TICK;
}

/* Returns when to look again. The roll may change where notify gives up its lock: places only. */
static int64_t look_at_all(struct deadlines *deadlines, int64_t now) {
    deadlines->pressed = slot_pressure_lasts(&deadlines->press);
    int64_t next = now + (deadlines->pressed ? PRESSED_PACE : deadlines->shortest);
    pthread_mutex_lock(&deadlines->lock);
    for (uint32_t place = 0; place < deadlines->roll.used; place++) {
        if (!deadlines->roll.places[place].deadline) continue;
        int64_t end = look(deadlines, deadlines->roll.places[place].deadline, now);
        if (end < next) next = end;
    }
    pthread_mutex_unlock(&deadlines->lock);
    return next < now + TICK ? now + TICK : next;
}

static void *run(void *argument) {
    struct deadlines *deadlines = argument;
    int64_t next = 0;
    while (!atomic_load(&deadlines->stop)) {
        struct epoll_event events[EVENTS];
        int64_t wait_ns = next - clock_ns();
        int wait_ms = wait_ns > 0 ? (int)((wait_ns + MS_NS - 1) / MS_NS) : 0;
        int got = epoll_wait(deadlines->epoll, events, EVENTS, wait_ms);
        for (int i = 0; i < got; i++)
            if (events[i].data.u64 != WAKE) take_event(deadlines, events[i].data.u64);
        int64_t now = clock_ns();
        if (got > 0 && next > now + TICK) next = now + TICK; /* who left or woke us needs a look */
        if (now >= next) next = look_at_all(deadlines, now);
    }
    return NULL;
}

/* ---- life ---- */

static int64_t shortest_of(const struct deadline_limits *limits) {
    const long all[] = { limits->header_ms, limits->body_ms, limits->keep_alive_ms,
                         limits->write_ms };
    int64_t shortest = 3600 * 1000 * MS_NS;
    for (int i = 0; i < 4; i++)
        if (all[i] > 0 && all[i] * MS_NS < shortest) shortest = all[i] * MS_NS;
    return shortest;
}

/* A sixteenth of write_ms, for what the client takes is seen so much too late; 1 s at most. */
static int64_t pace_of(const struct deadline_limits *limits) {
    const int64_t pace = limits->write_ms * MS_NS / 16;
    return pace < TICK ? TICK : pace < 1000 * MS_NS ? pace : 1000 * MS_NS;
}

/* The thread takes no signal: they are for the main thread. */
static bool start(struct deadlines *deadlines) {
    /* Edge triggered: each write is told once, and nobody reads it. */
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = WAKE };
    sigset_t all, before;
    if (deadlines->epoll < 0 || deadlines->wake < 0 ||
        epoll_ctl(deadlines->epoll, EPOLL_CTL_ADD, deadlines->wake, &event) < 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&deadlines->thread, NULL, run, deadlines) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_setname_np(deadlines->thread, "deadlines");
    return started;
}

static void release(struct deadlines *deadlines) {
    if (deadlines->epoll >= 0) close(deadlines->epoll);
    if (deadlines->wake >= 0) close(deadlines->wake);
    pthread_mutex_destroy(&deadlines->lock);
    connection_table_release(&deadlines->roll);
    free(deadlines);
}

struct deadlines *deadlines_create(const struct deadline_limits *limits) {
    struct deadlines *deadlines = calloc(1, sizeof *deadlines);
    if (!deadlines) return NULL;
    deadlines->limits = *limits;
    deadlines->press = (struct slot_pressure){ limits->pressed, limits->context, false };
    deadlines->shortest = shortest_of(limits);
    deadlines->pace = pace_of(limits);
    deadlines->epoll = epoll_create1(EPOLL_CLOEXEC);
    deadlines->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&deadlines->lock, NULL);
    if (start(deadlines)) return deadlines;
    release(deadlines);
    return NULL;
}

void deadlines_destroy(struct deadlines *deadlines) {
    if (!deadlines) return;
    atomic_store(&deadlines->stop, true);
    wake(deadlines);
    pthread_join(deadlines->thread, NULL);
    release(deadlines);
}

void deadlines_counts(struct deadlines *deadlines, struct deadline_counts *counts) {
    for (int i = 0; i < END_REASONS; i++)
        counts->by_reason[i] = atomic_load_explicit(&deadlines->by_reason[i], memory_order_relaxed);
    pthread_mutex_lock(&deadlines->lock);
    counts->connections = deadlines->roll.count;
    pthread_mutex_unlock(&deadlines->lock);
}

const char *deadlines_reason_name(enum end_reason reason) {
    static const char *const names[END_REASONS] = { "headers", "body",    "write",    "keep_alive",
                                                    "left",    "hung_up", "unwatched" };
    return (unsigned)reason < END_REASONS ? names[reason] : "unknown";
}
