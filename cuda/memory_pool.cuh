// SPDX-License-Identifier: Apache-2.0
/* memory_pool.cuh - what jobs need beyond their lanes' own memory, pinned and on the device, within
 * a bound for the whole process.
 *
 * Used by:  device_cuda.cu.
 * Owns:     all that it lends, also after it was given back: until the last lane is closed.
 * Fails:    STATUS_NO_MEMORY: more than the bound allows, or others did not give back in time; what
 *           WAIT says. Nothing is lent then.
 * Threads:  any; memory_pool_lend may wait for other lanes.
 * Limits:   memory_pool_bound(), MEMORY_POOL_WAIT_MS, DEVICES_MAX devices.
 */
#ifndef BURIN_MEMORY_POOL_CUH
#define BURIN_MEMORY_POOL_CUH

#include "cuda/pinned_pool.cuh"
#include "pipeline/device.h"

enum {
    /* A third of the time that a request has by default: large jobs take seconds, and somebody who
     * waits here must still be done. */
    MEMORY_POOL_WAIT_MS = 10000,
};

/* Bytes beyond the lane's own; 0: none. */
struct memory_need {
    size_t pinned_in, pinned_out, device;
};

struct memory_loan {
    struct memory_need need; /* as was asked for */
    struct pinned_run pinned_in, pinned_out;
    uint8_t *device; /* NULL: none */
};

/* For each lane of a device, when it is opened and closed. The bounds hold for all lanes together,
 * those of the device memory for each device; 0: what there is. The last call counts. */
void memory_pool_open(size_t pinned_bytes, size_t device_bytes);
void memory_pool_close(void);

/* All of NEED or nothing, so that no lane keeps what another one waits for. Whoever came first is
 * served first. The device's memory may be used by what is queued on STREAM from now on. DEVICE is
 * the thread's current one. LOAN must be empty. WAIT may be NULL. */
enum status memory_pool_lend(int device, const struct memory_need *need,
                             const struct lane_wait *wait, cudaStream_t stream,
                             struct memory_loan *loan, struct failure *failure);

/* What was queued on STREAM may still use the device's memory, but nothing the pinned memory. An
 * empty loan may be given back too. */
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
