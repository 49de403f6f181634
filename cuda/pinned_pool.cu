// SPDX-License-Identifier: Apache-2.0
#include "cuda/pinned_pool.cuh"

#include "cuda/check.cuh"

#include <string.h>
#include <sys/mman.h>

enum { STEPS = 4096, PAGE = 4096 };
static_assert(STEPS * PINNED_STEP == PINNED_POOL_MAX, "a flag for each step");

enum step_state : uint8_t { STEP_BARE, STEP_PAGEABLE, STEP_PINNED };

static struct {
    uint8_t *base; /* NULL: not reserved yet; atomic: copies read it without the lock */
    bool taken[STEPS];
    enum step_state state[STEPS]; /* written by the thread that has the step */
} range;

static bool reserve_range(void) {
    if (range.base) return true;
    void *const base =
        mmap(NULL, PINNED_POOL_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return false;
    madvise(base, PINNED_POOL_MAX, MADV_HUGEPAGE); /* fewer pages to touch and to lock */
    __atomic_store_n(&range.base, (uint8_t *)base, __ATOMIC_RELEASE);
    return true;
}

static bool is_inside(const uint8_t *memory) {
    const uint8_t *const base = __atomic_load_n(&range.base, __ATOMIC_ACQUIRE);
    return base && memory >= base && memory < base + PINNED_POOL_MAX;
}

/* ---- runs */

bool pinned_pool_take(size_t bytes, size_t bound, struct pinned_run *run) {
    const size_t most = bound < PINNED_POOL_MAX ? bound : PINNED_POOL_MAX;
    if (bytes > most || !reserve_range()) return false;
    const size_t wanted = pinned_pool_rounded(bytes) / PINNED_STEP, steps = most / PINNED_STEP;
    size_t free_steps = 0;
    for (size_t i = 0; i < steps; i++) {
        free_steps = range.taken[i] ? 0 : free_steps + 1;
        if (free_steps < wanted) continue;
        const size_t first = i + 1 - wanted;
        memset(range.taken + first, 1, wanted);
        *run = { range.base + first * PINNED_STEP, wanted * PINNED_STEP };
        return true;
    }
    return false;
}

void pinned_pool_give(struct pinned_run *run) {
    if (!run->memory) return;
    memset(range.taken + (run->memory - range.base) / PINNED_STEP, 0, run->bytes / PINNED_STEP);
    *run = {};
}

/* Touches the pages first: locking missing pages takes several times as long, and other threads may
 * use CUDA meanwhile. */
static bool back_step(uint8_t *step) {
    if (mprotect(step, PINNED_STEP, PROT_READ | PROT_WRITE) != 0) return false;
    for (size_t at = 0; at < PINNED_STEP; at += PAGE) *(volatile uint8_t *)(step + at) = 0;
    return true;
}

static enum step_state lock_step(uint8_t *step) {
    const unsigned flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
    if (cudaHostRegister(step, PINNED_STEP, flags) == cudaSuccess) return STEP_PINNED;
    cudaGetLastError(); /* the step works unlocked too */
    return STEP_PAGEABLE;
}

enum status pinned_pool_prepare(const struct pinned_run *run, struct failure *failure) {
    for (size_t at = 0; at < run->bytes; at += PINNED_STEP) {
        uint8_t *const step = run->memory + at;
        enum step_state *const state = &range.state[(step - range.base) / PINNED_STEP];
        if (*state != STEP_BARE) continue;
        if (!back_step(step))
            return fail(failure, STATUS_NO_MEMORY,
                        "the system has no %zu MiB more of memory for a large image",
                        PINNED_STEP >> 20);
        *state = lock_step(step);
    }
    return STATUS_OK;
}

/* ---- copies */

cudaError_t pinned_pool_copy(uint8_t *to, const uint8_t *from, size_t bytes,
                             enum cudaMemcpyKind kind, cudaStream_t stream) {
    const uint8_t *const host = kind == cudaMemcpyHostToDevice ? from : to;
    if (!is_inside(host)) return cudaMemcpyAsync(to, from, bytes, kind, stream);
    const size_t skew = (size_t)(host - range.base) % PINNED_STEP;
    size_t piece = PINNED_STEP - skew;
    for (size_t at = 0; at < bytes; at += piece, piece = PINNED_STEP) {
        if (piece > bytes - at) piece = bytes - at;
        const cudaError_t error = cudaMemcpyAsync(to + at, from + at, piece, kind, stream);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

/* ---- the end */

void pinned_pool_release(void) {
    if (!range.base) return;
    for (size_t i = 0; i < STEPS; i++)
        if (range.state[i] == STEP_PINNED) cudaHostUnregister(range.base + i * PINNED_STEP);
    cudaGetLastError();
    munmap(range.base, PINNED_POOL_MAX);
    memset(&range, 0, sizeof range);
}
