// SPDX-License-Identifier: Apache-2.0
/* prelude.cuh - what stands before a user's operator in the source of its kernel: names that C has
 * and C++ has not, or that stand in headers which are not there.
 *
 * Used by:  kernel_source.c, as text, behind the skeleton's and before exact_math.h's.
 */
#ifndef BURIN_KERNEL_PRELUDE_CUH
#define BURIN_KERNEL_PRELUDE_CUH

#include "pipeline/skeletons/twin/limits.h"

#define BURIN_INLINE static __device__ __forceinline__ __attribute__((unused))

#define _Bool bool

/* An R2V's atomicAdd: a count outside its list of BINS is left out. */
template <class NUMBER>
BURIN_INLINE int burin_count(NUMBER *sum, int value, const NUMBER *list, int bins) {
    const unsigned long at = (unsigned long)((const char *)sum - (const char *)list);
    return at < (unsigned long)bins * sizeof(NUMBER) ? (int)atomicAdd(sum, (NUMBER)value) : 0;
}

/* Operators without parameters. */
struct burin_nothing {
    char nothing;
};

#endif
