// SPDX-License-Identifier: Apache-2.0
/* A fixed set of arguments for the functions of exact_math.h, the same for every compiler and
 * machine: the bits of the results are compared. Integers and exact operations alone make it.
 */
#ifndef TESTS_EXACT_MATH_SET_H
#define TESTS_EXACT_MATH_SET_H

#ifndef BURIN_EXACT_MATH_H
#define BURIN_MATH_NO_NAMES
#include "pipeline/skeletons/exact_math.h"
#endif

enum { EXACT_SET_FUNCTIONS = 33 };

BURIN_MATH_FN unsigned long long exact_set_hash(unsigned long long x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* All kinds in turn: any bits, NaN and infinity among them; within 1, 64 and 2^30 by even steps; of
 * all small sizes; whole and half numbers. */
BURIN_MATH_FN double exact_set_argument(unsigned index) {
    const unsigned long long bits = exact_set_hash(index);
    const double even = (double)(long long)bits * 0x1p-63;
    switch (index % 8) {
    case 0: return burin_from_bits(bits);
    case 1: return even;
    case 2: return even * 64;
    case 3: return even * 0x1p30;
    case 4: return even * burin_power_of_2((int)(bits & 63) - 60);
    case 5: return (double)((int)(bits & 4095) - 2048) * 0.5;
    case 6: return 1 + even * burin_power_of_2(-(int)(bits & 63));
    default: return even * 800;
    }
}

/* Values that random ones do not hit; index below 16. */
BURIN_MATH_FN double exact_set_special(unsigned index) {
    const double sign = index & 1 ? -1 : 1;
    switch (index >> 1 & 7) {
    case 0: return burin_copysign(0, sign);
    case 1: return sign * BURIN_INF;
    case 2: return sign;
    case 3: return sign * 0x1p-1074;
    case 4: return sign * 0x1.fffffffffffffp1023;
    case 5: return sign * 0x1p-1022;
    case 6: return sign < 0 ? 0.5 : 2;
    default: return burin_from_bits(sign < 0 ? 0xfff8000000000000ull : 0x7ff0000000000001ull);
    }
}

BURIN_MATH_FN double exact_set_of_two(int function, double x, double y) {
    switch (function) {
    case 0: return burin_pow(x, y);
    case 1: return burin_atan2(x, y);
    case 2: return burin_hypot(x, y);
    case 3: return burin_fmod(x, y);
    case 4: return burin_fmin(x, y);
    case 5: return burin_fmax(x, y);
    case 6: return burin_fdim(x, y);
    default: return (double)burin_powf((float)x, (float)y);
    }
}

BURIN_MATH_FN double exact_set_of_one(int function, double x) {
    switch (function) {
    case 8: return burin_exp(x);
    case 9: return burin_exp2(x);
    case 10: return burin_expm1(x);
    case 11: return burin_log(x);
    case 12: return burin_log2(x);
    case 13: return burin_log10(x);
    case 14: return burin_log1p(x);
    case 15: return burin_sin(x);
    case 16: return burin_cos(x);
    case 17: return burin_tan(x);
    case 18: return burin_asin(x);
    case 19: return burin_acos(x);
    case 20: return burin_atan(x);
    case 21: return burin_sinh(x);
    case 22: return burin_cosh(x);
    case 23: return burin_tanh(x);
    case 24: return burin_sqrt(x);
    case 25: return burin_cbrt(x);
    case 26: return burin_floor(x);
    case 27: return burin_ceil(x);
    case 28: return burin_trunc(x);
    case 29: return burin_round(x);
    case 30: return burin_rint(x);
    case 31: return burin_sqrt_by_hand(x < 0x1p-1022 || burin_is_nan(x) ? 1 : x);
    default: return (double)burin_expf((float)x);
    }
}

/* The bits of result `index` of a function; the first 256 have special values for arguments. */
BURIN_MATH_FN unsigned long long exact_set_result(int function, unsigned index) {
    const double x = index < 256 ? exact_set_special(index) : exact_set_argument(index);
    const double y =
        index < 256 ? exact_set_special(index >> 4) : exact_set_argument(index / 8 + 77);
    return burin_bits(function < 8 ? exact_set_of_two(function, x, y)
                                   : exact_set_of_one(function, x));
}

/* One number for the results below `count`. */
BURIN_MATH_FN unsigned long long exact_set_digest(int function, unsigned count) {
    unsigned long long digest = 0;
    for (unsigned i = 0; i < count; i++)
        digest = exact_set_hash(digest ^ exact_set_result(function, i));
    return digest;
}

#endif
