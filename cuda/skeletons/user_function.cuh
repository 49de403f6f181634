// SPDX-License-Identifier: Apache-2.0
/* user_function.cuh - what a user's functions are declared with, and what an R2V counts by.
 *
 * Used by:  prelude.cuh and convert_launch.cu.in, as text before the user's.
 */
#ifndef BURIN_USER_FUNCTION_CUH
#define BURIN_USER_FUNCTION_CUH

#define BURIN_INLINE static __device__ __forceinline__ __attribute__((__unused__))

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
