// SPDX-License-Identifier: Apache-2.0
/* limits.h - the contents of <limits.h> and <stdint.h> for users' operators, on both sides.
 *
 * Used by:  prelude.h and cuda/skeletons/prelude.cuh, as text.
 * Limits:   those of 64-bit Linux, which CUDA shares.
 */
#ifndef BURIN_TWIN_LIMITS_H
#define BURIN_TWIN_LIMITS_H

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

#endif
