// SPDX-License-Identifier: Apache-2.0
/* atan.h - atan, atan2, asin, acos.
 *
 * All four are the angle of a point in the first quadrant, each coordinate in two doubles. For the
 * angle to the nearer axis the tangent's nearest sixteenth is looked up; a series gives the rest.
 *
 * Used by:  exact_math.h.
 * Source:   tests/pipeline/skeletons/exact_math_tables.py
 */
#ifndef BURIN_EXACT_MATH_ATAN_H
#define BURIN_EXACT_MATH_ATAN_H

#include "pipeline/skeletons/exact_math/root.h"

/* atan(k/16), each in two. */
static const BURIN_MATH_TABLE double burin_atan_table[34] = {
    // clang-format off
    0x0.0p+0, 0x0.0p+0, 0x1.ff55bb72cfdeap-5, -0x1.c934d86d23f1dp-60,
    0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59, 0x1.7b97b4bce5b02p-3, 0x1.347b0b4f881cap-58,
    0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57, 0x1.362773707ebccp-2, -0x1.963a544b672d8p-57,
    0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56, 0x1.a64eec3cc23fdp-2, -0x1.24dec1b50b7ffp-56,
    0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56, 0x1.0657e94db30d0p-1, -0x1.d5b495f6349e6p-56,
    0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58, 0x1.345f01cce37bbp-1, 0x1.1021137c71102p-55,
    0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56, 0x1.5d58987169b18p-1, 0x1.0028e4bc5e7cap-57,
    0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56, 0x1.819d0b7158a4dp-1, -0x1.bf76229d3b917p-56,
    0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55,
    // clang-format on
};

/* The angle of n/d in two, 0 <= n <= d, d within 2^-500..2^1000; n/d below 2^-500 loses bits. */
BURIN_MATH_FN double burin_atan_near(double n, double n_low, double d, double d_low, double *low) {
    const double place = n / d * 16 + 0.5; /* below 17, or NaN */
    const int k = (int)(place < 17 ? place : 0);
    const double c = k * 0.0625, d_top = burin_top(d), n_top = burin_top(n);
    double rest, below_low;
    /* tan(a - b) = (n - c d) / (d + c n); c has so few bits that the products are exact. */
    const double above = burin_sum(n - c * d_top, -(c * (d - d_top)), &rest);
    const double above_low = rest + (n_low - c * d_low);
    double below = burin_short_sum(d, c * n_top, &below_low);
    below_low += c * (n - n_top) + (d_low + c * n_low);
    below = burin_short_sum(below, below_low, &below_low);
    const double t = burin_quotient_2(above, above_low, below, below_low, &rest);
    const double square = t * t;
    const double more =
        t * square *
        (-0x1.5555555555555p-2 +
         square * (0x1.99999999998a4p-3 +
                   square * (-0x1.24924922a6f76p-3 +
                             square * (0x1.c71c46c7649a6p-4 + square * -0x1.73987037d0abep-4))));
    double sum_low;
    const double sum = burin_short_sum(burin_atan_table[2 * k], t, &sum_low);
    return burin_short_sum(sum, sum_low + (more + rest + burin_atan_table[2 * k + 1]), low);
}

/* The angle of the point (x, y), rounded; x and y not negative; `mirror`: x is meant negative. */
BURIN_MATH_FN double burin_angle(double y, double y_low, double x, double x_low, int mirror) {
    const int swap = y > x;
    const double large = swap ? y : x, large_low = swap ? y_low : x_low;
    const double small = swap ? x : y, small_low = swap ? x_low : y_low;
    const double both_0 = large == 0;
    double low, rest, rest_2;
    const double near = burin_atan_near(small, small_low, large + both_0, large_low, &low);
    /* The angle to the nearer axis, then pi/2 or pi minus it, or pi/2 plus it. */
    const double side = mirror ? 0x1.921fb54442d18p+1 : 0,
                 side_low = mirror ? 0x1.1a62633145c07p-53 : 0;
    const double base = swap ? 0x1.921fb54442d18p+0 : side;
    const double base_low = swap ? 0x1.1a62633145c07p-54 : side_low;
    const double sign = swap != mirror ? -1 : 1;
    const double sum = burin_short_sum(base, sign * near, &rest);
    const double angle = burin_short_sum(sum, rest + (base_low + sign * low), &rest_2);
    /* A tiny angle equals the quotient within far less than a bit and may be below the least normal
     * number: the division rounds it, once. */
    const double quotient = y / x, result = angle + rest_2;
    const int tiny = (y < x * 0x1p-500) & !mirror;
    return tiny ? quotient : result;
}

BURIN_MATH_FN double burin_atan(double x) {
    const double size = burin_fabs(x), finite = size > 0x1p100 ? 0x1p100 : size;
    const double result = burin_angle(finite, 0, 1, 0, 0);
    return burin_is_nan(x) ? BURIN_NAN : burin_copysign(result, x);
}

BURIN_MATH_FN double burin_atan2(double y, double x) {
    const int mirror = (burin_bits(x) & BURIN_SIGN_BIT) != 0;
    const double y_size = burin_fabs(y), x_size = burin_fabs(x), inf = BURIN_INF;
    const double large = y_size > x_size ? y_size : x_size;
    const double least = large < 0x1p-500 ? 0x1p600 : 1, scale = large > 0x1p500 ? 0x1p-600 : least;
    /* Infinity is far above everything finite, and equal to infinity. */
    const double a = y_size == inf ? 0x1p1000 : y_size * scale;
    const double b = x_size == inf ? 0x1p1000 : x_size * scale;
    const double angle = burin_angle(a, 0, b, 0, mirror);
    /* Scaling may have lost bits of a tiny y; the quotient has them. */
    const int tiny = (y_size < x_size * 0x1p-500) & !mirror;
    const double quotient = y_size / x_size, result = tiny ? quotient : angle;
    const int no_number = burin_is_nan(x) | burin_is_nan(y);
    return no_number ? BURIN_NAN : burin_copysign(result, y);
}

/* sqrt(1 - x^2) in two, |x| <= 1. */
BURIN_MATH_FN double burin_other_side(double size, double *low) {
    double minus_low, plus_low;
    const double minus = burin_short_sum(1, -size, &minus_low);
    const double plus = burin_short_sum(1, size, &plus_low);
    const double product = burin_product_2(minus, minus_low, plus, plus_low, low);
    return burin_sqrt_2(product, *low, low);
}

BURIN_MATH_FN double burin_asin(double x) {
    const double size = burin_fabs(x);
    double low;
    const double side = burin_other_side(size > 1 ? 1 : size, &low);
    const double result = burin_angle(size, 0, side, low, 0);
    return size <= 1 ? burin_copysign(result, x) : BURIN_NAN;
}

BURIN_MATH_FN double burin_acos(double x) {
    const double size = burin_fabs(x);
    double low;
    const double side = burin_other_side(size > 1 ? 1 : size, &low);
    const double result = burin_angle(side, low, size, 0, x < 0);
    return size <= 1 ? result : BURIN_NAN;
}

#endif
