// SPDX-License-Identifier: Apache-2.0
/* How it works. `open` holds the pieces of the present section that nobody has claimed. Who lowers
 * it by one owns a piece, and the section cannot end, nor its fields change, until that piece is
 * done. A member that reads 0 touches nothing else. Where others want the cores too, a member may
 * be off its core in the middle of a piece: a leader that had to wait for long does the next
 * sections alone. */
#include "pipeline/ops/carve/spin_team.h"

#include "pipeline/timing.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { LOOKS_BEFORE_YIELD = 4000, LOOKS_BEFORE_SLEEP = 16000, SLEEP_NS = 50000 };
enum { SECTIONS_ALONE = 64, LONG_NS = 50000, OVER = -1 };

struct spin_team {
    void (*lead)(struct spin_team *team, void *lead_argument);
    void *lead_argument;
    void (*work)(void *argument, int index);
    void *argument;
    atomic_flag led;
    int alone; /* sections that the leader is still to do alone; the leader's */
    _Alignas(64) atomic_int open;
    _Alignas(64) atomic_int done;
};

static inline void breathe(int looks) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (looks > LOOKS_BEFORE_SLEEP)
        nanosleep(&(struct timespec){ .tv_nsec = SLEEP_NS }, NULL);
    else if (looks > LOOKS_BEFORE_YIELD)
        sched_yield();
}

/* Works on one piece where one is open. */
static bool take(struct spin_team *team, int open) {
    if (open <= 0 || !atomic_compare_exchange_weak_explicit(
                         &team->open, &open, open - 1, memory_order_acq_rel, memory_order_relaxed))
        return false;
    team->work(team->argument, open - 1);
    atomic_fetch_add_explicit(&team->done, 1, memory_order_release);
    return true;
}

static void share(struct spin_team *team, int count) {
    atomic_store_explicit(&team->done, 0, memory_order_relaxed);
    const int64_t start = clock_ns();
    atomic_store_explicit(&team->open, count, memory_order_release);
    int open;
    while ((open = atomic_load_explicit(&team->open, memory_order_acquire)) > 0) take(team, open);
    const int64_t worked = clock_ns();
    for (int looks = 0; atomic_load_explicit(&team->done, memory_order_acquire) < count; looks++)
        breathe(looks < LOOKS_BEFORE_SLEEP ? looks : LOOKS_BEFORE_SLEEP);
    if (clock_ns() - worked > 2 * (worked - start) + LONG_NS) team->alone = SECTIONS_ALONE;
}

void spin_team_share(struct spin_team *team, void (*work)(void *argument, int index),
                     void *argument, int count) {
    if (team->alone) {
        team->alone--;
        for (int index = 0; index < count; index++) work(argument, index);
        return;
    }
    team->work = work;
    team->argument = argument;
    share(team, count);
}

static void member(void *argument, int index) {
    (void)index;
    struct spin_team *team = argument;
    if (!atomic_flag_test_and_set_explicit(&team->led, memory_order_relaxed)) {
        team->lead(team, team->lead_argument);
        atomic_store_explicit(&team->open, OVER, memory_order_release);
        return;
    }
    int open;
    for (int looks = 0; (open = atomic_load_explicit(&team->open, memory_order_acquire)) != OVER;)
        if (take(team, open))
            looks = 0;
        else
            breathe(looks < LOOKS_BEFORE_SLEEP ? looks++ : LOOKS_BEFORE_SLEEP + 1);
}

void spin_team_run(struct pool *pool, int members,
                   void (*lead)(struct spin_team *team, void *argument), void *argument) {
    struct spin_team team = { .lead = lead, .lead_argument = argument, .led = ATOMIC_FLAG_INIT };
    atomic_init(&team.open, 0);
    atomic_init(&team.done, 0);
    const int threads = pool_threads(pool);
    pool_run(pool, member, &team, members < threads ? members : threads);
}
