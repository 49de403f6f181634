// SPDX-License-Identifier: Apache-2.0
/* trig.h - sin, cos, tan over all doubles.
 *
 * x = n pi/2 + r, |r| <= pi/4, r in two doubles. Below 2^20 pi/2 that is x minus n times the parts
 * of pi/2; above, x is multiplied by the 192 relevant bits of 2/pi, in integers. The first two
 * terms of each series are computed in two doubles, the others in one.
 *
 * Used by:  exact_math.h.
 * Source:   M. Payne and R. Hanek, Radian reduction for trigonometric functions, 1983; numbers:
 *           tests/pipeline/skeletons/exact_math_tables.py
 */
#ifndef BURIN_EXACT_MATH_TRIG_H
#define BURIN_EXACT_MATH_TRIG_H

#include "pipeline/skeletons/exact_math/base.h"

/* 2/pi, its first 1216 bits. */
static const BURIN_MATH_TABLE unsigned burin_two_by_pi[38] = {
    // clang-format off
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab,
    // clang-format on
};

/* 32 bits of 2/pi from the bit at `position`, which may be before the first. */
BURIN_MATH_FN unsigned burin_two_by_pi_at(int position) {
    const int word = position >> 5, shift = position & 31;
    const unsigned long long high = word >= 0 ? burin_two_by_pi[word] : 0;
    const unsigned long long low = word >= -1 ? burin_two_by_pi[word + 1] : 0;
    return (unsigned)((high << 32 | low) >> (32 - shift));
}

/* r in two and n mod 4 of x >= 2^20, finite. Bits of 2/pi that give multiples of 4 are left out;
 * those after the 192 next are below 2^-137. */
BURIN_MATH_RARE int burin_reduce_large(double x, double *r, double *r_low) {
    const unsigned long long bits = burin_bits(x);
    const unsigned long long mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    const int position = (int)(bits >> 52) - 1075 - 2;
    const unsigned long long m_low = mantissa & 0xffffffffu, m_high = mantissa >> 32;
    /* The product's words from the last to the first, each with what the one before carried. */
    unsigned long long carry = 0, before = 0;
    unsigned w0 = 0, w1 = 0, w2 = 0, w3 = 0, w4 = 0, w5 = 0;
    for (int i = 5; i >= 0; i--) {
        const unsigned long long word = burin_two_by_pi_at(position + 32 * i);
        const unsigned long long low = word * m_low, high = before * m_high;
        const unsigned long long sum = (low & 0xffffffffu) + (high & 0xffffffffu) + carry;
        carry = (sum >> 32) + (low >> 32) + (high >> 32);
        before = word;
        w5 = w4, w4 = w3, w3 = w2, w2 = w1, w1 = w0;
        w0 = (unsigned)sum;
        /* After six turns w0 is the first word and w5 the last. */
    }
    const int n = (int)((w0 >> 29) + 1) >> 1;
    /* The fraction, signed: its first word's sign is that of the rest beyond n. */
    const unsigned flip = w0 >> 29 & 1 ? 0xffffffffu : 0;
    const double unit = 0x1p-30;
    double high = (double)(int)((w0 ^ flip) & 0x3fffffffu) * unit, low = 0, rest;
    high = burin_sum(high, (double)(long long)(w1 ^ flip) * (unit * 0x1p-32), &rest), low += rest;
    high = burin_sum(high, (double)(long long)(w2 ^ flip) * (unit * 0x1p-64), &rest), low += rest;
    high = burin_sum(high, (double)(long long)(w3 ^ flip) * (unit * 0x1p-96), &rest), low += rest;
    high = burin_sum(high, (double)(long long)(w4 ^ flip) * (unit * 0x1p-128), &rest), low += rest;
    high = burin_sum(high, (double)(long long)(w5 ^ flip) * (unit * 0x1p-160), &rest), low += rest;
    high = burin_short_sum(high, low, &low);
    high = burin_product_2(high, low, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, &low);
    *r = flip ? -high : high;
    *r_low = flip ? -low : low;
    return n & 3;
}

/* r in two and n mod 4 of |x| < 2^20 pi/2. */
BURIN_MATH_FN int burin_reduce(double x, double *r, double *r_low) {
    const double rounder = 0x1.8p52, shifted = x * 0x1.45f306dc9c883p-1 + rounder;
    const double n = shifted - rounder;
    double low, low_2;
    double high = burin_sum(x - n * 0x1.921fb54400000p+0, -(n * 0x1.0b4611a600000p-34), &low);
    high = burin_sum(high, -(n * 0x1.3198a2e000000p-69), &low_2);
    *r = burin_short_sum(high, low + (low_2 - n * 0x1.b839a252049c1p-104), r_low);
    return (int)(unsigned)burin_bits(shifted) & 3;
}

/* sin(r + r_low) in two; square is r^2. */
BURIN_MATH_FN double burin_sin_near(double r, double r_low, double square, double square_low,
                                    double *low) {
    const double more =
        square *
        (0x1.1111111111111p-7 +
         square * (-0x1.a01a01a01a01ap-13 +
                   square * (0x1.71de3a556c5e9p-19 +
                             square * (-0x1.ae64567eefd7bp-26 +
                                       square * (0x1.61246051db49bp-33 +
                                                 square * (-0x1.ae7d151a12bbep-41 +
                                                           square * 0x1.929f8e17ed4cbp-49))))));
    double rest;
    const double inner = burin_short_sum(-0x1.5555555555555p-3, more, &rest);
    double term = burin_product_2(inner, rest + -0x1.5555555555555p-57, square, square_low, &rest);
    term = burin_product_2(term, rest, r, r_low, &rest);
    const double high = burin_short_sum(r, term, low);
    return burin_short_sum(high, *low + (rest + r_low), low);
}

BURIN_MATH_FN double burin_cos_near(double square, double square_low, double *low) {
    const double more =
        square * (-0x1.6c16c16c16c17p-10 +
                  square * (0x1.a01a01a019f8ap-16 +
                            square * (-0x1.27e4fb775f589p-22 +
                                      square * (0x1.1eed8e6c2ccc2p-29 +
                                                square * (-0x1.93957dabf5e31p-37 +
                                                          square * 0x1.abe69fa57209cp-45)))));
    double rest, rest_2;
    const double inner = burin_short_sum(0x1.5555555555555p-5, more, &rest);
    double term = burin_product_2(inner, rest + 0x1.5555555555555p-59, square, square_low, &rest);
    term = burin_short_sum(-0.5, term, &rest_2);
    term = burin_product_2(term, rest + rest_2, square, square_low, &rest);
    const double high = burin_short_sum(1, term, low);
    return burin_short_sum(high, *low + rest, low);
}

/* n mod 4 and r in two of any finite size. */
BURIN_MATH_FN int burin_reduce_any(double size, double *r, double *r_low) {
    return size < 0x1p20 ? burin_reduce(size, r, r_low) : burin_reduce_large(size, r, r_low);
}

/* NaN and infinity have none of the three. */
BURIN_MATH_FN int burin_is_finite(double x) {
    return burin_fabs(x) < BURIN_INF;
}

/* sin(size + quarters pi/2), rounded. */
BURIN_MATH_FN double burin_sin_from(double size, int quarters) {
    double r, r_low, square_low, low, high;
    const int n = burin_reduce_any(size, &r, &r_low) + quarters;
    const double square = burin_product_2(r, r_low, r, r_low, &square_low);
    if (n & 1)
        high = burin_cos_near(square, square_low, &low);
    else
        high = burin_sin_near(r, r_low, square, square_low, &low);
    return n & 2 ? -(high + low) : high + low;
}

BURIN_MATH_FN double burin_sin(double x) {
    const double size = burin_fabs(x);
    if (!burin_is_finite(x)) return BURIN_NAN;
    if (size < 0x1p-27) return x; /* and -x^3 / 6, below half its last bit */
    const double result = burin_sin_from(size, 0);
    return x < 0 ? -result : result;
}

BURIN_MATH_FN double burin_cos(double x) {
    return burin_is_finite(x) ? burin_sin_from(burin_fabs(x), 1) : BURIN_NAN;
}

/* sin / cos, or -cos / sin past an odd number of quarters. */
BURIN_MATH_FN double burin_tan(double x) {
    const double size = burin_fabs(x);
    double r, r_low, square_low, sine_low, cosine_low, low;
    if (!burin_is_finite(x)) return BURIN_NAN;
    if (size < 0x1p-27) return x;
    const int odd = burin_reduce_any(size, &r, &r_low) & 1;
    const double square = burin_product_2(r, r_low, r, r_low, &square_low);
    const double sine = burin_sin_near(r, r_low, square, square_low, &sine_low);
    const double cosine = burin_cos_near(square, square_low, &cosine_low);
    const double above = odd ? -cosine : sine, above_low = odd ? -cosine_low : sine_low;
    const double below = odd ? sine : cosine, below_low = odd ? sine_low : cosine_low;
    const double high = burin_quotient_2(above, above_low, below, below_low, &low);
    return x < 0 ? -(high + low) : high + low;
}

#endif
