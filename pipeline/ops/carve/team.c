// SPDX-License-Identifier: Apache-2.0
/* How it works. A seam is found in a tenth of a millisecond, and waking a pool's threads takes as
 * long. So the threads are fetched once and wait for the next section by polling one word, `open`.
 * A member that decrements it owns a piece; the section cannot end, nor its fields change, until
 * that piece is done. A member that reads no pieces touches nothing else. The first member leads:
 * it works too, and it waits only for pieces that were begun, so threads that never come cost
 * nothing. On a busy machine a member may lose its core in the middle of a piece: if a section
 * takes much longer than its longest piece had a core, the leader does the next ones alone.
 *
 * Where members keep their pieces, and with these what their caches hold, the word only says that
 * a piece is left; `claims` say which. A member that has done its own, or has none, leaves the
 * others a few microseconds to come for theirs, once in each section. */
#include "pipeline/ops/carve/team.h"

#include "pipeline/timing.h"

#include <sched.h>
#include <time.h>

enum { LOOKS_BEFORE_YIELD = 4000, SLEEP_NS = 50000 };

/* LONG_NS: what waking up and waiting for others may add; losing a core costs milliseconds. */
enum { SECTIONS_ALONE = 64, LONG_NS = 300000 };

/* `open` is the section's number times SECTION, plus its unclaimed pieces; or OVER. Sections whose
 * pieces members keep have odd numbers. */
enum { SECTION = TEAM_PIECES_MAX + 1, SECTIONS_MOST = 1 << 20, OVER = -1 };

void team_breathe(int looks) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (looks > LOOKS_BEFORE_SLEEP)
        nanosleep(&(struct timespec){ .tv_nsec = SLEEP_NS }, NULL);
    else if (looks > LOOKS_BEFORE_YIELD)
        sched_yield();
}

static int more_looks(int looks) {
    return looks > LOOKS_BEFORE_SLEEP ? looks : looks + 1;
}

/* Returns the first unclaimed piece from the member's own on. There is one: it was counted. */
static int claim(struct team *team, int number) {
    for (int i = number % team->pieces;; i = (i + 1) % team->pieces)
        if (!atomic_load_explicit(&team->claims[i].taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&team->claims[i].taken, true, memory_order_relaxed))
            return i;
}

static int64_t thread_cpu_ns(void) {
    struct timespec used;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)
               ? 0
               : used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

static void note_longest(struct team *team, int64_t ns) {
    int_least64_t longest = atomic_load_explicit(&team->longest_ns, memory_order_relaxed);
    while (ns > longest &&
           !atomic_compare_exchange_weak_explicit(&team->longest_ns, &longest, ns,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Works on one piece if one is open, and for this member. */
static bool take_piece(struct team *team, struct team_member *member) {
    int open = atomic_load_explicit(&team->open, memory_order_acquire);
    if (open < 0 || open % SECTION == 0) return false;
    const bool kept = open / SECTION & 1, again = member->section == open / SECTION;
    if (member->seen != open / SECTION) member->seen = open / SECTION, member->looks = 0;
    if (kept && (again ? !member->helps : member->spare) && member->looks < LOOKS_BEFORE_OTHERS)
        return false;
    if (!atomic_compare_exchange_weak_explicit(&team->open, &open, open - 1, memory_order_acq_rel,
                                               memory_order_relaxed))
        return false;
    member->section = open / SECTION;
    member->helps = again;
    if (kept) member->spare = member->number >= team->pieces;
    const int64_t began_ns = thread_cpu_ns();
    team->section(team->work, kept ? claim(team, member->number) : open % SECTION - 1);
    note_longest(team, thread_cpu_ns() - began_ns);
    atomic_fetch_add_explicit(&team->done, 1, memory_order_release);
    member->looks = 0;
    return true;
}

void team_share(struct team *team, void (*section)(struct work *work, int index), int count,
                bool kept) {
    if (team->alone) {
        team->alone--;
        for (int index = 0; index < count; index++) section(team->work, index);
        return;
    }
    team->section = section;
    team->pieces = count;
    for (int i = 0; i < count && kept; i++)
        atomic_store_explicit(&team->claims[i].taken, false, memory_order_relaxed);
    atomic_store_explicit(&team->done, 0, memory_order_relaxed);
    atomic_store_explicit(&team->longest_ns, 0, memory_order_relaxed);
    team->number = (team->number / 2 + 1) % SECTIONS_MOST * 2 + kept;
    const int64_t start = clock_ns();
    atomic_store_explicit(&team->open, team->number * SECTION + count, memory_order_release);
    while (atomic_load_explicit(&team->open, memory_order_acquire) % SECTION > 0) {
        if (take_piece(team, &team->leader)) continue;
        team_breathe(0);
        team->leader.looks = more_looks(team->leader.looks);
    }
    for (int looks = 0; atomic_load_explicit(&team->done, memory_order_acquire) < count;
         looks = more_looks(looks))
        team_breathe(looks);
    const int64_t longest_ns = atomic_load_explicit(&team->longest_ns, memory_order_relaxed);
    if (clock_ns() - start > 2 * longest_ns + LONG_NS) team->alone = SECTIONS_ALONE;
}

static void run_member(void *argument, int index) {
    (void)index;
    struct team *team = argument;
    struct team_member member = {
        .number = atomic_fetch_add_explicit(&team->members, 1, memory_order_relaxed),
        .section = OVER,
        .seen = OVER,
    };
    if (!atomic_flag_test_and_set_explicit(&team->led, memory_order_relaxed)) {
        team->leader = member;
        team->lead(team->work);
        atomic_store_explicit(&team->open, OVER, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&team->open, memory_order_acquire) != OVER) {
        if (take_piece(team, &member)) continue;
        team_breathe(member.looks);
        member.looks = more_looks(member.looks);
    }
}

void team_run(struct team *team, struct pool *pool, int threads, struct work *work,
              void (*lead)(struct work *work)) {
    team->work = work;
    team->lead = lead;
    atomic_flag_clear(&team->led);
    pool_run(pool, run_member, team, threads);
}
