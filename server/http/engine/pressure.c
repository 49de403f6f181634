// SPDX-License-Identifier: Apache-2.0
/* How it works. Each look goes through all connections once. Those that hold something and stand
 * still are cut off; the others become candidates. Where what the former hold does not suffice, the
 * slowest candidates follow, as many as are needed, and none that is as fast as is asked. Those
 * that are too young to be judged are waited for, where they are slower: they may stand still. Who
 * was cut off in an earlier look and still holds something is counted as gone: its I/O thread has
 * not had its turn yet.
 *
 * A client is not blamed for us: bytes of a body that we have not read, and an answer of which
 * nothing is on its way, are our own delay. */
#include "server/http/engine/pressure.h"

#include "server/http/engine/deadline_state.h"

#include <stdlib.h>

/* ---- what is short */

/* SHARE: of the whole, to become free at once. WORK: where clients hold less than this part, it is
 * work that holds the rest, and asking more of them would make no room. */
enum { SHARE = 16, WORK = 4, STEPS_MAX = 40 };

#define FALL_NS (500 * MS_NS)

void pressure_init(struct pressure *pressure, const struct pressure_options *options) {
    *pressure = (struct pressure){ 0 };
    if (options) pressure->options = *options;
    for (int r = 0; r < RESOURCES; r++) {
        atomic_init(&pressure->reported[r], -1);
        pressure->demands[r].wanted = -1;
    }
}

bool pressure_report(struct pressure *pressure, enum resource resource, int64_t wanted) {
    _Atomic int64_t *reported = &pressure->reported[resource];
    int64_t now = atomic_load_explicit(reported, memory_order_relaxed);
    while (now < wanted)
        if (atomic_compare_exchange_weak(reported, &now, wanted)) return now < 0;
    return false;
}

static void take_report(struct pressure *pressure, enum resource resource, int64_t now_ns) {
    struct demand *demand = &pressure->demands[resource];
    const int64_t fresh = atomic_exchange(&pressure->reported[resource], -1);
    if (now_ns >= demand->until_ns) demand->wanted = -1;
    if (fresh < 0) return;
    if (fresh > demand->wanted) demand->wanted = fresh;
    demand->until_ns = now_ns + 2 * pressure->options.patience_ms * MS_NS;
}

/* Of more than there can ever be, all. */
static int64_t least(int64_t wanted, int64_t total) {
    return wanted < 1 ? 1 : wanted < total ? wanted : total;
}

static void judge(struct pressure *pressure, enum resource resource) {
    const struct pressure_options *options = &pressure->options;
    struct demand *demand = &pressure->demands[resource];
    const int64_t total = options->total[resource];
    demand->missing = 0;
    if (demand->wanted < 0) return;
    const int64_t room = options->room ? options->room(options->context, resource) : INT64_MAX;
    const int64_t wanted = least(demand->wanted, total);
    if (room >= wanted) {
        demand->wanted = -1;
        return;
    }
    demand->missing = (wanted > total / SHARE ? wanted : total / SHARE) - room;
}

static void fall(struct demand *demand, int64_t now_ns) {
    if (demand->missing || !demand->steps || now_ns - demand->step_ns < FALL_NS) return;
    demand->steps--;
    demand->step_ns = now_ns;
}

bool pressure_look(struct pressure *pressure, int64_t now_ns) {
    bool again = false;
    for (int r = 0; r < RESOURCES; r++) {
        struct demand *demand = &pressure->demands[r];
        take_report(pressure, (enum resource)r, now_ns);
        judge(pressure, (enum resource)r);
        fall(demand, now_ns);
        again |= demand->wanted >= 0 || demand->steps > 0;
    }
    return again;
}

void pressure_raise(struct pressure *pressure, enum resource resource, int64_t held,
                    int64_t now_ns) {
    struct demand *demand = &pressure->demands[resource];
    if (demand->wanted <= 0 || held < pressure->options.total[resource] / WORK) return;
    if (demand->steps < STEPS_MAX) demand->steps++;
    demand->step_ns = now_ns;
}

int64_t pressure_rate(const struct pressure *pressure, enum resource resource, int64_t base) {
    const int64_t most = pressure->options.rate_max_bytes;
    int64_t rate = base;
    for (int i = 0; i < pressure->demands[resource].steps && rate < most; i++) rate *= 2;
    return rate <= base ? base : rate < most ? rate : most;
}

/* ---- who must go */

static bool is_body(enum phase phase) {
    return phase == PHASE_BODY;
}

/* A connection's share of RESOURCE. */
static int64_t share_of(const struct deadline *deadline, enum phase phase, enum resource resource) {
    const int64_t held = atomic_load_explicit(&deadline->held, memory_order_relaxed);
    if (held <= 0 || (!is_body(phase) && !deadline_is_answer(phase))) return 0;
    switch (resource) {
    case RESOURCE_SLOTS: return 1;
    case RESOURCE_BODIES: return is_body(phase) ? held : 0;
    default: return deadline_is_answer(phase) ? held : 0;
    }
}

/* ---- how it moves */

/* At START_NS the count was FIRST. */
static void pace_begin(struct pace *pace, int64_t start_ns, int64_t first) {
    *pace = (struct pace){ start_ns, first, start_ns, first, first, start_ns };
}

static void pace_note(struct pace *pace, int64_t now_ns, int64_t count, int64_t window_ns) {
    if (count != pace->last) pace->moved_ns = now_ns;
    pace->last = count;
    if (now_ns - pace->newer_ns < window_ns / 2) return;
    pace->older_ns = pace->newer_ns;
    pace->older = pace->newer;
    pace->newer_ns = now_ns;
    pace->newer = count;
}

/* Bytes a second. */
static double pace_rate(const struct pace *pace, int64_t now_ns) {
    const int64_t ns = now_ns - pace->older_ns;
    return ns > 0 ? (double)(pace->last - pace->older) * 1e9 / (double)ns : 0;
}

static int64_t window_of(const struct deadline_thread *deadlines) {
    return deadlines->pressure.options.patience_ms * MS_NS;
}

/* The pace counts from the start; a short answer was not measured there: its count begins now. */
static void begin_pace(struct deadline *deadline, enum phase phase, int64_t started, int64_t now,
                       int64_t count) {
    deadline->pace_of = started;
    if (is_body(phase))
        pace_begin(&deadline->pace, started, 0);
    else if (phase == PHASE_LONG_WRITE)
        pace_begin(&deadline->pace, started, deadline->first_acked);
    else
        pace_begin(&deadline->pace, now, count);
}

/* False: nobody can know. */
static bool measure(const struct deadline_thread *deadlines, struct deadline *deadline,
                    enum phase phase, int64_t now) {
    const int64_t started = atomic_load_explicit(&deadline->started_ns, memory_order_relaxed);
    const int64_t count = is_body(phase)
                              ? atomic_load_explicit(&deadline->bytes, memory_order_relaxed)
                              : acked_bytes_count(deadline->fd);
    if (count < 0) return false;
    if (deadline->pace_of != started) begin_pace(deadline, phase, started, now, count);
    pace_note(&deadline->pace, now, count, window_of(deadlines));
    if (is_body(phase) && !deadline_waits_for_client(deadline, phase)) deadline->unread_ns = now;
    return true;
}

static bool is_still(const struct deadline_thread *deadlines, const struct deadline *deadline,
                     enum phase phase, int64_t now) {
    const int64_t window = window_of(deadlines);
    if (!is_body(phase)) return now - deadline->pace.moved_ns >= window;
    return now - atomic_load_explicit(&deadline->moved_ns, memory_order_relaxed) >= window &&
           now - deadline->unread_ns >= window;
}

/* ---- one look */

struct look {
    struct deadline_thread *deadlines;
    int64_t now;
    int64_t held[RESOURCES];  /* by clients that send or receive */
    int64_t freed[RESOURCES]; /* by those of them that are cut off */
};

static bool is_short_of(const struct look *look, enum resource resource) {
    return look->freed[resource] < pressure_missing(&look->deadlines->pressure, resource);
}

static void count_freed(struct look *look, const struct deadline *deadline, enum phase phase) {
    for (int r = 0; r < RESOURCES; r++)
        look->freed[r] += share_of(deadline, phase, (enum resource)r);
}

static void let_go(struct look *look, struct deadline *deadline, int64_t word) {
    const enum phase phase = deadline_phase(word);
    if (!deadline_waits_for_client(deadline, phase)) return;
    if (deadline_cut(look->deadlines, deadline, word, is_body(phase) ? ENDED_BODY : ENDED_WRITE))
        count_freed(look, deadline, phase);
}

static void add_candidate(struct look *look, struct deadline *deadline, int64_t word) {
    const bool young = look->now - deadline->pace_of < window_of(look->deadlines);
    struct eviction *eviction = &look->deadlines->eviction;
    if (eviction->count == eviction->capacity) {
        const uint32_t capacity = eviction->capacity ? 2 * eviction->capacity : 64;
        struct candidate *more = realloc(eviction->candidates, capacity * sizeof *more);
        if (!more) return;
        eviction->candidates = more;
        eviction->capacity = capacity;
    }
    eviction->candidates[eviction->count++] =
        (struct candidate){ deadline, word, pace_rate(&deadline->pace, look->now), young };
}

/* Whether it holds any of what is short. */
static bool is_wanted(const struct look *look, const struct deadline *deadline, enum phase phase) {
    for (int r = 0; r < RESOURCES; r++)
        if (pressure_missing(&look->deadlines->pressure, (enum resource)r) &&
            share_of(deadline, phase, (enum resource)r))
            return true;
    return false;
}

static void look_at(struct look *look, struct deadline *deadline) {
    const int64_t word = atomic_load(&deadline->word);
    const enum phase phase = deadline_phase(word);
    for (int r = 0; r < RESOURCES; r++)
        look->held[r] += share_of(deadline, phase, (enum resource)r);
    if (deadline->cut) {
        count_freed(look, deadline, phase);
        return;
    }
    if (!is_wanted(look, deadline, phase) || !measure(look->deadlines, deadline, phase, look->now))
        return;
    if (is_still(look->deadlines, deadline, phase, look->now))
        let_go(look, deadline, word);
    else
        add_candidate(look, deadline, word);
}

/* ---- the slowest */

static int by_rate(const void *a, const void *b) {
    const double x = ((const struct candidate *)a)->rate, y = ((const struct candidate *)b)->rate;
    return (x > y) - (x < y);
}

static double rate_asked(const struct look *look, enum phase phase, enum resource resource) {
    const struct deadline_limits *limits = &look->deadlines->limits;
    const long base = is_body(phase) ? limits->body_rate_bytes : limits->write_rate_bytes;
    return (double)pressure_rate(&look->deadlines->pressure, resource, base);
}

static void let_slowest_go(struct look *look, enum resource resource) {
    const int64_t missing = pressure_missing(&look->deadlines->pressure, resource);
    const struct eviction *eviction = &look->deadlines->eviction;
    int64_t awaited = 0; /* of the young */
    for (uint32_t i = 0; i < eviction->count && look->freed[resource] + awaited < missing; i++) {
        const struct candidate *candidate = &eviction->candidates[i];
        const enum phase phase = deadline_phase(candidate->word);
        const int64_t share = share_of(candidate->deadline, phase, resource);
        if (!share || candidate->deadline->cut ||
            candidate->rate >= rate_asked(look, phase, resource))
            continue;
        if (candidate->young)
            awaited += share;
        else
            let_go(look, candidate->deadline, candidate->word);
    }
    if (is_short_of(look, resource))
        pressure_raise(&look->deadlines->pressure, resource, look->held[resource], look->now);
}

void eviction_run(struct deadline_thread *deadlines, int64_t now_ns) {
    struct look look = { .deadlines = deadlines, .now = now_ns };
    struct eviction *eviction = &deadlines->eviction;
    eviction->count = 0;
    for (uint32_t index = 0; index < deadlines->table.used; index++)
        if (deadlines->table.entries[index].deadline)
            look_at(&look, deadlines->table.entries[index].deadline);
    if (eviction->count)
        qsort(eviction->candidates, eviction->count, sizeof *eviction->candidates, by_rate);
    for (int r = 0; r < RESOURCES; r++)
        if (is_short_of(&look, (enum resource)r)) let_slowest_go(&look, (enum resource)r);
}
