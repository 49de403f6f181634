// SPDX-License-Identifier: Apache-2.0
/* user_function.cuh - declarations for users' functions, and the counter of an R2V.
 *
 * Used by:  prelude.cuh and convert_launch.cu.in, as text before the user's.
 */
#ifndef BURIN_USER_FUNCTION_CUH
#define BURIN_USER_FUNCTION_CUH

#define BURIN_INLINE static __device__ __forceinline__ __attribute__((__unused__))

/* An R2V's atomicAdd, which ignores a count outside its list of BINS. For a list in shared memory,
 * made by vector.cuh, LIST has the top bit, below it the bytes from one bin to the next, and the
 * address; the bin behind the last one takes ignored counts, so that nothing branches. */
template <class NUMBER>
BURIN_INLINE int burin_count(NUMBER *sum, int value, const NUMBER *list, int bins) {
    const unsigned long from = (unsigned long)list;
    const unsigned long at = ((unsigned long)sum - from) / sizeof(NUMBER);
    if (!(from >> 63)) return at < (unsigned long)bins ? (int)atomicAdd(sum, (NUMBER)value) : 0;
    const unsigned beyond = at >> 32 ? ~0u : 0; /* no comparison of 64 bits where that cannot be */
    const unsigned bin = min((unsigned)at | beyond, (unsigned)bins);
    const unsigned word = (unsigned)from + bin * ((unsigned)(from >> 48) & 255);
    return (int)atomicAdd((NUMBER *)__cvta_shared_to_generic(word), (NUMBER)value);
}

/* The parameters of operators without parameters. */
struct burin_nothing {
    char nothing;
};

#endif
