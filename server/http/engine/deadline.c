// SPDX-License-Identifier: Apache-2.0
/* How it works. A connection's phase and its time are one atomic word, so that entering a phase is
 * one store: the time in nanoseconds, its low three bits replaced by the phase. The thread of
 * deadline_thread.c reads all words now and then; a time set meanwhile lies far enough ahead that
 * it need not be woken. Only the time of a long answer moves with what the client receives, which
 * nobody but the kernel knows: for that the thread is woken. */
#include "server/http/engine/deadline.h"

#include "pipeline/timing.h"
#include "server/http/engine/deadline_state.h"

/* Leaving the waiting phase ends the right to call. */
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

static void start(struct deadline *deadline, int64_t now, int64_t expected) {
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
    start(deadline, now, expected < 0 ? INT64_MAX : expected);
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

/* The client may have disconnected before: then its event has come and gone, and the thread is
 * woken. Either it finds the waiting phase, or we find `gone`: both are written under the lock. */
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
    start(deadline, now, bytes);
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
