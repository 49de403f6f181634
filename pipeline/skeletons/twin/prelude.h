// SPDX-License-Identifier: Apache-2.0
/* prelude.h - what stands before a user's operator in the source of its CPU twin.
 *
 * It stands for <math.h>, <stdint.h>, <stdlib.h>, <limits.h>, <stdbool.h> and <stddef.h>: a twin
 * includes nothing and is linked with nothing. Functions here are exact by IEEE 754, so that a GPU
 * gives the same bytes; those that no standard fixes to the bit come from exact_math.h.
 *
 * Used by:  twin_source.c, as text.
 * Threads:  any; no state.
 */
#ifndef BURIN_TWIN_PRELUDE_H
#define BURIN_TWIN_PRELUDE_H

#define BURIN_INLINE static inline __attribute__((always_inline, unused))
#define BURIN_EXPORT __attribute__((visibility("default")))

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
#define NULL ((void *)0)

#define bool  _Bool
#define true  1
#define false 0

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

#define M_E        2.71828182845904523536
#define M_LOG2E    1.44269504088896340736
#define M_LOG10E   0.434294481903251827651
#define M_LN2      0.693147180559945309417
#define M_LN10     2.30258509299404568402
#define M_PI       3.14159265358979323846
#define M_PI_2     1.57079632679489661923
#define M_PI_4     0.785398163397448309616
#define M_1_PI     0.318309886183790671538
#define M_2_PI     0.636619772367581343076
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2    1.41421356237309504880
#define M_SQRT1_2  0.707106781186547524401
#define INFINITY   (1e39f)
#define HUGE_VAL   (1e309)

/* ---- memory: compilers call these where a program copies or clears */

#ifdef __OPTIMIZE__
#define BURIN_NO_CALLS __attribute__((optimize("no-tree-loop-distribute-patterns"), unused))
#else
#define BURIN_NO_CALLS
#endif

BURIN_NO_CALLS void *memcpy(void *to, const void *from, size_t size);
BURIN_NO_CALLS void *memmove(void *to, const void *from, size_t size);
BURIN_NO_CALLS void *memset(void *to, int value, size_t size);
BURIN_NO_CALLS int memcmp(const void *a, const void *b, size_t size);

BURIN_NO_CALLS void *memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

BURIN_NO_CALLS void *memmove(void *to, const void *from, size_t size) {
    if ((char *)to <= (const char *)from) return memcpy(to, from, size);
    for (size_t i = size; i-- > 0;) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

BURIN_NO_CALLS void *memset(void *to, int value, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = (char)value;
    return to;
}

BURIN_NO_CALLS int memcmp(const void *a, const void *b, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)a)[i] != ((const unsigned char *)b)[i])
            return ((const unsigned char *)a)[i] < ((const unsigned char *)b)[i] ? -1 : 1;
    return 0;
}

/* ---- integers */

BURIN_INLINE int abs(int x) {
    return x < 0 ? -x : x;
}

BURIN_INLINE long labs(long x) {
    return x < 0 ? -x : x;
}

BURIN_INLINE long long llabs(long long x) {
    return x < 0 ? -x : x;
}

/* One thread has its own counts here; on a GPU this is one. */
BURIN_INLINE int atomicAdd(void *sum, int value) {
    const int before = *(int *)sum;
    *(int *)sum = before + value;
    return before;
}

/* ---- floating point, exact in every bit */

BURIN_INLINE double fabs(double x) {
    union { double value; unsigned long bits; } both;
    both.value = x;
    both.bits &= LONG_MAX;
    return both.value;
}

BURIN_INLINE double copysign(double x, double sign) {
    union { double value; unsigned long bits; } a, b;
    a.value = x;
    b.value = sign;
    a.bits = (a.bits & LONG_MAX) | (b.bits & ~(unsigned long)LONG_MAX);
    return a.value;
}

#if defined(__GNUC__) && !defined(__TINYC__) && (defined(__SSE4_1__) || defined(__aarch64__))
BURIN_INLINE double floor(double x) { return __builtin_floor(x); }
BURIN_INLINE double ceil(double x) { return __builtin_ceil(x); }
BURIN_INLINE double trunc(double x) { return __builtin_trunc(x); }
BURIN_INLINE double rint(double x) { return __builtin_rint(x); }
BURIN_INLINE float floorf(float x) { return __builtin_floorf(x); }
BURIN_INLINE float ceilf(float x) { return __builtin_ceilf(x); }
BURIN_INLINE float truncf(float x) { return __builtin_truncf(x); }
BURIN_INLINE float rintf(float x) { return __builtin_rintf(x); }
#else
/* 2^52: from there on every double is whole. */
#define BURIN_WHOLE 4503599627370496.0

BURIN_INLINE double rint(double x) {
    const double size = fabs(x);
    if (!(size < BURIN_WHOLE)) return x;
    return copysign(size + BURIN_WHOLE - BURIN_WHOLE, x);
}

BURIN_INLINE double trunc(double x) {
    const double size = fabs(x);
    if (!(size < BURIN_WHOLE)) return x;
    return copysign((double)(long)size, x);
}

BURIN_INLINE double floor(double x) {
    const double whole = trunc(x);
    return whole > x ? whole - 1.0 : whole;
}

BURIN_INLINE double ceil(double x) {
    const double whole = trunc(x);
    return whole < x ? copysign(whole + 1.0, x) : whole;
}

BURIN_INLINE float floorf(float x) { return (float)floor(x); }
BURIN_INLINE float ceilf(float x) { return (float)ceil(x); }
BURIN_INLINE float truncf(float x) { return (float)trunc(x); }
BURIN_INLINE float rintf(float x) { return (float)rint(x); }
#endif

#ifdef __TINYC__
/* The process gives it: IEEE 754 leaves no choice. */
double sqrt(double x);
BURIN_INLINE float sqrtf(float x) { return (float)sqrt(x); }
#else
BURIN_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
BURIN_INLINE float sqrtf(float x) { return __builtin_sqrtf(x); }
#endif

/* Halves away from zero. */
BURIN_INLINE double round(double x) {
    const double whole = trunc(x);
    return fabs(x - whole) >= 0.5 ? whole + copysign(1.0, x) : copysign(whole, x);
}

/* A NaN is passed over; +0 is the larger of two zeros, as on a GPU. */
BURIN_INLINE double fmax(double a, double b) {
    if (a == b) return copysign(1.0, a) < 0.0 ? b : a;
    return a > b || b != b ? a : b;
}

BURIN_INLINE double fmin(double a, double b) {
    if (a == b) return copysign(1.0, a) < 0.0 ? a : b;
    return a < b || b != b ? a : b;
}

/* Exact: subtracts the largest multiple by a power of 2 that fits, until none does. */
BURIN_INLINE double fmod(double a, double b) {
    double rest = fabs(a);
    const double by = fabs(b);
    if (!(rest < INFINITY) || by != by || by == 0.0) return (a * b) / (a * b);
    while (rest >= by) {
        double part = by;
        while (part <= rest - part) part += part;
        rest -= part;
    }
    return copysign(rest, a);
}

BURIN_INLINE float fabsf(float x) { return (float)fabs(x); }
BURIN_INLINE float copysignf(float x, float sign) { return (float)copysign(x, sign); }
BURIN_INLINE float roundf(float x) { return (float)round(x); }
BURIN_INLINE float fmaxf(float a, float b) { return (float)fmax(a, b); }
BURIN_INLINE float fminf(float a, float b) { return (float)fmin(a, b); }
BURIN_INLINE float fmodf(float a, float b) { return (float)fmod(a, b); }

/* ---- rows: 16-bit samples may begin at any byte */

typedef unsigned char burin_sample8;
typedef unsigned short __attribute__((aligned(1), may_alias)) burin_sample16;

/* Operators without parameters. */
struct burin_nothing {
    char nothing;
};

#endif
