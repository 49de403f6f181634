// SPDX-License-Identifier: Apache-2.0
/* How it works. One lock, one line of waiting lanes, first come, first served: the first one takes
 * all that it needs at once or waits for the next loan to come back. Under the lock bytes are only
 * counted and steps of the pinned range marked; memory is made outside it.
 *
 * Device memory comes from CUDA's stream-ordered pool: freeing is queued, and nothing waits. The
 * pool's threshold is never reached, so that all memory stays with the process for later jobs of
 * any size, since the driver maps pages anew. cudaFree would wait for every kernel of every lane. A
 * freed block may be reused only once the work before is done: otherwise the driver would make one
 * lane's stream wait for another's. Where the driver has no such pools (some virtual GPUs), memory
 * is allocated and freed for each job.
 *
 * Lock order: no other lock is taken under this one. */
#include "cuda/memory_pool.cuh"

#include "cuda/check.cuh"
#include "pipeline/timing.h"

#include <pthread.h>
#include <time.h>

enum { DEVICES_MAX = 64, CHECK_MS = 100 };
static const int64_t ms_ns = 1000000;

struct device_memory {
    bool known;
    cudaMemPool_t pool; /* NULL: the driver has none */
    size_t bound, lent; /* bytes */
};

struct waiter {
    struct waiter *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct waiter *waiting; /* the first in line */
    int lanes;
    size_t pinned_bound, device_bound; /* SIZE_MAX: none */
    struct device_memory devices[DEVICES_MAX];
} pool = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };

/* ---- opening and closing */

void memory_pool_open(size_t pinned_bytes, size_t device_bytes) {
    pthread_mutex_lock(&pool.lock);
    pool.lanes++;
    pool.pinned_bound = pinned_bytes ? pinned_bytes : SIZE_MAX;
    pool.device_bound = device_bytes ? device_bytes : SIZE_MAX;
    for (struct device_memory &memory : pool.devices) memory.bound = 0;
    pthread_mutex_unlock(&pool.lock);
}

static void release_all(void) {
    for (struct device_memory &memory : pool.devices) {
        if (memory.pool) cudaMemPoolDestroy(memory.pool);
        memory = {};
    }
    cudaGetLastError();
    pinned_pool_release();
}

void memory_pool_close(void) {
    pthread_mutex_lock(&pool.lock);
    if (--pool.lanes == 0) release_all();
    pthread_mutex_unlock(&pool.lock);
}

static cudaMemPool_t make_pool(int device) {
    cudaMemPool_t made = NULL;
    struct cudaMemPoolProps props = {};
    int supported = 0, no = 0;
    uint64_t everything = UINT64_MAX;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    if (cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device) || !supported ||
        cudaMemPoolCreate(&made, &props)) {
        cudaGetLastError();
        return NULL;
    }
    cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &everything);
    cudaMemPoolSetAttribute(made, cudaMemPoolReuseAllowInternalDependencies, &no);
    cudaGetLastError();
    return made;
}

/* Returns what the pool has and what is free on the GPU, less a sixteenth, which CUDA needs. */
static size_t bytes_there(const struct device_memory *memory) {
    size_t there = 0, all = 0;
    uint64_t kept = memory->lent;
    if (memory->pool)
        cudaMemPoolGetAttribute(memory->pool, cudaMemPoolAttrReservedMemCurrent, &kept);
    cudaMemGetInfo(&there, &all);
    cudaGetLastError();
    return (size_t)kept + there - there / 16;
}

/* Looks at DEVICE when the first large job comes: by then lanes have their memory. */
static struct device_memory *memory_of(int device) {
    if (device < 0 || device >= DEVICES_MAX) return NULL;
    struct device_memory *memory = &pool.devices[device];
    if (!memory->known) memory->pool = make_pool(device);
    memory->known = true;
    if (!memory->bound) {
        const size_t most = bytes_there(memory);
        memory->bound = most < pool.device_bound ? most : pool.device_bound;
    }
    return memory;
}

/* ---- lending */

/* Fails if NEED exceeds what could ever be lent. */
static enum status check_bounds(const struct device_memory *memory, const struct memory_need *need,
                                struct failure *failure) {
    const size_t pinned =
        pinned_pool_rounded(need->pinned_in) + pinned_pool_rounded(need->pinned_out);
    const size_t steps = pool.pinned_bound / PINNED_STEP * PINNED_STEP;
    const size_t most = steps < PINNED_POOL_MAX ? steps : PINNED_POOL_MAX;
    if (pinned > most)
        return fail(failure, STATUS_NO_MEMORY,
                    "the job needs %zu MiB of pinned memory for large images, pinned_pool_bytes "
                    "allows %zu",
                    pinned >> 20, most >> 20);
    if (need->device && (!memory || need->device > memory->bound))
        return fail(failure, STATUS_NO_MEMORY,
                    "the job needs %zu MiB of device memory beyond a lane's own; device_pool_bytes "
                    "and the GPU allow %zu",
                    need->device >> 20, memory ? memory->bound >> 20 : (size_t)0);
    return STATUS_OK;
}

static bool take_pinned(size_t bytes, struct pinned_run *run) {
    return !bytes || pinned_pool_take(bytes, pool.pinned_bound, run);
}

static bool take(struct device_memory *memory, const struct memory_need *need,
                 struct memory_loan *loan) {
    if (need->device && memory->lent + need->device > memory->bound) return false;
    if (!take_pinned(need->pinned_in, &loan->pinned_in) ||
        !take_pinned(need->pinned_out, &loan->pinned_out)) {
        pinned_pool_give(&loan->pinned_in);
        return false;
    }
    if (need->device) memory->lent += need->device;
    loan->need = *need;
    return true;
}

/* Waits until a loan comes back, or CHECK_MS pass. */
static void wait_a_while(int64_t end_ns) {
    const int64_t next = clock_ns() + CHECK_MS * ms_ns, until = next < end_ns ? next : end_ns;
    const struct timespec time = { until / (1000 * ms_ns), until % (1000 * ms_ns) };
    pthread_cond_clockwait(&pool.changed, &pool.lock, CLOCK_MONOTONIC, &time);
}

/* Fails when the wait has lasted too long or the caller's job is given up. */
static enum status check_wait(const struct lane_wait *wait, int64_t end_ns) {
    if (clock_ns() >= end_ns) return STATUS_NO_MEMORY;
    return wait && wait->check ? wait->check(wait->context) : STATUS_OK;
}

/* Called under the lock. */
static enum status wait_and_take(struct device_memory *memory, const struct memory_need *need,
                                 const struct lane_wait *wait, struct memory_loan *loan) {
    struct waiter self = {}, **place = &pool.waiting;
    const int64_t end_ns = clock_ns() + MEMORY_POOL_WAIT_MS * ms_ns;
    enum status status = STATUS_OK;
    while (*place) place = &(*place)->next;
    *place = &self;
    while (!status && !(pool.waiting == &self && take(memory, need, loan))) {
        status = check_wait(wait, end_ns);
        if (!status) wait_a_while(end_ns);
    }
    for (place = &pool.waiting; *place != &self;) place = &(*place)->next;
    *place = self.next;
    pthread_cond_broadcast(&pool.changed); /* the next lane in line may have room */
    return status;
}

static enum status explain_wait(enum status status, struct failure *failure) {
    if (status == STATUS_CANCELLED) return fail(failure, status, "the client has disconnected");
    if (status == STATUS_DEADLINE)
        return fail(failure, status, "other jobs kept the memory for large images for too long");
    return fail(failure, status, "other jobs kept the memory for large images for %d s",
                MEMORY_POOL_WAIT_MS / 1000);
}

static enum status allocate(const struct device_memory *memory, cudaStream_t stream,
                            struct memory_loan *loan, struct failure *failure) {
    if (!loan->need.device) return STATUS_OK;
    void **const to = (void **)&loan->device;
    if (memory->pool)
        CUDA_TRY(failure, cudaMallocFromPoolAsync(to, loan->need.device, memory->pool, stream));
    else
        CUDA_TRY(failure, cudaMalloc(to, loan->need.device));
    return STATUS_OK;
}

enum status memory_pool_lend(int device, const struct memory_need *need,
                             const struct lane_wait *wait, cudaStream_t stream,
                             struct memory_loan *loan, struct failure *failure) {
    *loan = {};
    pthread_mutex_lock(&pool.lock);
    struct device_memory *const memory = need->device ? memory_of(device) : NULL;
    enum status status = check_bounds(memory, need, failure);
    if (!status) {
        status = wait_and_take(memory, need, wait, loan);
        if (status) explain_wait(status, failure);
    }
    pthread_mutex_unlock(&pool.lock);
    if (status) return status;
    status = pinned_pool_prepare(&loan->pinned_in, failure);
    if (!status) status = pinned_pool_prepare(&loan->pinned_out, failure);
    if (!status) status = allocate(memory, stream, loan, failure);
    if (status) memory_pool_give_back(device, loan, stream);
    return status;
}

void memory_pool_give_back(int device, struct memory_loan *loan, cudaStream_t stream) {
    if (memory_need_is_none(&loan->need)) return;
    struct device_memory *const memory = loan->need.device ? &pool.devices[device] : NULL;
    if (loan->device && memory->pool)
        cudaFreeAsync(loan->device, stream);
    else if (loan->device)
        cudaFree(loan->device);
    cudaGetLastError(); /* the stream's own error is reported where the stream is waited for */
    pthread_mutex_lock(&pool.lock);
    if (memory) memory->lent -= loan->need.device;
    pinned_pool_give(&loan->pinned_in);
    pinned_pool_give(&loan->pinned_out);
    *loan = {};
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}
