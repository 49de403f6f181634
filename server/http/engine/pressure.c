// SPDX-License-Identifier: Apache-2.0
#include "server/http/engine/pressure.h"

#include "server/http/engine/deadline_time.h"

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
