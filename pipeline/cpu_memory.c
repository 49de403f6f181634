// SPDX-License-Identifier: Apache-2.0
/* How it works. A lane maps memory for the largest recent batch, without touching it. Between
 * batches the lane gives memory back piece by piece (all at once takes 0.1 to 0.25 ms a MB): what a
 * large batch took beyond the upper bound `keep_bytes[1]`, and what no batch of the last second or
 * two needed beyond the lower bound `keep_bytes[0]`. Memory is unmapped, because a limit may be set
 * on addresses (`ulimit -d`, `-v`).
 *
 * When the system refuses memory, or when the lanes together would exceed their common bound, lanes
 * between batches give back all that they keep. If that is not enough, the lane waits, holding
 * nothing, for the large batches that run. Waiting lanes are served in the order of their arrival:
 * no large batch starts before them, but small ones do.
 *
 * A lane claims what a large batch needs and, after the batch, what it keeps of that. The memory
 * that every lane may keep for small batches is not claimed. */
#include "pipeline/cpu_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, PIECE = 2 << 20, MAPPED_ALIGN = 1 << 20, WINDOW_MS = 1000 };

/* A lane that was refused memory tries every WAIT_MS; it gives up after VAIN_TRIES while no other
 * lane holds memory. */
enum { WAIT_MS = 10, VAIN_TRIES = 3 };

enum { AREAS = CPU_MEMORY_AREAS };

/* All lanes of this process. Lock order: lanes_lock before the lock of a lane. */
static pthread_mutex_t lanes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpu_memory *lanes;
static uint64_t last_ticket; /* atomic */
static int lanes_waiting;    /* lanes that wait for memory; atomic */
static size_t claims_most;   /* bound on the claims of all lanes; 0: none; atomic */

static void area_release(struct area *area) {
    if (area->bytes) munmap(area->bytes, area->length);
    *area = (struct area){ .used = { area->used[0], area->used[1] } };
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static bool claimed(const struct cpu_memory *memory) {
    return __atomic_load_n(&memory->claim, __ATOMIC_RELAXED) > 0;
}

static void set_claim(struct cpu_memory *memory, size_t bytes) {
    __atomic_store_n(&memory->claim, bytes, __ATOMIC_RELAXED);
}

/* Makes AREA at least BYTES long; leaves the area unchanged on failure. */
static bool area_reserve(struct area *area, size_t bytes) {
    if (bytes > area->length) {
        const size_t length = (bytes + MAPPED_ALIGN - 1) / MAPPED_ALIGN * MAPPED_ALIGN;
        void *mapped = area->bytes ? mremap(area->bytes, area->length, length, MREMAP_MAYMOVE)
                                   : mmap(NULL, length, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) return false;
        area->bytes = mapped;
        area->length = length;
    }
    area->touched = larger(area->touched, bytes);
    area->used[0] = larger(area->used[0], bytes);
    return true;
}

/* Unmaps the last piece of what lies beyond KEEP; false where there was none. */
static bool area_trim(struct area *area, size_t keep) {
    if (area->touched <= keep) return false;
    const size_t piece = (area->touched - 1) / PIECE * PIECE, from = larger(piece, keep);
    if (from == 0) return area_release(area), true;
    munmap(area->bytes + from, area->length - from);
    area->length = area->touched = from;
    return true;
}

static size_t paged(size_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Returns the bytes to keep: what batches of this window and the last one used, within bounds, in
 * whole pages. */
static size_t kept(const struct cpu_memory *memory, const struct area *area) {
    const size_t used = paged(larger(area->used[0], area->used[1]));
    const size_t most = memory->keep_bytes[1];
    return larger(used < most ? used : most, memory->keep_bytes[0]);
}

static void next_window(struct cpu_memory *memory) {
    const int64_t now = clock_ns(), passed = now - memory->window_ns;
    if (passed < WINDOW_MS * INT64_C(1000000)) return;
    for (int i = 0; i < AREAS; i++) {
        struct area *area = &memory->area[i];
        area->used[1] = passed < 2 * WINDOW_MS * INT64_C(1000000) ? area->used[0] : 0;
        area->used[0] = 0;
    }
    memory->window_ns = now;
}

static void release_areas(struct cpu_memory *memory) {
    for (int i = 0; i < AREAS; i++) area_release(&memory->area[i]);
}

void cpu_memory_reclaim(void) {
    pthread_mutex_lock(&lanes_lock);
    for (struct cpu_memory *memory = lanes; memory; memory = memory->next) {
        pthread_mutex_lock(&memory->lock);
        if (memory->phase == CPU_BETWEEN) {
            release_areas(memory);
            set_claim(memory, 0);
        }
        pthread_mutex_unlock(&memory->lock);
    }
    pthread_mutex_unlock(&lanes_lock);
    malloc_trim(0);
}

static void enter(struct cpu_memory *memory, enum cpu_phase phase) {
    pthread_mutex_lock(&memory->lock);
    __atomic_store_n(&memory->phase, phase, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&memory->lock);
}

static bool is_small(const struct cpu_memory *memory, const struct lane_need *need) {
    return larger(larger(need->in, need->work), larger(need->out, need->codec)) <=
           memory->keep_bytes[0];
}

/* ---- the bound on all lanes together */

void cpu_memory_set_most(size_t bytes) {
    __atomic_store_n(&claims_most, bytes, __ATOMIC_RELAXED);
}

/* Returns the bytes that the lane claims for NEED, which is all zero between batches. */
static size_t claim_of(const struct cpu_memory *memory, const struct lane_need *need) {
    const size_t wanted[AREAS] = { need->in, need->work, need->out };
    size_t bytes = need->codec;
    for (int i = 0; i < AREAS; i++) bytes += larger(memory->area[i].touched, wanted[i]);
    return bytes <= AREAS * memory->keep_bytes[0] ? 0 : bytes;
}

/* Returns false where the other lanes claim too much. A small batch is always accepted: its memory
 * is bounded already. */
static bool claim(struct cpu_memory *self, const struct lane_need *need) {
    const size_t bytes = claim_of(self, need);
    const size_t most = __atomic_load_n(&claims_most, __ATOMIC_RELAXED);
    size_t all = bytes;
    if (!bytes && !claimed(self)) return true;
    pthread_mutex_lock(&lanes_lock);
    for (const struct cpu_memory *memory = lanes; memory; memory = memory->next)
        if (memory != self) all += __atomic_load_n(&memory->claim, __ATOMIC_RELAXED);
    const bool fits = !most || all <= most || is_small(self, need);
    if (fits) set_claim(self, bytes);
    pthread_mutex_unlock(&lanes_lock);
    return fits;
}

/* The new claim is never larger, so no check is needed. */
static void lower_claim(struct cpu_memory *self) {
    const struct lane_need nothing = { .in = 0 };
    if (!claimed(self)) return;
    pthread_mutex_lock(&lanes_lock);
    set_claim(self, claim_of(self, &nothing));
    pthread_mutex_unlock(&lanes_lock);
}

/* `running`: other lanes run a large batch. `before`: others waited for memory before this lane. */
struct others {
    bool running, before;
};

static struct others look_at_others(const struct cpu_memory *self) {
    struct others others = { false, false };
    pthread_mutex_lock(&lanes_lock);
    for (const struct cpu_memory *memory = lanes; memory; memory = memory->next) {
        const enum cpu_phase phase = __atomic_load_n(&memory->phase, __ATOMIC_RELAXED);
        if (memory == self) continue;
        others.running |= phase == CPU_RUNS_LARGE || (phase != CPU_BETWEEN && claimed(memory));
        others.before |=
            phase == CPU_WAITS && __atomic_load_n(&memory->ticket, __ATOMIC_RELAXED) < self->ticket;
    }
    pthread_mutex_unlock(&lanes_lock);
    return others;
}

static bool reserve_areas(struct cpu_memory *memory, const struct lane_need *need) {
    return claim(memory, need) && area_reserve(&memory->area[0], need->in) &&
           area_reserve(&memory->area[1], need->work) && area_reserve(&memory->area[2], need->out);
}

static void let_go(struct cpu_memory *memory) {
    release_areas(memory);
    lower_claim(memory);
}

static enum status check_wait(const struct lane_need *need) {
    return need->wait.check ? need->wait.check(need->wait.context) : STATUS_OK;
}

/* Takes memory that lanes between batches keep, then waits for large batches to end. One failure
 * while no other lane holds memory proves nothing: a batch may have begun or ended between the try
 * and look_at_others(). */
static bool try_in_turn(struct cpu_memory *memory, const struct lane_need *need) {
    const struct timespec pause = { .tv_nsec = WAIT_MS * 1000000L };
    for (int vain = 0; vain < VAIN_TRIES; vain++) {
        const struct others others = look_at_others(memory);
        if (!others.before) cpu_memory_reclaim();
        if (!others.before && reserve_areas(memory, need)) return true;
        let_go(memory);
        if (!need->wait.check || check_wait(need)) return false;
        if (others.running || others.before) vain = 0;
        nanosleep(&pause, NULL);
    }
    return false;
}

static bool reserve_in_turn(struct cpu_memory *memory, const struct lane_need *need) {
    let_go(memory);
    __atomic_store_n(&memory->ticket, __atomic_add_fetch(&last_ticket, 1, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    __atomic_add_fetch(&lanes_waiting, 1, __ATOMIC_RELAXED);
    enter(memory, CPU_WAITS);
    const bool reserved = try_in_turn(memory, need);
    __atomic_sub_fetch(&lanes_waiting, 1, __ATOMIC_RELAXED);
    return reserved;
}

enum status cpu_memory_reserve(struct cpu_memory *memory, const struct lane_need *need,
                               struct failure *failure) {
    const size_t bytes = need->in + need->work + need->out + need->codec;
    const size_t most = __atomic_load_n(&claims_most, __ATOMIC_RELAXED);
    if (most && bytes > most)
        return fail(
            failure, STATUS_TOO_LARGE,
            "this takes %zu bytes of memory, and all that a CPU does at a time may take %zu "
            "(cpu_memory_bytes); send a smaller image, or ask for less",
            bytes, most);
    if (need->keep) { /* the lane cannot let go of what it has, so it does not wait either */
        if (!is_small(memory, need)) enter(memory, CPU_RUNS_LARGE);
        if (reserve_areas(memory, need)) return STATUS_OK;
        return fail(failure, STATUS_NO_MEMORY, "%zu bytes of memory for the job are not free",
                    bytes);
    }
    const enum cpu_phase phase = is_small(memory, need) ? CPU_RUNS_SMALL : CPU_RUNS_LARGE;
    enter(memory, phase); /* from here on no other lane reclaims its areas */
    const bool behind =
        phase == CPU_RUNS_LARGE && __atomic_load_n(&lanes_waiting, __ATOMIC_RELAXED) > 0;
    const bool reserved = (!behind && reserve_areas(memory, need)) || reserve_in_turn(memory, need);
    enter(memory, phase);
    if (reserved) return STATUS_OK;
    const enum status over = check_wait(need);
    if (over == STATUS_CANCELLED) return fail(failure, over, "the client has disconnected");
    if (over) return fail(failure, over, "waited for memory until the time allowed was over");
    return fail(failure, STATUS_NO_MEMORY, "%zu bytes of memory for the job could not be allocated",
                bytes);
}

void cpu_memory_empty(struct cpu_memory *memory) {
    pthread_mutex_lock(&memory->lock);
    release_areas(memory);
    pthread_mutex_unlock(&memory->lock);
    lower_claim(memory);
}

bool cpu_memory_trim(struct cpu_memory *memory) {
    bool trimmed = false;
    pthread_mutex_lock(&memory->lock);
    __atomic_store_n(&memory->phase, CPU_BETWEEN, __ATOMIC_RELAXED);
    next_window(memory);
    for (int i = 0; i < AREAS && !trimmed; i++)
        trimmed = area_trim(&memory->area[i], kept(memory, &memory->area[i]));
    pthread_mutex_unlock(&memory->lock);
    lower_claim(memory);
    return trimmed;
}

void cpu_memory_init(struct cpu_memory *memory, size_t least, size_t most) {
    *memory =
        (struct cpu_memory){ .keep_bytes = { paged(least < most ? least : most), paged(most) },
                             .window_ns = clock_ns() };
    pthread_mutex_init(&memory->lock, NULL);
    pthread_mutex_lock(&lanes_lock);
    memory->next = lanes;
    lanes = memory;
    pthread_mutex_unlock(&lanes_lock);
}

void cpu_memory_release(struct cpu_memory *memory) {
    pthread_mutex_lock(&lanes_lock);
    struct cpu_memory **at = &lanes;
    while (*at != memory) at = &(*at)->next;
    *at = memory->next;
    pthread_mutex_unlock(&lanes_lock);
    release_areas(memory);
    pthread_mutex_destroy(&memory->lock);
}
