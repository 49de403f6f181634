// SPDX-License-Identifier: Apache-2.0
/* pinned_pool.cuh - page-locked host memory in one range of addresses, lent in runs of steps.
 *
 * Used by:  memory_pool.cu, which holds its lock around take and give.
 * Owns:     the range, from the first run taken until pinned_pool_release().
 * Fails:    pinned_pool_take returns false where no run is free; pinned_pool_prepare gives
 *           STATUS_NO_MEMORY where the system has no memory left.
 * Threads:  one at a time for take, give and release. The thread that took a run prepares and uses
 *           it without a lock.
 * Limits:   PINNED_POOL_MAX bytes.
 *
 * How it works. The addresses are reserved once, which costs nothing. A step gets its memory when a
 * run with it is prepared for the first time; it is locked then, and stays locked: memory is pinned
 * once in the life of the process, not job by job. A run begins as low as it can, so that pinned
 * steps are used first. Unlocking waits for all kernels of the device, so nothing is unlocked
 * before the range is released.
 */
#ifndef BURIN_PINNED_POOL_CUH
#define BURIN_PINNED_POOL_CUH

#include "pipeline/status.h"

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step is locked in one call, in 0.7 ms, during which other calls of CUDA wait. */
static const size_t PINNED_STEP = (size_t)16 << 20, PINNED_POOL_MAX = (size_t)64 << 30;

/* A run of whole steps. */
struct pinned_run {
    uint8_t *memory; /* NULL: none */
    size_t bytes;
};

static inline size_t pinned_pool_rounded(size_t bytes) {
    return (bytes + PINNED_STEP - 1) / PINNED_STEP * PINNED_STEP;
}

/* Takes a run among the range's first BOUND bytes. */
bool pinned_pool_take(size_t bytes, size_t bound, struct pinned_run *run);

/* Gives all of RUN memory, locked where the driver can; where it cannot, copies are only slower. */
enum status pinned_pool_prepare(const struct pinned_run *run, struct failure *failure);

/* Nothing may use RUN any more. It may be empty. */
void pinned_pool_give(struct pinned_run *run);

/* cudaMemcpyAsync for any memory, also the range's: that is locked step by step, and a copy must
 * not cross from one step into the next. */
cudaError_t pinned_pool_copy(uint8_t *to, const uint8_t *from, size_t bytes,
                             enum cudaMemcpyKind kind, cudaStream_t stream);

/* Unlocks and frees everything. No run may be in use. */
void pinned_pool_release(void);

#endif
