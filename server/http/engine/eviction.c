// SPDX-License-Identifier: Apache-2.0
/* How it works. While something is short, the deadline thread walks all connections once per look.
 * Clients that hold some of it and stand still are cut off; the others become candidates. If what
 * the former hold does not suffice, the slowest candidates follow, as many as needed, but none that
 * is as fast as required. A slower candidate that is too young to be judged is waited for: it may
 * stand still. A client that an earlier look cut off and that still holds something counts as
 * freed: its I/O thread has not had its turn yet.
 *
 * When connections are short, each client's are ranked from the youngest, 1, to the oldest. The
 * highest ranks of all clients go first, the oldest among equals: the same as taking the oldest
 * connection of the client with the most, one by one. */
#include "server/http/engine/eviction.h"

#include "pipeline/timing.h"
#include "server/http/engine/deadline_state.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* ---- what is short */

/* SHARE: a sixteenth of the whole becomes free at once. WORK: if clients hold less than a quarter,
 * jobs hold the rest, and requiring more of clients would make no room. */
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

/* WANTED may be more than TOTAL: then all. */
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

void deadline_thread_note_pressure(struct deadline_thread *deadlines, enum resource resource,
                                   int64_t wanted) {
    if (pressure_report(&deadlines->pressure, resource, wanted)) deadline_thread_wake(deadlines);
}

/* ---- what a connection holds, and how it moves */

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

/* The pace counts from the start, but for a short answer, whose count at its start is not known. */
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

/* False: the kernel does not report it. */
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
    int64_t freed[RESOURCES]; /* of this, by clients that are cut off */
};

static bool is_short_of(const struct look *look, enum resource resource) {
    return look->freed[resource] < pressure_missing(&look->deadlines->pressure, resource);
}

static void count_freed(struct look *look, const struct deadline *deadline, enum phase phase) {
    for (int r = 0; r < RESOURCES; r++)
        look->freed[r] += share_of(deadline, phase, (enum resource)r);
}

static void cut_off(struct look *look, struct deadline *deadline, int64_t word) {
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

/* Whether the connection holds any of what is short. */
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
        cut_off(look, deadline, word);
    else
        add_candidate(look, deadline, word);
}

/* ---- the slowest */

static int by_rate(const void *a, const void *b) {
    const double x = ((const struct candidate *)a)->rate, y = ((const struct candidate *)b)->rate;
    return (x > y) - (x < y);
}

static double required_rate(const struct look *look, enum phase phase, enum resource resource) {
    const struct deadline_limits *limits = &look->deadlines->limits;
    const long base = is_body(phase) ? limits->body_rate_bytes : limits->write_rate_bytes;
    return (double)pressure_rate(&look->deadlines->pressure, resource, base);
}

static void cut_off_slowest(struct look *look, enum resource resource) {
    const int64_t missing = pressure_missing(&look->deadlines->pressure, resource);
    const struct eviction *eviction = &look->deadlines->eviction;
    int64_t awaited = 0; /* held by young clients */
    for (uint32_t i = 0; i < eviction->count && look->freed[resource] + awaited < missing; i++) {
        const struct candidate *candidate = &eviction->candidates[i];
        const enum phase phase = deadline_phase(candidate->word);
        const int64_t share = share_of(candidate->deadline, phase, resource);
        if (!share || candidate->deadline->cut ||
            candidate->rate >= required_rate(look, phase, resource))
            continue;
        if (candidate->young)
            awaited += share;
        else
            cut_off(look, candidate->deadline, candidate->word);
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
        if (is_short_of(&look, (enum resource)r)) cut_off_slowest(&look, (enum resource)r);
}

/* ---- connections are short */

struct idler {
    struct deadline *deadline;
    int64_t word, since_ns;
    uint64_t peer;
    uint32_t rank;
};

/* The key of an IPv4 address is no IPv6 prefix in use. 0 would exempt the connection. */
void connection_eviction_peer(struct deadline *deadline, const struct sockaddr *peer) {
    uint64_t key = 1;
    if (!deadline) return;
    if (peer && peer->sa_family == AF_INET)
        key = UINT64_C(0xffff) << 32 |
              ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr;
    if (peer && peer->sa_family == AF_INET6)
        memcpy(&key, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, sizeof key);
    atomic_store_explicit(&deadline->peer, key ? key : 1, memory_order_relaxed);
}

/* True: no request is under way, or its body does not move, for longer than allowed, since
 * *SINCE_NS. */
static bool is_idle_since(const struct deadline_thread *deadlines, const struct deadline *deadline,
                          int64_t word, int64_t now, int64_t *since_ns) {
    const struct pressure_options *options = &deadlines->pressure.options;
    const enum phase phase = deadline_phase(word);
    long patience_ms = options->idle_patience_ms;
    if (phase == PHASE_BODY) {
        *since_ns = atomic_load_explicit(&deadline->moved_ns, memory_order_relaxed);
        patience_ms = options->patience_ms;
    } else if (phase == PHASE_IDLE || phase == PHASE_HEADERS) {
        *since_ns = deadline_entered(&deadlines->limits, word);
    } else {
        return false;
    }
    return now - *since_ns >= patience_ms * MS_NS;
}

/* By client, then the youngest first. */
static int by_peer(const void *a, const void *b) {
    const struct idler *x = a, *y = b;
    if (x->peer != y->peer) return x->peer > y->peer ? 1 : -1;
    return (x->since_ns < y->since_ns) - (x->since_ns > y->since_ns);
}

static int by_rank(const void *a, const void *b) {
    const struct idler *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? 1 : -1;
    return (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

static void rank(struct idler *idlers, uint32_t count) {
    qsort(idlers, count, sizeof *idlers, by_peer);
    for (uint32_t i = 0; i < count; i++)
        idlers[i].rank = i && idlers[i].peer == idlers[i - 1].peer ? idlers[i - 1].rank + 1 : 1;
    qsort(idlers, count, sizeof *idlers, by_rank);
}

/* Connections that may be cut off; *LEAVING: how many were cut off earlier and are still open. */
static uint32_t find_idlers(const struct deadline_thread *deadlines, struct idler *idlers,
                            int *leaving) {
    const int64_t now = clock_ns();
    uint32_t count = 0;
    *leaving = 0;
    for (uint32_t index = 0; index < deadlines->table.used; index++) {
        struct deadline *deadline = deadlines->table.entries[index].deadline;
        if (!deadline) continue;
        const uint64_t peer = atomic_load_explicit(&deadline->peer, memory_order_relaxed);
        const int64_t word = atomic_load(&deadline->word);
        int64_t since_ns;
        if (!peer) continue;
        if (deadline->cut)
            ++*leaving;
        else if (is_idle_since(deadlines, deadline, word, now, &since_ns))
            idlers[count++] = (struct idler){ deadline, word, since_ns, peer, 0 };
    }
    return count;
}

/* Unread bytes may be a request. */
static bool cut_off_idler(struct deadline_thread *deadlines, const struct idler *idler) {
    int unread = 0;
    return ioctl(idler->deadline->fd, FIONREAD, &unread) == 0 && unread == 0 &&
           deadline_cut(deadlines, idler->deadline, idler->word, ENDED_CROWDED);
}

int connection_eviction_run(struct deadline_thread *deadlines, int (*waiting)(const void *context),
                            const void *context) {
    int gone = 0;
    pthread_mutex_lock(&deadlines->lock);
    const int wanted = waiting(context);
    struct idler *idlers = malloc((deadlines->table.used + 1) * sizeof *idlers);
    if (idlers) {
        const uint32_t count = find_idlers(deadlines, idlers, &gone);
        if (gone < wanted) rank(idlers, count);
        for (uint32_t i = 0; i < count && gone < wanted; i++)
            gone += cut_off_idler(deadlines, &idlers[i]);
    }
    pthread_mutex_unlock(&deadlines->lock);
    free(idlers);
    return gone;
}

/* ---- the daemon stops */

/* Bytes that the library has not read yet may be a request: the client is not idle then. */
static bool is_idle_for(const struct deadline_thread *deadlines, const struct deadline *deadline,
                        int64_t word, int64_t now, long idle_ms, long fresh_ms) {
    const enum phase phase = deadline_phase(word);
    if (phase != PHASE_IDLE && phase != PHASE_HEADERS) return false;
    const long wait_ms = phase == PHASE_IDLE ? idle_ms : fresh_ms;
    return now - deadline_entered(&deadlines->limits, word) >= wait_ms * MS_NS &&
           deadline_waits_for_client(deadline, phase);
}

/* The next connection from *INDEX on that is not cut off; NULL: none. Under the lock. */
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

/* Twice RATE, up to rate_max_bytes. */
static int64_t next_rate(const struct deadline_thread *deadlines, int64_t rate) {
    const int64_t most = deadlines->pressure.options.rate_max_bytes;
    return rate >= most ? rate : 2 * rate < most ? 2 * rate : most;
}

static void begin_window(struct deadline *deadline, int64_t now, int64_t moved, int64_t rate) {
    deadline->drained_ns = now;
    deadline->drained_from = moved;
    deadline->drained_rate = rate;
}

/* Measured in windows of SLOW_NS from the first look. */
static bool moves_slowly(const struct deadline_thread *deadlines, struct deadline *deadline,
                         bool answer, int64_t now, int64_t slow_ns) {
    const int64_t started = deadline->started_ns, past = now - deadline->drained_ns;
    const bool fresh = deadline->drained_of != started;
    if (!fresh && past < slow_ns) return false;
    const int64_t moved = answer ? acked_bytes_count(deadline->fd) : deadline->bytes;
    if (fresh) {
        const struct deadline_limits *limits = &deadlines->limits;
        deadline->drained_of = started;
        begin_window(deadline, now, moved,
                     answer ? limits->write_rate_bytes : limits->body_rate_bytes);
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
