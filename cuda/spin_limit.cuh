// SPDX-License-Identifier: Apache-2.0
/* spin_limit.cuh - bounds the wait of one block for another.
 *
 * Used by:  every kernel whose blocks poll memory that other blocks of the same launch write.
 * Fails:    the launch, by a trap: STATUS_DEVICE, and the worker is replaced.
 * Limits:   SPIN_LIMIT reads, each at least as long as an access to memory: a minute or more; for a
 *           warp that reads many counters, each time as long as many accesses, LOOKS_MAX: 10 s or
 *           more.
 *
 * A wait that never ends is a fault of ours or a broken chip: a failed launch is better than a GPU
 * that hangs. A benchmark or a test defines both macros before it includes any kernel, to see which
 * wait it was, or to see it end sooner.
 */
#ifndef BURIN_SPIN_LIMIT_CUH
#define BURIN_SPIN_LIMIT_CUH

#include <stdint.h>

#ifndef SPIN_LIMIT
#define SPIN_LIMIT (1u << 31)
#endif
#ifndef SPIN_STUCK
#define SPIN_STUCK(where) __trap()
#endif

enum : uint32_t { LOOKS_MAX = SPIN_LIMIT / 64 };

/* Reads until DONE() is true, LIMIT times. WHERE: the number of the wait. */
template <class DONE>
static __device__ __forceinline__ void spin_until(int where, const DONE &done,
                                                  uint32_t limit = SPIN_LIMIT) {
    (void)where;
    for (uint32_t spins = 0; !done(); spins++)
        if (spins == limit) SPIN_STUCK(where);
}

#endif
