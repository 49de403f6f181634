// SPDX-License-Identifier: Apache-2.0
/* base.h - bits of a double, and arithmetic with sums of two doubles.
 *
 * A value that needs more bits than a double is a sum high + low, low at most half an ulp of high.
 * A function returns high and stores low through its last parameter. It returns no struct, because
 * tcc copies structs by memmove, which is not linked.
 *
 * Used by:  the other parts of exact_math.h.
 * Limits:   no product of overflowing size; a product's low part is exact to 2^-106 of the product.
 * Source:   T. J. Dekker, A floating-point technique for extending the available precision, 1971.
 */
#ifndef BURIN_EXACT_MATH_BASE_H
#define BURIN_EXACT_MATH_BASE_H

/* Prefixes of every function, of those too long to be inlined, and of every table; the including
 * program may define its own. */
#ifndef BURIN_MATH_FN
#ifdef __CUDACC__
#define BURIN_MATH_FN   static __host__ __device__ __forceinline__ __attribute__((unused))
#define BURIN_MATH_RARE static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define BURIN_MATH_FN   static inline __attribute__((unused))
#define BURIN_MATH_RARE static inline __attribute__((unused))
#endif
#endif
#ifndef BURIN_MATH_TABLE
#if defined(__CUDA_ARCH__)
#define BURIN_MATH_TABLE __device__
#else
#define BURIN_MATH_TABLE
#endif
#endif

#if defined(__CUDA_ARCH__)

BURIN_MATH_FN unsigned long long burin_bits(double x) {
    return (unsigned long long)__double_as_longlong(x);
}

BURIN_MATH_FN double burin_from_bits(unsigned long long bits) {
    return __longlong_as_double((long long)bits);
}

BURIN_MATH_FN unsigned burin_float_bits(float x) {
    return (unsigned)__float_as_int(x);
}

BURIN_MATH_FN float burin_float_from_bits(unsigned bits) {
    return __int_as_float((int)bits);
}

#else

BURIN_MATH_FN unsigned long long burin_bits(double x) {
    union {
        double value;
        unsigned long long bits;
    } both;
    both.value = x;
    return both.bits;
}

BURIN_MATH_FN double burin_from_bits(unsigned long long bits) {
    union {
        unsigned long long bits;
        double value;
    } both;
    both.bits = bits;
    return both.value;
}

BURIN_MATH_FN unsigned burin_float_bits(float x) {
    union {
        float value;
        unsigned bits;
    } both;
    both.value = x;
    return both.bits;
}

BURIN_MATH_FN float burin_float_from_bits(unsigned bits) {
    union {
        unsigned bits;
        float value;
    } both;
    both.bits = bits;
    return both.value;
}

#endif

/* The only NaN that these functions return: those of machines differ. */
#define BURIN_NAN (burin_from_bits(0x7ff8000000000000ull))
#define BURIN_INF (burin_from_bits(0x7ff0000000000000ull))

#define BURIN_SIGN_BIT 0x8000000000000000ull

BURIN_MATH_FN int burin_is_nan(double x) {
    return (burin_bits(x) & ~BURIN_SIGN_BIT) > 0x7ff0000000000000ull;
}

BURIN_MATH_FN double burin_fabs(double x) {
    return burin_from_bits(burin_bits(x) & ~BURIN_SIGN_BIT);
}

BURIN_MATH_FN double burin_copysign(double x, double sign) {
    return burin_from_bits((burin_bits(x) & ~BURIN_SIGN_BIT) | (burin_bits(sign) & BURIN_SIGN_BIT));
}

/* The one rounding of a result to float. */
BURIN_MATH_FN float burin_to_float(double x) {
    return burin_is_nan(x) ? burin_float_from_bits(0x7fc00000u) : (float)x;
}

/* 2^exponent, -1022..1023. */
BURIN_MATH_FN double burin_power_of_2(int exponent) {
    return burin_from_bits((unsigned long long)(unsigned)(exponent + 1023) << 52);
}

/* The first 26 bits of x: a product of two such is exact. */
BURIN_MATH_FN double burin_top(double x) {
    return burin_from_bits(burin_bits(x) & ~0x7ffffffull);
}

/* a + b, exactly. */
BURIN_MATH_FN double burin_sum(double a, double b, double *low) {
    const double high = a + b, b_in = high - a;
    *low = (a - (high - b_in)) + (b - b_in);
    return high;
}

/* The same in half the time where |a| >= |b| or a = 0. */
BURIN_MATH_FN double burin_short_sum(double a, double b, double *low) {
    const double high = a + b;
    *low = b - (high - a);
    return high;
}

BURIN_MATH_FN double burin_product(double a, double b, double *low) {
    const double high = a * b, a_top = burin_top(a), b_top = burin_top(b);
    const double a_rest = a - a_top, b_rest = b - b_top;
    *low = ((a_top * b_top - high) + a_top * b_rest + a_rest * b_top) + a_rest * b_rest;
    return high;
}

BURIN_MATH_FN double burin_product_2(double a, double a_low, double b, double b_low, double *low) {
    double rest;
    const double high = burin_product(a, b, &rest);
    return burin_short_sum(high, rest + (a * b_low + a_low * b), low);
}

BURIN_MATH_FN double burin_quotient_2(double a, double a_low, double b, double b_low, double *low) {
    const double first = a / b;
    double rest;
    const double product = burin_product(first, b, &rest);
    const double second = (((a - product) - rest) + (a_low - first * b_low)) / b;
    return burin_short_sum(first, second, low);
}

/* (high + low) 2^exponent, high within 0.98..2: rounded once, below the least normal number too,
 * where adding `grid` first puts the last bit in its place. */
BURIN_MATH_FN double burin_scale(double high, double low, int exponent) {
    const int place = exponent - (high < 1);
    const double grid = place < -1022 ? burin_power_of_2(-1022 - exponent) : 0;
    double rest;
    const double sum = burin_short_sum(grid, high, &rest);
    const int half = exponent >> 1;
    return ((sum + (rest + low)) - grid) * burin_power_of_2(half) *
           burin_power_of_2(exponent - half);
}

#endif
