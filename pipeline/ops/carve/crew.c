// SPDX-License-Identifier: Apache-2.0
/* `open` holds the parts of the present section that nobody has claimed. Who lowers it by one owns
 * a part, and the section cannot end, nor its fields change, until that part is done. A member that
 * reads 0 touches nothing else. */
#include "pipeline/ops/carve/crew.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { LOOKS_BEFORE_YIELD = 4000, OVER = -1 };

struct crew {
    void (*lead)(struct crew *crew, void *lead_argument);
    void *lead_argument;
    void (*work)(void *argument, int part);
    void *argument;
    atomic_flag led;
    _Alignas(64) atomic_int open;
    _Alignas(64) atomic_int done;
};

static inline void breathe(int looks) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (looks > LOOKS_BEFORE_YIELD) sched_yield();
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

void crew_share(struct crew *crew, void (*work)(void *argument, int part), void *argument,
                int parts) {
    crew->work = work;
    crew->argument = argument;
    atomic_store_explicit(&crew->done, 0, memory_order_relaxed);
    atomic_store_explicit(&crew->open, parts, memory_order_release);
    int open;
    while ((open = atomic_load_explicit(&crew->open, memory_order_acquire)) > 0) take(crew, open);
    for (int looks = 0; atomic_load_explicit(&crew->done, memory_order_acquire) < parts; looks++)
        breathe(looks);
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
            breathe(looks++);
}

void crew_run(struct pool *pool, int members, void (*lead)(struct crew *crew, void *argument),
              void *argument) {
    struct crew crew = { .lead = lead, .lead_argument = argument, .led = ATOMIC_FLAG_INIT };
    atomic_init(&crew.open, 0);
    atomic_init(&crew.done, 0);
    const int threads = pool_threads(pool);
    pool_run(pool, member, &crew, members < threads ? members : threads);
}
