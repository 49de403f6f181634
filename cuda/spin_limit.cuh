// SPDX-License-Identifier: Apache-2.0
/* spin_limit.cuh - a wait of one block for another ends, whatever happens.
 *
 * Used by:  every kernel whose blocks poll memory that other blocks of the same launch write.
 * Fails:    the launch, by a trap: STATUS_DEVICE, and the worker is replaced.
 * Limits:   SPIN_LIMIT looks, each at least as long as a look at memory: a minute or more; a warp's
 *           at many counters, which takes as long as many of those, LOOKS_MAX: 10 s or more.
 *
 * A wait that never ends is a fault of ours or a broken chip: better a failed launch than a GPU
 * that hangs. A benchmark or a test defines both macros before it includes any kernel, to be told
 * which wait it was, or to see it end sooner.
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

/* Looks until DONE() says true, LIMIT times. WHERE: which wait it is. */
template <class DONE>
static __device__ __forceinline__ void spin_until(int where, const DONE &done,
                                                  uint32_t limit = SPIN_LIMIT) {
    (void)where;
    for (uint32_t spins = 0; !done(); spins++)
        if (spins == limit) SPIN_STUCK(where);
}

#endif
