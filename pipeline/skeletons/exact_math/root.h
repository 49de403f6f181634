// SPDX-License-Identifier: Apache-2.0
/* root.h - sqrt, cbrt, hypot.
 *
 * sqrt is the machine's, which IEEE 754 requires to be correctly rounded; if a compiler would call
 * libm for it, it is computed here, with the same bits.
 *
 * Used by:  exact_math.h.
 */
#ifndef BURIN_EXACT_MATH_ROOT_H
#define BURIN_EXACT_MATH_ROOT_H

#include "pipeline/skeletons/exact_math/base.h"

/* The correctly rounded root of a normal number, by Newton's method, and in integers at the end. */
BURIN_MATH_FN double burin_sqrt_by_hand(double x) {
    const unsigned long long bits = burin_bits(x), fraction = bits & 0xfffffffffffffull;
    /* x = 4^power m, 1 <= m < 4 */
    const int odd = (int)(bits >> 52 & 1) ^ 1, power = ((int)(bits >> 52) - 1023 - odd) / 2;
    const double m = burin_from_bits(fraction | 0x3ff0000000000000ull) * (1 + odd);
    double root = 0.5 + 0.4 * m;
    for (int i = 0; i < 5; i++) root = 0.5 * (root + m / root);
    /* 2^104 m minus the square of 2^52 root: low words suffice, both are so near. */
    long long whole = (long long)(root * 0x1p52);
    const unsigned long long wanted = (fraction | 0x10000000000000ull) << (52 + odd);
    const long long rest =
        (long long)(wanted - (unsigned long long)whole * (unsigned long long)whole);
    whole += rest > whole ? 1 : rest <= -whole ? -1 : 0;
    return (double)whole * burin_power_of_2(power - 52);
}

#if defined(__CUDA_ARCH__)
#define BURIN_MATH_SQRT(x) __dsqrt_rn(x)
#elif defined(__NO_MATH_ERRNO__) && defined(__OPTIMIZE__)
#define BURIN_MATH_SQRT(x) __builtin_sqrt(x)
#elif defined(__GNUC__) && defined(__x86_64__) && !defined(__TINYC__)
BURIN_MATH_FN double burin_sqrt_of_machine(double x) {
    double root;
    __asm__("sqrtsd %1, %0" : "=x"(root) : "x"(x));
    return root;
}
#define BURIN_MATH_SQRT(x) burin_sqrt_of_machine(x)
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(__TINYC__)
BURIN_MATH_FN double burin_sqrt_of_machine(double x) {
    double root;
    __asm__("fsqrt %d0, %d1" : "=w"(root) : "w"(x));
    return root;
}
#define BURIN_MATH_SQRT(x) burin_sqrt_of_machine(x)
#else
BURIN_MATH_FN double burin_sqrt_anyhow(double x) {
    if (x < 0x1p-1022 && x > 0) return burin_sqrt_by_hand(x * 0x1p54) * 0x1p-27;
    return x > 0 && x < BURIN_INF ? burin_sqrt_by_hand(x) : x;
}
#define BURIN_MATH_SQRT(x) burin_sqrt_anyhow(x)
#endif

BURIN_MATH_FN double burin_sqrt(double x) {
    const double root = BURIN_MATH_SQRT(x);
    return x < 0 || burin_is_nan(x) ? BURIN_NAN : root;
}

/* The root of high + low, in two; high 0 or within 2^-900..2^1000. */
BURIN_MATH_FN double burin_sqrt_2(double high, double high_low, double *low) {
    const double root = burin_sqrt(high);
    double rest;
    const double square = burin_product(root, root, &rest);
    const double more = (((high - square) - rest) + high_low) / (root + root);
    return burin_short_sum(root, root == 0 ? 0 : more, low);
}

/* Newton's method on 1..8, the last step with the exact cube. */
BURIN_MATH_FN double burin_cbrt(double x) {
    const double size = burin_fabs(x), in = size < 0x1p-1022 ? size * 0x1p54 : size;
    const unsigned long long bits = burin_bits(in);
    /* The exponent + 3072, so that division by 3 rounds down. */
    const int exponent = (int)(bits >> 52) + 2049, third = exponent / 3;
    const double m = burin_from_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull) *
                     burin_power_of_2(exponent - 3 * third);
    double root = 0.75 + 0.2 * m - 0.006 * m * m, low, rest, cube_low;
    root -= (root * root * root - m) / (3 * root * root);
    root -= (root * root * root - m) / (3 * root * root);
    root -= (root * root * root - m) / (3 * root * root);
    root -= (root * root * root - m) / (3 * root * root);
    const double square = burin_product(root, root, &low);
    const double cube = burin_product(square, root, &rest);
    cube_low = rest + low * root;
    const double result = root + ((m - cube) - cube_low) / (3 * square);
    const double scaled = result * burin_power_of_2(third - 1024 - (size < 0x1p-1022 ? 18 : 0));
    const int special = !(size > 0 && size < BURIN_INF);
    return burin_is_nan(x) ? BURIN_NAN : special ? x : burin_copysign(scaled, x);
}

/* Scales the larger side to where no square overflows and no significant one is lost. */
BURIN_MATH_FN double burin_hypot(double x, double y) {
    const double x_size = burin_fabs(x), y_size = burin_fabs(y);
    const double large = x_size > y_size ? x_size : y_size;
    const double small = x_size > y_size ? y_size : x_size;
    const double up = large > 0x1p300 ? 0x1p-600 : large < 0x1p-300 ? 0x1p600 : 1;
    const double down = large > 0x1p300 ? 0x1p600 : large < 0x1p-300 ? 0x1p-600 : 1;
    const double a = large * up, b = small < large * 0x1p-60 ? 0 : small * up;
    double a_low, b_low, low, rest;
    const double a_square = burin_product(a, a, &a_low), b_square = burin_product(b, b, &b_low);
    const double square = burin_short_sum(a_square, b_square, &low);
    const double root = burin_sqrt_2(square, low + (a_low + b_low), &low);
    /* Below the least normal number the last bit is put in its place first, as in burin_scale. */
    const double grid = large < 0x1p-300 && root < 0x1p-422 ? 0x1p-422 : 0;
    const double sum = burin_short_sum(grid, root, &rest);
    const double result = ((sum + (rest + low)) - grid) * down;
    const double ends = large == 0                                   ? 0
                        : x_size == BURIN_INF || y_size == BURIN_INF ? BURIN_INF
                                                                     : result;
    const int no_number = (burin_is_nan(x) || burin_is_nan(y)) && !(ends == BURIN_INF);
    return no_number ? BURIN_NAN : ends;
}

#endif
