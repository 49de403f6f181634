// SPDX-License-Identifier: Apache-2.0
/* How it works. A connection's phase and its time are one atomic word, so that entering a phase is
 * one store: the time in nanoseconds, its low three bits replaced by the phase. The thread reads
 * the words of all connections when the first deadline that it saw has come, at most once a TICK
 * and at least once a second. A deadline set meanwhile is at least `shortest` ahead, so the thread
 * misses none, and need not be woken. Two things change that: the deadline of a long answer moves
 * with what the client receives, so the thread is woken for it and looks every `pace`; and while
 * something is short it looks every PRESSED_PACE and cuts clients off (eviction.c).
 *
 * epoll watches each socket for EPOLLRDHUP, edge triggered: the kernel does not wake the thread for
 * data, and reports a half-closed socket once. That sets `gone`, for good. In the waiting phase the
 * callback follows. In other phases the client may have shut down its side after a whole request,
 * so the library is left to read what there is. Only when everything has been read and nothing has
 * moved for GRACE has the library missed the FIN, and the socket is shut down.
 *
 * Locks. deadlines.lock guards the table. deadline.lock guards gone, callback and argument, and is
 * held during a callback. The thread takes deadline.lock under deadlines.lock and releases
 * deadlines.lock before it calls; deadlines.lock is never taken under deadline.lock.
 * deadline_thread_remove first takes the entry off the table, so that no thread can find it, and
 * then its lock, so that no thread still uses it. Events carry the table's id, so that a late one
 * is recognised as stale. */
#include "server/http/engine/deadline.h"

#include "pipeline/timing.h"
#include "server/http/engine/deadline_state.h"
#include "server/http/engine/lingering_close.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK         (50 * MS_NS)  /* at least this much between two looks */
#define GRACE        (250 * MS_NS) /* for the library to notice a FIN */
#define PRESSED_PACE (2 * TICK)
#define LONGEST_PACE (1000 * MS_NS) /* a wake-up may be lost */
#define WAKE         UINT64_MAX     /* epoll's id for the eventfd */
#define EVENTS       64

static void count(struct deadline_thread *deadlines, enum end_reason reason) {
    atomic_fetch_add_explicit(&deadlines->by_reason[reason], 1, memory_order_relaxed);
}

void deadline_thread_wake(struct deadline_thread *deadlines) {
    const uint64_t one = 1;
    ssize_t ignored = write(deadlines->wake, &one, sizeof one);
    (void)ignored;
}

/* ---- the phases of a request */

/* Leaving the waiting phase removes the callback. */
static void set_word(struct deadline *deadline, int64_t time, enum phase phase) {
    int64_t now = atomic_load_explicit(&deadline->word, memory_order_relaxed);
    int64_t word = (time & ~INT64_C(7)) | phase;
    bool waited = deadline_phase(now) == PHASE_WAITING;
    if (waited) {
        pthread_mutex_lock(&deadline->lock);
        deadline->callback = NULL;
    }
    atomic_store_explicit(&deadline->word, word, memory_order_release);
    if (waited) pthread_mutex_unlock(&deadline->lock);
}

static void begin_transfer(struct deadline *deadline, int64_t now, int64_t expected) {
    atomic_store_explicit(&deadline->expected, expected, memory_order_relaxed);
    atomic_store_explicit(&deadline->started_ns, now, memory_order_relaxed);
    atomic_store_explicit(&deadline->moved_ns, now, memory_order_relaxed);
    atomic_store_explicit(&deadline->bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&deadline->held, 0, memory_order_relaxed);
}

static enum phase phase_now(struct deadline *deadline) {
    return deadline_phase(atomic_load_explicit(&deadline->word, memory_order_relaxed));
}

void deadline_request_started(struct deadline *deadline) {
    if (deadline && phase_now(deadline) == PHASE_IDLE) deadline_enter_headers(deadline);
}

void deadline_enter_headers(struct deadline *deadline) {
    if (!deadline || phase_now(deadline) == PHASE_HEADERS) return;
    set_word(deadline, deadline_after(clock_ns(), deadline->deadlines->limits.header_ms),
             PHASE_HEADERS);
}

void deadline_enter_body(struct deadline *deadline, int64_t expected) {
    if (!deadline) return;
    const int64_t now = clock_ns();
    begin_transfer(deadline, now, expected < 0 ? INT64_MAX : expected);
    set_word(deadline, deadline_after(now, deadline->deadlines->limits.body_ms), PHASE_BODY);
}

void deadline_body_progress(struct deadline *deadline, int64_t bytes) {
    if (!deadline || phase_now(deadline) != PHASE_BODY) return;
    const int64_t expected = atomic_load_explicit(&deadline->expected, memory_order_relaxed);
    if (bytes > expected) bytes = expected;
    const struct deadline_limits *limits = &deadline->deadlines->limits;
    const int64_t started = atomic_load_explicit(&deadline->started_ns, memory_order_relaxed);
    atomic_store_explicit(&deadline->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&deadline->moved_ns, clock_ns(), memory_order_relaxed);
    set_word(deadline, deadline_of_bytes(started, limits->body_ms, bytes, limits->body_rate_bytes),
             PHASE_BODY);
}

void deadline_hold(struct deadline *deadline, int64_t bytes) {
    if (deadline) atomic_store_explicit(&deadline->held, bytes, memory_order_relaxed);
}

/* If the client has disconnected already, its event has been handled, and the thread must be woken.
 * Either the thread finds the waiting phase or we find `gone`: both are written under the lock. */
void deadline_enter_waiting(struct deadline *deadline, void (*gone)(void *argument),
                            void *argument) {
    if (!deadline) return;
    pthread_mutex_lock(&deadline->lock);
    deadline->callback = gone;
    deadline->argument = argument;
    atomic_store(&deadline->word, NO_DEADLINE | PHASE_WAITING);
    bool late = atomic_load_explicit(&deadline->gone, memory_order_relaxed);
    pthread_mutex_unlock(&deadline->lock);
    if (late) deadline_thread_wake(deadline->deadlines);
}

void deadline_enter_write(struct deadline *deadline, int64_t bytes) {
    if (!deadline) return;
    const struct deadline_limits *limits = &deadline->deadlines->limits;
    const int64_t now = clock_ns(), time = deadline_after(now, limits->write_ms);
    const int64_t longest =
        deadline_of_bytes(now, limits->write_ms, bytes, limits->write_rate_bytes);
    const int64_t acked = longest > time ? acked_bytes_count(deadline->fd) : -1;
    begin_transfer(deadline, now, bytes);
    if (acked < 0) {
        set_word(deadline, longest, PHASE_WRITE);
        return;
    }
    atomic_store_explicit(&deadline->first_acked, acked, memory_order_relaxed);
    set_word(deadline, time, PHASE_LONG_WRITE);
    deadline_thread_wake(deadline->deadlines);
}

void deadline_enter_idle(struct deadline *deadline) {
    if (!deadline) return;
    set_word(deadline, deadline_after(clock_ns(), deadline->deadlines->limits.keep_alive_ms),
             PHASE_IDLE);
}

/* ---- connections ---- */

static bool add(struct connection_table *table, struct deadline *deadline, uint64_t *id) {
    uint32_t index = table->lowest_free;
    while (index < table->used && table->entries[index].deadline) index++;
    if (index == table->capacity) {
        const uint32_t capacity = table->capacity ? 2 * table->capacity : 64;
        struct table_entry *entries = realloc(table->entries, capacity * sizeof *entries);
        if (!entries) return false;
        table->entries = entries;
        table->capacity = capacity;
    }
    if (index == table->used) table->used++;
    table->entries[index] = (struct table_entry){ deadline, ++table->generation };
    table->lowest_free = index + 1;
    table->count++;
    *id = (uint64_t)table->generation << 32 | index;
    return true;
}

static void take_out(struct connection_table *table, uint64_t id) {
    const uint32_t index = (uint32_t)id;
    table->entries[index].deadline = NULL;
    table->count--;
    if (index < table->lowest_free) table->lowest_free = index;
    while (table->used && !table->entries[table->used - 1].deadline) table->used--;
}

static struct deadline *find(const struct connection_table *table, uint64_t id) {
    const uint32_t index = (uint32_t)id;
    if (index >= table->used || table->entries[index].generation != (uint32_t)(id >> 32))
        return NULL;
    return table->entries[index].deadline;
}

static bool register_socket(struct deadline_thread *deadlines, struct deadline *deadline) {
    pthread_mutex_lock(&deadlines->lock);
    bool added = add(&deadlines->table, deadline, &deadline->id);
    if (added) {
        struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.u64 = deadline->id };
        added = epoll_ctl(deadlines->epoll, EPOLL_CTL_ADD, deadline->fd, &event) == 0;
        if (!added) take_out(&deadlines->table, deadline->id);
    }
    pthread_mutex_unlock(&deadlines->lock);
    return added;
}

struct deadline *deadline_thread_add(struct deadline_thread *deadlines, int fd) {
    struct deadline *deadline = calloc(1, sizeof *deadline);
    if (deadline) {
        deadline->deadlines = deadlines;
        deadline->fd = fd;
        atomic_init(&deadline->word,
                    deadline_after(clock_ns(), deadlines->limits.header_ms) & ~INT64_C(7));
        pthread_mutex_init(&deadline->lock, NULL);
        if (register_socket(deadlines, deadline)) return deadline;
        pthread_mutex_destroy(&deadline->lock);
        free(deadline);
    }
    shutdown(fd, SHUT_RDWR);
    count(deadlines, ENDED_UNWATCHED);
    return NULL;
}

void deadline_thread_remove(struct deadline_thread *deadlines, struct deadline *deadline) {
    if (!deadline) return;
    pthread_mutex_lock(&deadlines->lock);
    take_out(&deadlines->table, deadline->id);
    pthread_mutex_unlock(&deadlines->lock);
    epoll_ctl(deadlines->epoll, EPOLL_CTL_DEL, deadline->fd, NULL);
    pthread_mutex_lock(&deadline->lock); /* a callback under way is waited for */
    pthread_mutex_unlock(&deadline->lock);
    pthread_mutex_destroy(&deadline->lock);
    free(deadline);
}

/* ---- long answers ---- */

int64_t acked_bytes_count(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 ||
        length < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked)
        return -1;
    return (int64_t)info.tcpi_bytes_acked;
}

void acked_bytes_begin(struct acked_bytes *acked, int64_t start_ns, int64_t first) {
    *acked = (struct acked_bytes){ start_ns, first, first, start_ns };
}

int64_t acked_bytes_deadline(struct acked_bytes *acked, int fd, int64_t now_ns, long ms,
                             long rate_bytes) {
    const int64_t count = acked_bytes_count(fd);
    if (count > acked->last) {
        acked->moved_ns = now_ns;
        acked->last = count;
    }
    const int64_t stalled = acked->moved_ns + ms * MS_NS;
    const double bytes = (double)(acked->last - acked->first);
    const double allowed_ns = bytes / (double)rate_bytes * 1e9;
    /* A client that stands still is cut off at `stalled`: smaller numbers cannot overflow. */
    if (allowed_ns >= (double)(stalled - acked->start_ns)) return stalled;
    const int64_t least = ms * MS_NS;
    return acked->start_ns + ((int64_t)allowed_ns > least ? (int64_t)allowed_ns : least);
}

/* ---- the thread ---- */

/* Called with deadlines.lock and without deadline.lock; releases deadlines.lock for the
 * callback. */
static void notify(struct deadline_thread *deadlines, struct deadline *deadline, bool gone) {
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

static void handle_event(struct deadline_thread *deadlines, uint64_t id) {
    pthread_mutex_lock(&deadlines->lock);
    struct deadline *deadline = find(&deadlines->table, id);
    if (deadline) notify(deadlines, deadline, true);
    pthread_mutex_unlock(&deadlines->lock);
}

static const enum end_reason reasons[] = {
    [PHASE_HEADERS] = ENDED_HEADERS,  [PHASE_BODY] = ENDED_BODY,       [PHASE_WRITE] = ENDED_WRITE,
    [PHASE_LONG_WRITE] = ENDED_WRITE, [PHASE_IDLE] = ENDED_KEEP_ALIVE,
};

bool deadline_cut(struct deadline_thread *deadlines, struct deadline *deadline, int64_t word,
                  enum end_reason reason) {
    if (atomic_load(&deadline->word) != word) return false;
    deadline->cut = true;
    count(deadlines, reason);
    const enum phase phase = deadline_phase(word);
    if (phase == PHASE_BODY || deadline_is_answer(phase)) reset_on_close(deadline->fd);
    shutdown(deadline->fd, SHUT_RDWR);
    return true;
}

/* The client has disconnected outside the waiting phase. True: the library has read everything, and
 * nothing has moved for GRACE. In the write phase the client may have shut down only its own side
 * and still read the answer. */
static bool fin_was_missed(struct deadline *deadline, int64_t word, int64_t now) {
    int unread = 0;
    const enum phase phase = deadline_phase(word);
    if (deadline_is_answer(phase) || ioctl(deadline->fd, FIONREAD, &unread) < 0 || unread > 0)
        word = -1;
    if (word == -1 || deadline->idle_word != word) {
        deadline->idle_word = word;
        deadline->idle_ns = now;
        return false;
    }
    return now - deadline->idle_ns >= GRACE;
}

/* Depends on what the client has received. Under deadlines.lock, so that the descriptor is open. */
static int64_t answer_deadline(struct deadline_thread *deadlines, struct deadline *deadline,
                               int64_t word, int64_t now) {
    const struct deadline_limits *limits = &deadlines->limits;
    if (deadline->acked_word != word)
        acked_bytes_begin(&deadline->acked, deadline_time(word) - limits->write_ms * MS_NS,
                          deadline->first_acked);
    deadline->acked_word = word;
    return acked_bytes_deadline(&deadline->acked, deadline->fd, now, limits->write_ms,
                                limits->write_rate_bytes);
}

/* Returns when to look at DEADLINE again. Under deadlines.lock. */
static int64_t check(struct deadline_thread *deadlines, struct deadline *deadline, int64_t now) {
    int64_t word = atomic_load(&deadline->word);
    if (deadline_phase(word) == PHASE_WAITING) {
        if (deadline->gone) notify(deadlines, deadline, false);
        return NO_DEADLINE;
    }
    if (deadline->cut) return NO_DEADLINE;
    const bool is_long = deadline_phase(word) == PHASE_LONG_WRITE;
    const int64_t end =
        is_long ? answer_deadline(deadlines, deadline, word, now) : deadline_time(word);
    if (end <= now) {
        deadline_cut(deadlines, deadline, word, reasons[deadline_phase(word)]);
        return NO_DEADLINE;
    }
    if (!deadline->gone)
        return is_long && end > now + deadlines->pace ? now + deadlines->pace : end;
    if (fin_was_missed(deadline, word, now)) deadline_cut(deadlines, deadline, word, ENDED_HUNG_UP);
    return now + TICK;
}

/* Returns when to look again. Walks by index: the table may change while notify has released its
 * lock. */
static int64_t check_all(struct deadline_thread *deadlines, int64_t now) {
    const bool pressed = pressure_look(&deadlines->pressure, now);
    int64_t next = now + (pressed ? PRESSED_PACE : deadlines->shortest);
    pthread_mutex_lock(&deadlines->lock);
    if (pressed) eviction_run(deadlines, now);
    for (uint32_t index = 0; index < deadlines->table.used; index++) {
        if (!deadlines->table.entries[index].deadline) continue;
        int64_t end = check(deadlines, deadlines->table.entries[index].deadline, now);
        if (end < next) next = end;
    }
    pthread_mutex_unlock(&deadlines->lock);
    return next < now + TICK ? now + TICK : next;
}

static void *run(void *argument) {
    struct deadline_thread *deadlines = argument;
    int64_t next = 0;
    pthread_setname_np(pthread_self(), "deadlines");
    while (!atomic_load(&deadlines->stop)) {
        struct epoll_event events[EVENTS];
        int64_t wait_ns = next - clock_ns();
        int wait_ms = wait_ns > 0 ? (int)((wait_ns + MS_NS - 1) / MS_NS) : 0;
        int got = epoll_wait(deadlines->epoll, events, EVENTS, wait_ms);
        for (int i = 0; i < got; i++)
            if (events[i].data.u64 != WAKE) handle_event(deadlines, events[i].data.u64);
        int64_t now = clock_ns();
        if (got > 0 && next > now + TICK) next = now + TICK; /* a half-closed socket or wake-up */
        if (now >= next) next = check_all(deadlines, now);
    }
    return NULL;
}

/* ---- life ---- */

static int64_t shortest_of(const struct deadline_limits *limits) {
    const long all[] = { limits->header_ms, limits->body_ms, limits->keep_alive_ms,
                         limits->write_ms };
    int64_t shortest = LONGEST_PACE;
    for (int i = 0; i < 4; i++)
        if (all[i] > 0 && all[i] * MS_NS < shortest) shortest = all[i] * MS_NS;
    return shortest;
}

/* A sixteenth of write_ms, since progress is noticed this late; at most 1 s. */
static int64_t pace_of(const struct deadline_limits *limits) {
    const int64_t pace = limits->write_ms * MS_NS / 16;
    return pace < TICK ? TICK : pace < 1000 * MS_NS ? pace : 1000 * MS_NS;
}

/* The new thread blocks all signals: the main thread takes them. */
static bool start(struct deadline_thread *deadlines) {
    /* Edge triggered: each write is reported once and never read. */
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = WAKE };
    sigset_t all, before;
    if (deadlines->epoll < 0 || deadlines->wake < 0 ||
        epoll_ctl(deadlines->epoll, EPOLL_CTL_ADD, deadlines->wake, &event) < 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&deadlines->thread, NULL, run, deadlines) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void release(struct deadline_thread *deadlines) {
    if (deadlines->epoll >= 0) close(deadlines->epoll);
    if (deadlines->wake >= 0) close(deadlines->wake);
    pthread_mutex_destroy(&deadlines->lock);
    free(deadlines->table.entries);
    free(deadlines->eviction.candidates);
    free(deadlines);
}

struct deadline_thread *deadline_thread_create(const struct deadline_limits *limits) {
    struct deadline_thread *deadlines = calloc(1, sizeof *deadlines);
    if (!deadlines) return NULL;
    deadlines->limits = *limits;
    pressure_init(&deadlines->pressure, limits->pressure);
    deadlines->shortest = shortest_of(limits);
    deadlines->pace = pace_of(limits);
    deadlines->epoll = epoll_create1(EPOLL_CLOEXEC);
    deadlines->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&deadlines->lock, NULL);
    if (start(deadlines)) return deadlines;
    release(deadlines);
    return NULL;
}

void deadline_thread_destroy(struct deadline_thread *deadlines) {
    if (!deadlines) return;
    atomic_store(&deadlines->stop, true);
    deadline_thread_wake(deadlines);
    pthread_join(deadlines->thread, NULL);
    release(deadlines);
}

void deadline_thread_counts(struct deadline_thread *deadlines, struct deadline_counts *counts) {
    for (int i = 0; i < END_REASONS; i++)
        counts->by_reason[i] = atomic_load_explicit(&deadlines->by_reason[i], memory_order_relaxed);
    pthread_mutex_lock(&deadlines->lock);
    counts->connections = deadlines->table.count;
    pthread_mutex_unlock(&deadlines->lock);
}

const char *deadline_thread_reason_name(enum end_reason reason) {
    static const char *const names[END_REASONS] = { "headers", "body",    "write",     "keep_alive",
                                                    "left",    "hung_up", "unwatched", "crowded" };
    return (unsigned)reason < END_REASONS ? names[reason] : "unknown";
}
