// SPDX-License-Identifier: Apache-2.0
/* user_function.cuh - what a user's functions are declared with, and what an R2V counts by.
 *
 * Used by:  prelude.cuh and convert_launch.cu.in, as text before the user's.
 */
#ifndef BURIN_USER_FUNCTION_CUH
#define BURIN_USER_FUNCTION_CUH

#define BURIN_INLINE static __device__ __forceinline__ __attribute__((__unused__))

/* An R2V's atomicAdd: a count outside its list of BINS is left out. Of a list in shared memory that
 * vector.cuh has made, LIST has the top bit, below that the bytes from one bin to the next, and the
 * address; the bin behind the last one takes what is left out, so that nothing branches. */
template <class NUMBER>
BURIN_INLINE int burin_count(NUMBER *sum, int value, const NUMBER *list, int bins) {
    const unsigned long from = (unsigned long)list;
    const unsigned long at = ((unsigned long)sum - from) / sizeof(NUMBER);
    if (!(from >> 63)) return at < (unsigned long)bins ? (int)atomicAdd(sum, (NUMBER)value) : 0;
    const unsigned beyond = at >> 32 ? ~0u : 0; /* no comparison of 64 bits where it cannot be */
    const unsigned bin = min((unsigned)at | beyond, (unsigned)bins);
    const unsigned word = (unsigned)from + bin * ((unsigned)(from >> 48) & 255);
    return (int)atomicAdd((NUMBER *)__cvta_shared_to_generic(word), (NUMBER)value);
}

/* Operators without parameters. */
struct burin_nothing {
    char nothing;
};

#endif
