// SPDX-License-Identifier: Apache-2.0
/* event_wait.cuh - the host's thread waits for an event of the GPU.
 *
 * Used by:  device_cuda.cu, at a batch's end; carve/clearing.cuh.
 * Fails:    with the error that cudaEventQuery returns.
 * Threads:  the lane's.
 */
#ifndef BURIN_EVENT_WAIT_CUH
#define BURIN_EVENT_WAIT_CUH

#include "cuda/kernel_progress.cuh"
#include "pipeline/timing.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    EVENT_SPIN_NS = 100 * 1000,
    EVENT_NAP_NS = 10 * 1000,
    EVENT_NAP_PART = 16, /* of the time waited so far */
    EVENT_NAPS_NS = 5000 * 1000,
    EVENT_LONG_NAP_NS = 500 * 1000,
    EVENT_SLACK_NS = 1000 /* a nap's longest delay */
};

/* Asked once a thread; without it a nap takes 50 us more. A sandbox refuses it, and naps are
 * long. */
static inline void event_wait_briefly(void) {
    static thread_local bool asked;
    if (!asked) prctl(PR_SET_TIMERSLACK, EVENT_SLACK_NS, 0, 0, 0);
    asked = true;
}

/* Returns the length of the next nap: short for a batch of microseconds; for a longer one a small
 * part of the time waited, so that waiting costs the core little. */
static inline int64_t event_wait_nap_ns(int64_t waited) {
    if (waited >= EVENT_NAPS_NS) return EVENT_LONG_NAP_NS;
    const int64_t part = waited / EVENT_NAP_PART, least = EVENT_NAP_NS;
    return part > least ? part : least;
}

/* Most batches end within microseconds, where waking up would cost more than the work. During
 * longer ones the event is queried now and then, which leaves the core to others; after that the
 * driver wakes the thread, 50 to 200 us late, unless a kernel reports progress. */
static inline cudaError_t event_wait(cudaEvent_t event, struct kernel_progress_table *table) {
    const int64_t start = clock_ns();
    event_wait_briefly();
    for (int64_t waited = 0; waited < EVENT_NAPS_NS || table->count; waited = clock_ns() - start) {
        const cudaError_t error = cudaEventQuery(event);
        if (error != cudaErrorNotReady) return error;
        kernel_progress_poll(table);
        const struct timespec nap = { 0, event_wait_nap_ns(waited) };
        if (waited > EVENT_SPIN_NS) nanosleep(&nap, NULL);
    }
    return cudaEventSynchronize(event);
}

#endif
