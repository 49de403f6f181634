// SPDX-License-Identifier: Apache-2.0
/* round.h - floor, ceil, trunc, round, rint, fmod, fmin, fmax, abs and their like: exact.
 *
 * Adding and subtracting 2^52 rounds to the nearest integer, half to even; the other functions need
 * one more comparison. A NaN result always has the same bits.
 *
 * Used by:  exact_math.h.
 */
#ifndef BURIN_EXACT_MATH_ROUND_H
#define BURIN_EXACT_MATH_ROUND_H

#include "pipeline/skeletons/exact_math/base.h"

/* Half to even. */
BURIN_MATH_FN double burin_rint(double x) {
    const double size = burin_fabs(x), big = 0x1p52;
    const double whole = size < big ? (size + big) - big : size;
    return burin_is_nan(x) ? BURIN_NAN : burin_copysign(whole, x);
}

BURIN_MATH_FN double burin_floor(double x) {
    const double whole = burin_rint(x), result = whole > x ? whole - 1 : whole;
    return burin_is_nan(x) ? BURIN_NAN : burin_copysign(result, x);
}

BURIN_MATH_FN double burin_ceil(double x) {
    const double whole = burin_rint(x), result = whole < x ? whole + 1 : whole;
    return burin_is_nan(x) ? BURIN_NAN : burin_copysign(result, x);
}

BURIN_MATH_FN double burin_trunc(double x) {
    const double size = burin_fabs(x), whole = burin_rint(size);
    const double result = whole > size ? whole - 1 : whole;
    return burin_is_nan(x) ? BURIN_NAN : burin_copysign(result, x);
}

/* Half away from 0. */
BURIN_MATH_FN double burin_round(double x) {
    const double size = burin_fabs(x), whole = burin_trunc(size);
    const double result = size - whole >= 0.5 ? whole + 1 : whole;
    return burin_is_nan(x) ? BURIN_NAN : burin_copysign(result, x);
}

/* C does not define the conversion of a number that no integer holds: here it gives the least
 * integer. */
BURIN_MATH_FN long long burin_to_integer(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (long long)x : -0x7fffffffffffffffll - 1;
}

BURIN_MATH_FN long long burin_llround(double x) {
    return burin_to_integer(burin_round(x));
}

BURIN_MATH_FN long long burin_llrint(double x) {
    return burin_to_integer(burin_rint(x));
}

/* Returns the other number where one is NaN; -0 is less than +0. */
BURIN_MATH_FN double burin_fmin(double x, double y) {
    const int x_first = x < y || (x == y && (burin_bits(x) & BURIN_SIGN_BIT)) || burin_is_nan(y);
    const double result = x_first ? x : y;
    return burin_is_nan(x) ? (burin_is_nan(y) ? BURIN_NAN : y) : result;
}

BURIN_MATH_FN double burin_fmax(double x, double y) {
    const int x_first = x > y || (x == y && (burin_bits(y) & BURIN_SIGN_BIT)) || burin_is_nan(y);
    const double result = x_first ? x : y;
    return burin_is_nan(x) ? (burin_is_nan(y) ? BURIN_NAN : y) : result;
}

BURIN_MATH_FN double burin_fdim(double x, double y) {
    const double result = x > y ? x - y : 0;
    return burin_is_nan(x) || burin_is_nan(y) ? BURIN_NAN : result;
}

/* The 53 bits of |x| and the power of 2 of the last one. */
BURIN_MATH_FN unsigned long long burin_mantissa(double x, int *power) {
    const unsigned long long bits = burin_bits(x) & ~BURIN_SIGN_BIT;
    const unsigned long long fraction = bits & 0xfffffffffffffull;
    const int exponent = (int)(bits >> 52);
    *power = (exponent ? exponent : 1) - 1075;
    return exponent ? fraction | 0x10000000000000ull : fraction;
}

/* Divides in steps of eleven bits, at most 187. */
BURIN_MATH_RARE double burin_fmod(double x, double y) {
    int x_power, y_power;
    unsigned long long rest = burin_mantissa(x, &x_power), divisor = burin_mantissa(y, &y_power);
    if (burin_is_nan(x) || burin_is_nan(y) || y == 0 || burin_fabs(x) == BURIN_INF)
        return BURIN_NAN;
    if (burin_fabs(x) < burin_fabs(y)) return x;
    /* Shifts x to the weight of y's last bit, if that is smaller, eleven places a step. */
    while (x_power > y_power) {
        const int step = x_power - y_power < 11 ? x_power - y_power : 11;
        rest = (rest % divisor) << step;
        x_power -= step;
    }
    rest %= divisor;
    /* rest is below 2^53: both factors and the product are exact. */
    const int half = y_power >> 1;
    const double size =
        (double)(long long)rest * burin_power_of_2(half) * burin_power_of_2(y_power - half);
    return burin_copysign(size, x);
}

BURIN_MATH_FN int burin_abs(int x) {
    return x < 0 ? (int)(0u - (unsigned)x) : x;
}

BURIN_MATH_FN long long burin_llabs(long long x) {
    return x < 0 ? (long long)(0ull - (unsigned long long)x) : x;
}

#endif
