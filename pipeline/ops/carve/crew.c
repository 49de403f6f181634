// SPDX-License-Identifier: Apache-2.0
/* HOW. `open` holds the parts of the present section that nobody has claimed. Who lowers it by one
 * owns a part, and the section cannot end, nor its fields change, until that part is done. A member
 * that reads 0 touches nothing else. Where others want the cores too, a member may be off its core
 * in the middle of a part: a leader that had to wait for long does the next sections alone. */
#include "pipeline/ops/carve/crew.h"

#include "pipeline/timing.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { LOOKS_BEFORE_YIELD = 4000, LOOKS_BEFORE_SLEEP = 16000, SLEEP_NS = 50000 };
enum { SECTIONS_ALONE = 64, LONG_NS = 50000, OVER = -1 };

struct crew {
    void (*lead)(struct crew *crew, void *lead_argument);
    void *lead_argument;
    void (*work)(void *argument, int part);
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

/* Works on one part where one is open. */
static bool take(struct crew *crew, int open) {
    if (open <= 0 || !atomic_compare_exchange_weak_explicit(
                         &crew->open, &open, open - 1, memory_order_acq_rel, memory_order_relaxed))
        return false;
    crew->work(crew->argument, open - 1);
    atomic_fetch_add_explicit(&crew->done, 1, memory_order_release);
    return true;
}

static void share(struct crew *crew, int parts) {
    atomic_store_explicit(&crew->done, 0, memory_order_relaxed);
    const int64_t start = clock_ns();
    atomic_store_explicit(&crew->open, parts, memory_order_release);
    int open;
    while ((open = atomic_load_explicit(&crew->open, memory_order_acquire)) > 0) take(crew, open);
    const int64_t worked = clock_ns();
    for (int looks = 0; atomic_load_explicit(&crew->done, memory_order_acquire) < parts; looks++)
        breathe(looks < LOOKS_BEFORE_SLEEP ? looks : LOOKS_BEFORE_SLEEP);
    if (clock_ns() - worked > 2 * (worked - start) + LONG_NS) crew->alone = SECTIONS_ALONE;
}

void crew_share(struct crew *crew, void (*work)(void *argument, int part), void *argument,
                int parts) {
    if (crew->alone) {
        crew->alone--;
        for (int part = 0; part < parts; part++) work(argument, part);
        return;
    }
    crew->work = work;
    crew->argument = argument;
    share(crew, parts);
}

static void member(void *argument, int part) {
    (void)part;
    struct crew *crew = argument;
    if (!atomic_flag_test_and_set_explicit(&crew->led, memory_order_relaxed)) {
        crew->lead(crew, crew->lead_argument);
        atomic_store_explicit(&crew->open, OVER, memory_order_release);
        return;
    }
    int open;
    for (int looks = 0; (open = atomic_load_explicit(&crew->open, memory_order_acquire)) != OVER;)
        if (take(crew, open))
            looks = 0;
        else
            breathe(looks < LOOKS_BEFORE_SLEEP ? looks++ : LOOKS_BEFORE_SLEEP + 1);
}

void crew_run(struct pool *pool, int members, void (*lead)(struct crew *crew, void *argument),
              void *argument) {
    struct crew crew = { .lead = lead, .lead_argument = argument, .led = ATOMIC_FLAG_INIT };
    atomic_init(&crew.open, 0);
    atomic_init(&crew.done, 0);
    const int threads = pool_threads(pool);
    pool_run(pool, member, &crew, members < threads ? members : threads);
}
