// SPDX-License-Identifier: Apache-2.0
/* memory_pool.cuh - lends pinned and device memory to jobs that need more than their lane has,
 * within a bound for the whole process.
 *
 * Used by:  device_cuda.cu.
 * Owns:     all memory that it lends, also after it came back: until the last lane is closed.
 * Fails:    STATUS_NO_MEMORY: the bound allows less, or others did not give back in time; or the
 *           status that WAIT returns. Nothing is lent then.
 * Threads:  any; memory_pool_lend may wait for other lanes.
 * Limits:   memory_pool_bound(), MEMORY_POOL_WAIT_MS, DEVICES_MAX devices.
 */
#ifndef BURIN_MEMORY_POOL_CUH
#define BURIN_MEMORY_POOL_CUH

#include "cuda/pinned_pool.cuh"
#include "pipeline/device.h"

enum {
    /* A third of a request's default deadline: large jobs take seconds, and a job that waited here
     * must still be done in time. */
    MEMORY_POOL_WAIT_MS = 10000,
};

/* Bytes beyond the lane's own memory; 0: none. */
struct memory_need {
    size_t pinned_in, pinned_out, device;
};

struct memory_loan {
    struct memory_need need; /* as requested */
    struct pinned_run pinned_in, pinned_out;
    uint8_t *device; /* NULL: none */
};

/* Called for each lane of a device, when it opens and closes. The bounds hold for all lanes
 * together, that of device memory for each device; 0: what there is. The last call's bounds
 * hold. */
void memory_pool_open(size_t pinned_bytes, size_t device_bytes);
void memory_pool_close(void);

/* Lends all of NEED or nothing, so that no lane keeps what another one waits for; first come, first
 * served. What is queued on STREAM from now on may use the device memory. DEVICE is the thread's
 * current one. LOAN must be empty. WAIT may be NULL. */
enum status memory_pool_lend(int device, const struct memory_need *need,
                             const struct lane_wait *wait, cudaStream_t stream,
                             struct memory_loan *loan, struct failure *failure);

/* Work queued on STREAM may still use the device memory, but not the pinned memory. LOAN may be
 * empty. */
void memory_pool_give_back(int device, struct memory_loan *loan, cudaStream_t stream);

static inline bool memory_need_is_none(const struct memory_need *need) {
    return !need->pinned_in && !need->pinned_out && !need->device;
}

static inline bool memory_loan_covers(const struct memory_loan *loan,
                                      const struct memory_need *need) {
    return need->pinned_in <= loan->need.pinned_in && need->pinned_out <= loan->need.pinned_out &&
           need->device <= loan->need.device;
}

#endif
