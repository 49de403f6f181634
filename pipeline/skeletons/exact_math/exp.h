// SPDX-License-Identifier: Apache-2.0
/* exp.h - exp, exp2, expm1, sinh, cosh, tanh.
 *
 * e^x = 2^k T e^r, where T = 2^(i/64) is looked up and |r| <= ln2/128. The part of e^x beyond T is
 * kept apart until T, T - 1 or T + 1 is added, so that nothing cancels in expm1, sinh and tanh.
 *
 * Used by:  exact_math.h.
 * Source:   P. T. P. Tang, Table-driven implementation of the exponential function, 1989; numbers:
 *           tests/pipeline/skeletons/exact_math_tables.py
 */
#ifndef BURIN_EXACT_MATH_EXP_H
#define BURIN_EXACT_MATH_EXP_H

#include "pipeline/skeletons/exact_math/base.h"

/* 2^(i/64), each in two. */
static const BURIN_MATH_TABLE double burin_exp_table[128] = {
    // clang-format off
    0x1.0000000000000p+0, 0x0.0p+0, 0x1.02c9a3e778061p+0, -0x1.19083535b085dp-56,
    0x1.059b0d3158574p+0, 0x1.d73e2a475b465p-55, 0x1.0874518759bc8p+0, 0x1.186be4bb284ffp-57,
    0x1.0b5586cf9890fp+0, 0x1.8a62e4adc610bp-54, 0x1.0e3ec32d3d1a2p+0, 0x1.03a1727c57b53p-59,
    0x1.11301d0125b51p+0, -0x1.6c51039449b3ap-54, 0x1.1429aaea92de0p+0, -0x1.32fbf9af1369ep-54,
    0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55, 0x1.1a35beb6fcb75p+0, 0x1.e5b4c7b4968e4p-55,
    0x1.1d4873168b9aap+0, 0x1.e016e00a2643cp-54, 0x1.2063b88628cd6p+0, 0x1.dc775814a8495p-55,
    0x1.2387a6e756238p+0, 0x1.9b07eb6c70573p-54, 0x1.26b4565e27cddp+0, 0x1.2bd339940e9d9p-55,
    0x1.29e9df51fdee1p+0, 0x1.612e8afad1255p-55, 0x1.2d285a6e4030bp+0, 0x1.0024754db41d5p-54,
    0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55, 0x1.33c08b26416ffp+0, 0x1.32721843659a6p-54,
    0x1.371a7373aa9cbp+0, -0x1.63aeabf42eae2p-54, 0x1.3a7db34e59ff7p+0, -0x1.5e436d661f5e3p-56,
    0x1.3dea64c123422p+0, 0x1.ada0911f09ebcp-55, 0x1.4160a21f72e2ap+0, -0x1.ef3691c309278p-58,
    0x1.44e086061892dp+0, 0x1.89b7a04ef80d0p-59, 0x1.486a2b5c13cd0p+0, 0x1.3c1a3b69062f0p-56,
    0x1.4bfdad5362a27p+0, 0x1.d4397afec42e2p-56, 0x1.4f9b2769d2ca7p+0, -0x1.4b309d25957e3p-54,
    0x1.5342b569d4f82p+0, -0x1.07abe1db13cadp-55, 0x1.56f4736b527dap+0, 0x1.9bb2c011d93adp-54,
    0x1.5ab07dd485429p+0, 0x1.6324c054647adp-54, 0x1.5e76f15ad2148p+0, 0x1.ba6f93080e65ep-54,
    0x1.6247eb03a5585p+0, -0x1.383c17e40b497p-54, 0x1.6623882552225p+0, -0x1.bb60987591c34p-54,
    0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54, 0x1.6dfb23c651a2fp+0, -0x1.bbe3a683c88abp-57,
    0x1.71f75e8ec5f74p+0, -0x1.16e4786887a99p-55, 0x1.75feb564267c9p+0, -0x1.0245957316dd3p-54,
    0x1.7a11473eb0187p+0, -0x1.41577ee04992fp-55, 0x1.7e2f336cf4e62p+0, 0x1.05d02ba15797ep-56,
    0x1.82589994cce13p+0, -0x1.d4c1dd41532d8p-54, 0x1.868d99b4492edp+0, -0x1.fc6f89bd4f6bap-54,
    0x1.8ace5422aa0dbp+0, 0x1.6e9f156864b27p-54, 0x1.8f1ae99157736p+0, 0x1.5cc13a2e3976cp-55,
    0x1.93737b0cdc5e5p+0, -0x1.75fc781b57ebcp-57, 0x1.97d829fde4e50p+0, -0x1.d185b7c1b85d1p-54,
    0x1.9c49182a3f090p+0, 0x1.c7c46b071f2bep-56, 0x1.a0c667b5de565p+0, -0x1.359495d1cd533p-54,
    0x1.a5503b23e255dp+0, -0x1.d2f6edb8d41e1p-54, 0x1.a9e6b5579fdbfp+0, 0x1.0fac90ef7fd31p-54,
    0x1.ae89f995ad3adp+0, 0x1.7a1cd345dcc81p-54, 0x1.b33a2b84f15fbp+0, -0x1.2805e3084d708p-57,
    0x1.b7f76f2fb5e47p+0, -0x1.5584f7e54ac3bp-56, 0x1.bcc1e904bc1d2p+0, 0x1.23dd07a2d9e84p-55,
    0x1.c199bdd85529cp+0, 0x1.11065895048ddp-55, 0x1.c67f12e57d14bp+0, 0x1.2884dff483cadp-54,
    0x1.cb720dcef9069p+0, 0x1.503cbd1e949dbp-56, 0x1.d072d4a07897cp+0, -0x1.cbc3743797a9cp-54,
    0x1.d5818dcfba487p+0, 0x1.2ed02d75b3707p-55, 0x1.da9e603db3285p+0, 0x1.c2300696db532p-54,
    0x1.dfc97337b9b5fp+0, -0x1.1a5cd4f184b5cp-54, 0x1.e502ee78b3ff6p+0, 0x1.39e8980a9cc8fp-55,
    0x1.ea4afa2a490dap+0, -0x1.e9c23179c2893p-54, 0x1.efa1bee615a27p+0, 0x1.dc7f486a4b6b0p-54,
    0x1.f50765b6e4540p+0, 0x1.9d3e12dd8a18bp-54, 0x1.fa7c1819e90d8p+0, 0x1.74853f3a5931ep-55,
    // clang-format on
};

/* Returns T of e^(x + x_low) 2^-k, and the part beyond T in tail and tail_low; any |x| < 2^20. */
BURIN_MATH_FN double burin_exp_parts(double x, double x_low, int *k, double *tail,
                                     double *tail_low) {
    const double rounder = 0x1.8p52;
    const double shifted = x * 0x1.71547652b82fep+6 + rounder, count = shifted - rounder;
    const int steps = (int)(unsigned)burin_bits(shifted), i = steps & 63;
    double low, rest;
    /* The first part of ln2/64 has so few bits that its product is exact. */
    double r = burin_sum(x - count * 0x1.62e42fefc0000p-7, -(count * -0x1.c610ca86c3899p-43), &low);
    r = burin_short_sum(r, low + x_low, &low);
    const double more = r * (0x1.5555555555555p-3 +
                             r * (0x1.5555555555191p-5 +
                                  r * (0x1.1111111110f64p-7 +
                                       r * (0x1.6c16d1126fa59p-10 + r * 0x1.a01a0f894c85bp-13))));
    const double square = r * r * (0.5 + more), table = burin_exp_table[2 * i];
    const double first = burin_product(table, r, &rest);
    const double sum = burin_short_sum(first, table * square, tail_low);
    rest += *tail_low + (table * low + burin_exp_table[2 * i + 1] * (1 + r));
    *tail = burin_short_sum(sum, rest, tail_low);
    *k = steps >> 6;
    return table;
}

/* e^(x + x_low) 2^-k in two. */
BURIN_MATH_FN double burin_exp_2(double x, double x_low, int *k, double *low) {
    double tail, tail_low;
    const double table = burin_exp_parts(x, x_low, k, &tail, &tail_low);
    const double high = burin_short_sum(table, tail, low);
    *low += tail_low;
    return high;
}

/* e^x - 1 in two; -1000 <= x <= 700. */
BURIN_MATH_FN double burin_expm1_2(double x, double *low) {
    double tail, tail_low, rest, rest_2;
    int k;
    const double table = burin_exp_parts(x, 0, &k, &tail, &tail_low);
    const double scale = burin_power_of_2(k < -1022 ? -1022 : k);
    double high = burin_sum(table * scale, -1, &rest);
    high = burin_sum(high, tail * scale, &rest_2);
    return burin_short_sum(high, rest + rest_2 + tail_low * scale, low);
}

BURIN_MATH_FN double burin_clamp(double x, double limit) {
    const double below = x > limit ? limit : x;
    return below < -limit ? -limit : below;
}

BURIN_MATH_FN double burin_exp(double x) {
    double low;
    int k;
    const double high = burin_exp_2(burin_clamp(x, 1000), 0, &k, &low);
    const double result = burin_scale(high, low, k);
    return burin_is_nan(x) ? BURIN_NAN : result;
}

/* The integer nearest to x is split off before ln 2 is multiplied with: 2^n is exact. */
BURIN_MATH_FN double burin_exp2(double x) {
    const double rounder = 0x1.8p52, in = burin_clamp(x, 1200);
    const double shifted = in + rounder, whole = shifted - rounder;
    double low;
    int k;
    const double r =
        burin_product_2(in - whole, 0, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, &low);
    const double high = burin_exp_2(r, low, &k, &low);
    const double result = burin_scale(high, low, k + (int)(unsigned)burin_bits(shifted));
    return burin_is_nan(x) ? BURIN_NAN : result;
}

BURIN_MATH_FN double burin_expm1(double x) {
    double low;
    const double high = burin_expm1_2(burin_clamp(x, 700), &low);
    const double small = burin_fabs(x) < 0x1p-60 ? x : high + low;
    const double result = x > 700 ? burin_exp(x) : small;
    return burin_is_nan(x) ? BURIN_NAN : result;
}

/* With m = e^|x| - 1: (m + m/(m + 1)) / 2, and e^|x| / 2 where the rest is below its last bit. */
BURIN_MATH_FN double burin_sinh(double x) {
    const double size = burin_fabs(x);
    double low, rest, other_low;
    double result;
    if (size < 0x1p-30) {
        result = size; /* and size^3 / 6, below half its last bit */
    } else if (size < 40) {
        const double m = burin_expm1_2(size, &low);
        const double next = burin_sum(m, 1, &rest);
        const double other = burin_quotient_2(m, low, next, rest + low, &other_low);
        const double sum = burin_short_sum(m, other, &rest);
        result = 0.5 * (sum + (rest + low + other_low));
    } else {
        int k;
        const double high = burin_exp_2(burin_clamp(size, 1000), 0, &k, &low);
        result = burin_scale(high, low, k - 1);
    }
    return burin_is_nan(x) ? BURIN_NAN : burin_copysign(result, x);
}

BURIN_MATH_FN double burin_cosh(double x) {
    double low, other_low, rest;
    int k;
    const double high = burin_exp_2(burin_clamp(burin_fabs(x), 1000), 0, &k, &low);
    const double scale = k < 60 ? burin_power_of_2(-2 * (k < 60 ? k : 60)) : 0;
    const double other = burin_quotient_2(1, 0, high, low, &other_low);
    double sum = burin_sum(high, other * scale, &rest);
    sum = burin_short_sum(sum, rest + (low + other_low * scale), &low);
    const double result = burin_scale(sum, low, k - 1);
    return burin_is_nan(x) ? BURIN_NAN : result;
}

/* With m = e^(2|x|) - 1: m / (m + 2). */
BURIN_MATH_FN double burin_tanh(double x) {
    const double size = burin_fabs(x);
    double low, rest, quotient_low;
    const double m = burin_expm1_2(size > 30 ? 60 : 2 * size, &low);
    const double next = burin_sum(m, 2, &rest);
    const double quotient = burin_quotient_2(m, low, next, rest + low, &quotient_low);
    const double result = size < 0x1p-30 ? size : quotient + quotient_low;
    return burin_is_nan(x) ? BURIN_NAN : burin_copysign(result, x);
}

#endif
