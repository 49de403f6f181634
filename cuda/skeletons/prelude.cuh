// SPDX-License-Identifier: Apache-2.0
/* prelude.cuh - what stands before a user's operator in the source of its kernel: names that C has
 * and C++ has not, or that stand in headers which are not there.
 *
 * Used by:  kernel_source.c, as text, behind the skeleton's and before exact_math.h's.
 */
#ifndef BURIN_KERNEL_PRELUDE_CUH
#define BURIN_KERNEL_PRELUDE_CUH

#define BURIN_INLINE static __device__ __forceinline__ __attribute__((unused))

#define _Bool bool

#define CHAR_BIT   8
#define SCHAR_MIN  (-128)
#define SCHAR_MAX  127
#define UCHAR_MAX  255
#define CHAR_MIN   SCHAR_MIN
#define CHAR_MAX   SCHAR_MAX
#define SHRT_MIN   (-32768)
#define SHRT_MAX   32767
#define USHRT_MAX  65535
#define INT_MIN    (-2147483647 - 1)
#define INT_MAX    2147483647
#define UINT_MAX   4294967295u
#define LONG_MIN   (-9223372036854775807l - 1)
#define LONG_MAX   9223372036854775807l
#define ULONG_MAX  18446744073709551615ul
#define LLONG_MIN  (-9223372036854775807ll - 1)
#define LLONG_MAX  9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
#define INT8_MIN   SCHAR_MIN
#define INT8_MAX   SCHAR_MAX
#define UINT8_MAX  UCHAR_MAX
#define INT16_MIN  SHRT_MIN
#define INT16_MAX  SHRT_MAX
#define UINT16_MAX USHRT_MAX
#define INT32_MIN  INT_MIN
#define INT32_MAX  INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN  LONG_MIN
#define INT64_MAX  LONG_MAX
#define UINT64_MAX ULONG_MAX

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
