// SPDX-License-Identifier: Apache-2.0
/* deadline_drain.c - whom a daemon that ends no longer waits for: those who ask nothing, and those
 * whose body or answer hardly moves. */
#include "server/http/engine/deadline_thread.h"

#include "pipeline/timing.h"
#include "server/http/engine/deadline_state.h"

/* Bytes that the library has not read yet may be a request: they are not the client's silence. */
static bool is_idle_for(const struct deadline_thread *deadlines, const struct deadline *deadline,
                        int64_t word, int64_t now, long idle_ms, long fresh_ms) {
    const enum phase phase = deadline_phase(word);
    if (phase != PHASE_IDLE && phase != PHASE_HEADERS) return false;
    const long wait_ms = phase == PHASE_IDLE ? idle_ms : fresh_ms;
    return now - deadline_entered(&deadlines->limits, word) >= wait_ms * MS_NS &&
           deadline_waits_for_client(deadline, phase);
}

/* Returns the next connection from *INDEX on that is not shut down, or NULL. Under the lock. */
static struct deadline *next_uncut(const struct deadline_thread *deadlines, uint32_t *index) {
    while (*index < deadlines->table.used) {
        struct deadline *deadline = deadlines->table.entries[(*index)++].deadline;
        if (deadline && !deadline->cut) return deadline;
    }
    return NULL;
}

void deadline_thread_end_idle(struct deadline_thread *deadlines, long idle_ms, long fresh_ms) {
    const int64_t now = clock_ns();
    pthread_mutex_lock(&deadlines->lock);
    struct deadline *deadline;
    for (uint32_t index = 0; (deadline = next_uncut(deadlines, &index));) {
        const int64_t word = atomic_load(&deadline->word);
        if (is_idle_for(deadlines, deadline, word, now, idle_ms, fresh_ms))
            deadline_cut(deadlines, deadline, word, ENDED_KEEP_ALIVE);
    }
    pthread_mutex_unlock(&deadlines->lock);
}

static int64_t first_rate(const struct deadline_limits *limits, bool answer) {
    return answer ? limits->write_rate_bytes : limits->body_rate_bytes;
}

/* Twice RATE, up to the most that is asked of anybody. */
static int64_t next_rate(const struct deadline_thread *deadlines, int64_t rate) {
    const int64_t most = deadlines->pressure.options.rate_max_bytes;
    return rate >= most ? rate : 2 * rate < most ? 2 * rate : most;
}

static void begin_window(struct deadline *deadline, int64_t now, int64_t moved, int64_t rate) {
    deadline->drained_ns = now;
    deadline->drained_from = moved;
    deadline->drained_rate = rate;
}

/* In windows of SLOW_NS from the first look. */
static bool moves_slowly(const struct deadline_thread *deadlines, struct deadline *deadline,
                         bool answer, int64_t now, int64_t slow_ns) {
    const int64_t started = deadline->started_ns, past = now - deadline->drained_ns;
    const bool fresh = deadline->drained_of != started;
    if (!fresh && past < slow_ns) return false;
    const int64_t moved = answer ? acked_bytes_count(deadline->fd) : deadline->bytes;
    if (fresh) {
        deadline->drained_of = started;
        begin_window(deadline, now, moved, first_rate(&deadlines->limits, answer));
        return false;
    }
    if (moved < 0)
        return (double)deadline->expected * 1e9 <=
               (double)deadlines->pressure.options.rate_max_bytes * (double)past;
    if ((double)(moved - deadline->drained_from) * 1e9 <
        (double)deadline->drained_rate * (double)past)
        return true;
    begin_window(deadline, now, moved, next_rate(deadlines, deadline->drained_rate));
    return false;
}

void deadline_thread_end_slow(struct deadline_thread *deadlines, long slow_ms) {
    const int64_t now = clock_ns();
    pthread_mutex_lock(&deadlines->lock);
    struct deadline *deadline;
    for (uint32_t index = 0; (deadline = next_uncut(deadlines, &index));) {
        const int64_t word = atomic_load(&deadline->word);
        const enum phase phase = deadline_phase(word);
        const bool answer = deadline_is_answer(phase);
        if (phase != PHASE_BODY && !answer) continue;
        if (moves_slowly(deadlines, deadline, answer, now, slow_ms * MS_NS) &&
            deadline_waits_for_client(deadline, phase))
            deadline_cut(deadlines, deadline, word, answer ? ENDED_WRITE : ENDED_BODY);
    }
    pthread_mutex_unlock(&deadlines->lock);
}
