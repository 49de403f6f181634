// SPDX-License-Identifier: Apache-2.0
/* log.h - log, log2, log10, log1p, pow.
 *
 * x = 2^e m. A factor of ten bits, looked up by the first bits of m, brings m so near to 1 that a
 * polynomial does the rest. Around 1 factor and e are 1 and 0, so nothing cancels. The result, in
 * two doubles, is exact to 2^-68, because pow multiplies it by up to 2^10.
 *
 * Used by:  exact_math.h.
 * Source:   P. T. P. Tang, Table-driven implementation of the logarithm function, 1990; numbers:
 *           tests/pipeline/skeletons/exact_math_tables.py
 */
#ifndef BURIN_EXACT_MATH_LOG_H
#define BURIN_EXACT_MATH_LOG_H

#include "pipeline/skeletons/exact_math/exp.h"

/* factor; -log(factor) in two, of which the first is a multiple of 2^-42. */
static const BURIN_MATH_TABLE double burin_log_table[384] = {
    // clang-format off
    0x1.6800000000000p+0, -0x1.5d1bdbf581000p-2, 0x1.8d6bdc9c7c238p-44,
    0x1.6600000000000p+0, -0x1.5767717456000p-2, 0x1.64ead9524d7cap-44,
    0x1.6400000000000p+0, -0x1.51aad872e0000p-2, 0x1.f4bd8db0a7cc1p-44,
    0x1.6200000000000p+0, -0x1.4be5f95778000p-2, 0x1.d7c92cd9ad824p-44,
    0x1.6080000000000p+0, -0x1.478cd5959b000p-2, -0x1.ec89bf0c8d098p-45,
    0x1.5e80000000000p+0, -0x1.41b941cce1000p-2, 0x1.0469013e43fc9p-44,
    0x1.5c80000000000p+0, -0x1.3bdd24eb15000p-2, 0x1.257b4970e6ed9p-44,
    0x1.5b00000000000p+0, -0x1.3772662bfe000p-2, 0x1.e9436ac53b023p-44,
    0x1.5900000000000p+0, -0x1.31871c9544000p-2, -0x1.84fab94cecfd9p-46,
    0x1.5700000000000p+0, -0x1.2b9303ab8a000p-2, 0x1.6db12d6bfb0a5p-45,
    0x1.5580000000000p+0, -0x1.27161913f8000p-2, -0x1.4f4f1f61564b4p-44,
    0x1.5380000000000p+0, -0x1.2112559861000p-2, -0x1.82e78ba2950c4p-44,
    0x1.5200000000000p+0, -0x1.1c898c169a000p-2, 0x1.81410e5c62affp-44,
    0x1.5000000000000p+0, -0x1.1675cababa000p-2, -0x1.8380e731f55c4p-44,
    0x1.4e80000000000p+0, -0x1.11e0e2dada000p-2, 0x1.a47f88fcce5bap-45,
    0x1.4c80000000000p+0, -0x1.0bbccdb0d2000p-2, -0x1.2f32ccc5dcdfbp-44,
    0x1.4b00000000000p+0, -0x1.071b85fcd6000p-2, 0x1.bcb8ba3e01a11p-44,
    0x1.4980000000000p+0, -0x1.0274dc16c2000p-2, -0x1.979e89cf835c2p-45,
    0x1.4780000000000p+0, -0x1.f871b28956000p-3, 0x1.f75fd6a526efep-44,
    0x1.4600000000000p+0, -0x1.ef0adcbdc6000p-3, 0x1.b26b79c86af24p-45,
    0x1.4480000000000p+0, -0x1.e598ed5a88000p-3, 0x1.d134bcf1e98a1p-47,
    0x1.4300000000000p+0, -0x1.dc1bca0abe000p-3, -0x1.8fac1a628ccc6p-44,
    0x1.4180000000000p+0, -0x1.d293581b6c000p-3, 0x1.83270128aaa5fp-44,
    0x1.3f80000000000p+0, -0x1.c5cba543ae000p-3, -0x1.0929decb454fcp-45,
    0x1.3e00000000000p+0, -0x1.bc286742d8000p-3, -0x1.9ac53f39d121cp-44,
    0x1.3c80000000000p+0, -0x1.b2797ee464000p-3, 0x1.be88a906d00a9p-44,
    0x1.3b00000000000p+0, -0x1.a8becfc882000p-3, -0x1.e3185cf21b9cfp-44,
    0x1.3980000000000p+0, -0x1.9ef83d276a000p-3, 0x1.730b7b3f9ce00p-45,
    0x1.3800000000000p+0, -0x1.9525a9cf46000p-3, 0x1.297137d9f158fp-44,
    0x1.3680000000000p+0, -0x1.8b46f82236000p-3, -0x1.2d9f2102dd7c9p-46,
    0x1.3500000000000p+0, -0x1.815c0a1436000p-3, 0x1.02a52f9201ce8p-44,
    0x1.3380000000000p+0, -0x1.7764c128f2000p-3, -0x1.274903479e3d1p-47,
    0x1.3200000000000p+0, -0x1.6d60fe719e000p-3, 0x1.bc6e557134767p-44,
    0x1.3100000000000p+0, -0x1.66acd4272a000p-3, -0x1.aa1bdbfc6c785p-44,
    0x1.2f80000000000p+0, -0x1.5c94007598000p-3, 0x1.a8d948cd23322p-44,
    0x1.2e00000000000p+0, -0x1.526e5e3a1c000p-3, 0x1.790ba37fc5238p-44,
    0x1.2c80000000000p+0, -0x1.483bccce6e000p-3, -0x1.eea52723f6369p-46,
    0x1.2b80000000000p+0, -0x1.41682bf728000p-3, 0x1.10047081f849dp-45,
    0x1.2a00000000000p+0, -0x1.371fc201e8000p-3, -0x1.ee8779b2d8abcp-44,
    0x1.2880000000000p+0, -0x1.2cca0f5f60000p-3, 0x1.b5ef191aff120p-44,
    0x1.2700000000000p+0, -0x1.2266f190a6000p-3, 0x1.4d20ab840e7f6p-45,
    0x1.2600000000000p+0, -0x1.1b72ad52f6000p-3, -0x1.e80a41811a396p-45,
    0x1.2480000000000p+0, -0x1.10f8e42254000p-3, 0x1.93b3843396307p-45,
    0x1.2380000000000p+0, -0x1.09f561ee72000p-3, 0x1.8f3057157d1a8p-45,
    0x1.2200000000000p+0, -0x1.fec9131dc0000p-4, 0x1.54555d1ae6607p-44,
    0x1.2080000000000p+0, -0x1.e98b549670000p-4, -0x1.4677489c50e97p-44,
    0x1.1f80000000000p+0, -0x1.db5270187c000p-4, -0x1.9277856ae181fp-44,
    0x1.1e00000000000p+0, -0x1.c5e548f5bc000p-4, -0x1.d0c57585fbe06p-46,
    0x1.1d00000000000p+0, -0x1.b78c82bb10000p-4, 0x1.25ef7bc3987e7p-44,
    0x1.1b80000000000p+0, -0x1.a1ef1d8060000p-4, -0x1.cd4176df97bcbp-44,
    0x1.1a80000000000p+0, -0x1.9375e55594000p-4, -0x1.eddc37380c364p-44,
    0x1.1980000000000p+0, -0x1.84ef898e84000p-4, 0x1.7d5cd246977c9p-44,
    0x1.1800000000000p+0, -0x1.6f0d28ae58000p-4, 0x1.4b4641b664613p-44,
    0x1.1700000000000p+0, -0x1.60658a9374000p-4, -0x1.0c3b1dee9c4f8p-44,
    0x1.1580000000000p+0, -0x1.4a50d3aa1c000p-4, 0x1.f7fe1308973e2p-45,
    0x1.1480000000000p+0, -0x1.3b87598b1c000p-4, 0x1.2241594aca313p-45,
    0x1.1380000000000p+0, -0x1.2cb0283f5c000p-4, -0x1.e1ee2ca657021p-44,
    0x1.1200000000000p+0, -0x1.16536eea38000p-4, 0x1.47c5e768fa309p-46,
    0x1.1100000000000p+0, -0x1.0759835990000p-4, 0x1.b8ecfe4b59987p-44,
    0x1.1000000000000p+0, -0x1.f0a30c0118000p-5, 0x1.d599e83368e91p-45,
    0x1.0f00000000000p+0, -0x1.d276b8adb0000p-5, -0x1.6a423c78a64b0p-46,
    0x1.0d80000000000p+0, -0x1.a4fe9ffa40000p-5, 0x1.6e584a0402925p-44,
    0x1.0c80000000000p+0, -0x1.868a830840000p-5, 0x1.2623a134ac693p-46,
    0x1.0b80000000000p+0, -0x1.67f94f0948000p-5, -0x1.ecc1f3e7e4ed7p-44,
    0x1.0a80000000000p+0, -0x1.494acc34d8000p-5, -0x1.11c78a56fd247p-45,
    0x1.0980000000000p+0, -0x1.2a7ec22150000p-5, 0x1.78ce77a9163fep-45,
    0x1.0880000000000p+0, -0x1.0b94f7c198000p-5, 0x1.e89896f022783p-45,
    0x1.0700000000000p+0, -0x1.b9fc027b00000p-6, 0x1.b9a010ae6922ap-44,
    0x1.0600000000000p+0, -0x1.7b91b07d60000p-6, 0x1.3b955b602ace4p-44,
    0x1.0500000000000p+0, -0x1.3cea443470000p-6, 0x1.6a2c432d6a40bp-44,
    0x1.0400000000000p+0, -0x1.fc0a8b0fc0000p-7, -0x1.f1e7cf6d3a69cp-50,
    0x1.0300000000000p+0, -0x1.7dc475f820000p-7, 0x1.eb1245b5da1f5p-44,
    0x1.0200000000000p+0, -0x1.fe02a6b100000p-8, -0x1.9e23f0dda40e4p-46,
    0x1.0100000000000p+0, -0x1.ff00aa2b00000p-9, -0x1.0bc04a086b56ap-45,
    0x1.0000000000000p+0, 0x0.0p+0, 0x0.0p+0,
    0x1.fc00000000000p-1, 0x1.0101575880000p-7, 0x1.bce251998b506p-44,
    0x1.f800000000000p-1, 0x1.0205658930000p-6, 0x1.611d27c8e8417p-44,
    0x1.f400000000000p-1, 0x1.8492528c90000p-6, -0x1.aa0ba325a0c34p-45,
    0x1.f000000000000p-1, 0x1.0415d89e78000p-5, -0x1.dddc7f461c516p-44,
    0x1.ed00000000000p-1, 0x1.35c8bfaa10000p-5, 0x1.8357d5ef9eb35p-44,
    0x1.e900000000000p-1, 0x1.788595a358000p-5, -0x1.08b0d083b3a4cp-46,
    0x1.e500000000000p-1, 0x1.bbcebfc690000p-5, -0x1.7bf868c317c2ap-46,
    0x1.e200000000000p-1, 0x1.eea31c0068000p-5, 0x1.c3dd83606d891p-44,
    0x1.de00000000000p-1, 0x1.1973bd1464000p-4, 0x1.566d154f930b3p-44,
    0x1.db00000000000p-1, 0x1.333d7f8184000p-4, -0x1.692b6a81b8848p-49,
    0x1.d700000000000p-1, 0x1.55e10050e0000p-4, 0x1.c1d740c53c72ep-47,
    0x1.d400000000000p-1, 0x1.700d30aeac000p-4, 0x1.c1e8da99ded32p-49,
    0x1.d100000000000p-1, 0x1.8a6477a91c000p-4, 0x1.c28c0af9bd6dfp-44,
    0x1.ce00000000000p-1, 0x1.a4e7640b1c000p-4, -0x1.e42b6b94407c8p-47,
    0x1.ca00000000000p-1, 0x1.c885801bc4000p-4, 0x1.646d1c65aacd3p-45,
    0x1.c700000000000p-1, 0x1.e3707ee304000p-4, 0x1.0f684e6766abdp-45,
    0x1.c400000000000p-1, 0x1.fe89139dbc000p-4, 0x1.56594d82f7a82p-44,
    0x1.c100000000000p-1, 0x1.0ce7ecdccc000p-3, 0x1.4652dabff5447p-46,
    0x1.be00000000000p-1, 0x1.1aa2b7e240000p-3, -0x1.1ac38dde3b366p-44,
    0x1.bb00000000000p-1, 0x1.28753bc11a000p-3, 0x1.7494e359302e6p-44,
    0x1.b800000000000p-1, 0x1.365fcb015a000p-3, -0x1.fd3a0afb9691bp-44,
    0x1.b500000000000p-1, 0x1.4462b9dc9c000p-3, -0x1.84858a711b062p-44,
    0x1.b200000000000p-1, 0x1.527e5e4a1c000p-3, -0x1.4e60b8d4b411dp-44,
    0x1.af00000000000p-1, 0x1.60b3100b0a000p-3, -0x1.71456c988f814p-44,
    0x1.ac00000000000p-1, 0x1.6f0128b756000p-3, 0x1.577390d31ef0fp-44,
    0x1.aa00000000000p-1, 0x1.7898d85444000p-3, 0x1.8e67be3dbaf3fp-44,
    0x1.a700000000000p-1, 0x1.871213750e000p-3, 0x1.328eb42f9af75p-44,
    0x1.a400000000000p-1, 0x1.95a5adcf70000p-3, 0x1.7f22858a0ff6fp-47,
    0x1.a100000000000p-1, 0x1.a454082e6a000p-3, 0x1.60a77c81f7171p-44,
    0x1.9f00000000000p-1, 0x1.ae2ca6f672000p-3, 0x1.7a8d5ae54f550p-44,
    0x1.9c00000000000p-1, 0x1.bd087383be000p-3, -0x1.d4bc4595412b6p-45,
    0x1.9a00000000000p-1, 0x1.c6ffbc6f00000p-3, 0x1.ee138d3a69d43p-44,
    0x1.9700000000000p-1, 0x1.d60a17f904000p-3, -0x1.5d6e06fc20d39p-44,
    0x1.9500000000000p-1, 0x1.e020cc6236000p-3, -0x1.52b00adb91424p-45,
    0x1.9200000000000p-1, 0x1.ef5ade4dd0000p-3, -0x1.a211565bb8e11p-51,
    0x1.9000000000000p-1, 0x1.f991c6cb3c000p-3, -0x1.90d04cd7cc834p-44,
    0x1.8d00000000000p-1, 0x1.047e60cde8000p-2, 0x1.dbdf10d397f3cp-45,
    0x1.8b00000000000p-1, 0x1.09aa572e6c000p-2, 0x1.b50a1e1734342p-44,
    0x1.8800000000000p-1, 0x1.1178e8227e000p-2, 0x1.1ef78ce2d07f2p-44,
    0x1.8600000000000p-1, 0x1.16b5ccbad0000p-2, -0x1.23299042d74bfp-44,
    0x1.8400000000000p-1, 0x1.1bf99635a7000p-2, -0x1.1ac89575c2125p-44,
    0x1.8200000000000p-1, 0x1.214456d0ec000p-2, -0x1.caf0428b728a3p-44,
    0x1.7f00000000000p-1, 0x1.2941afb187000p-2, -0x1.210c2b730e28bp-44,
    0x1.7d00000000000p-1, 0x1.2e9e2bce12000p-2, 0x1.4300c128d1dc2p-45,
    0x1.7b00000000000p-1, 0x1.3401e12aed000p-2, -0x1.17c73556e291dp-44,
    0x1.7900000000000p-1, 0x1.396ce359bc000p-2, -0x1.5839c5663663dp-47,
    0x1.7600000000000p-1, 0x1.419b423d5f000p-2, -0x1.ce379226de3ecp-44,
    0x1.7400000000000p-1, 0x1.4718dc271c000p-2, 0x1.06c18fb4c14c5p-44,
    0x1.7200000000000p-1, 0x1.4c9e09e173000p-2, -0x1.e20891b0ad8a4p-45,
    0x1.7000000000000p-1, 0x1.522ae0738a000p-2, 0x1.ebe708164c759p-45,
    0x1.6e00000000000p-1, 0x1.57bf753c8d000p-2, 0x1.fadedee5d40efp-46,
    0x1.6c00000000000p-1, 0x1.5d5bddf596000p-2, -0x1.a0b2a08a465dcp-47,
    0x1.6a00000000000p-1, 0x1.630030b3ab000p-2, -0x1.db623e731ae00p-45,
    // clang-format on
};

/* log(x + x_low) in two, 0 < x < infinity, |x_low| at most half an ulp. */
BURIN_MATH_FN double burin_log_2(double x, double x_low, double *low) {
    const int tiny = x < 0x1p-1022;
    const unsigned long long start = 0x3fe6b00000000000ull;
    const unsigned long long bits = burin_bits(tiny ? x * 0x1p54 : x), above = bits - start;
    const unsigned long long exponent = above & 0xfff0000000000000ull;
    const int i = (int)(above >> 45 & 127) * 3;
    const int power = (int)(unsigned)(above >> 52 ^ 2048) - 2048;
    const double e = power - (tiny ? 54 : 0);
    const double m = burin_from_bits(bits - exponent), m_top = burin_top(m);
    /* Only log1p has any, and only where 2^-e is a number. */
    const double m_low =
        x_low * burin_from_bits(0x3ff0000000000000ull - (x_low == 0 ? 0 : exponent));
    const double factor = burin_log_table[i];
    double rest, square_low, sum_low, sum_low_2;
    double r = burin_sum(m_top * factor - 1, (m - m_top) * factor, &rest);
    r = burin_short_sum(r, rest + m_low * factor, &rest);
    const double square = burin_product(r, -0.5 * r, &square_low);
    const double more =
        r * r * r *
        (0x1.5555555555555p-2 +
         r * (-0x1.0000000000002p-2 +
              r * (0x1.999999999999ep-3 +
                   r * (-0x1.55555553c9f53p-3 +
                        r * (0x1.249249232ada7p-3 +
                             r * (-0x1.0002145cd14aap-3 + r * 0x1.c72039b5c749bp-4))))));
    /* Both addends have so few bits that the sum is exact. */
    const double start_high = e * 0x1.62e42fefa3800p-1 + burin_log_table[i + 1];
    const double start_low = e * 0x1.ef35793c76730p-45 + burin_log_table[i + 2];
    double sum = burin_short_sum(start_high, r, &sum_low);
    sum = burin_short_sum(sum, square, &sum_low_2);
    return burin_short_sum(
        sum, sum_low + sum_low_2 + (square_low + (rest - rest * r) + start_low + more), low);
}

/* The logarithms of special x: NaN below 0, -infinity for 0, infinity for infinity. */
BURIN_MATH_FN double burin_log_special(double x, double result) {
    const double right = x > 0x1.fffffffffffffp1023 ? x : result;
    const double both = x == 0 ? -BURIN_INF : right;
    const int no_number = (x < 0) | burin_is_nan(x);
    return no_number ? BURIN_NAN : both;
}

BURIN_MATH_FN double burin_log(double x) {
    double low;
    const double high = burin_log_2(x, 0, &low);
    return burin_log_special(x, high + low);
}

BURIN_MATH_FN double burin_log2(double x) {
    double low;
    const double high = burin_log_2(x, 0, &low);
    const double result =
        burin_product_2(high, low, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, &low);
    return burin_log_special(x, result + low);
}

BURIN_MATH_FN double burin_log10(double x) {
    double low;
    const double high = burin_log_2(x, 0, &low);
    const double result =
        burin_product_2(high, low, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, &low);
    return burin_log_special(x, result + low);
}

BURIN_MATH_FN double burin_log1p(double x) {
    double low;
    const double sum = burin_sum(x, 1, &low);
    const double high = burin_log_2(sum, x < 0x1p60 ? low : 0, &low);
    const double result = burin_fabs(x) < 0x1p-60 ? x : burin_log_special(sum, high + low);
    return burin_is_nan(x) ? BURIN_NAN : result;
}

/* y log|x| in two, limited to the range in which e^ of it is neither 0 nor infinite. */
BURIN_MATH_FN double burin_pow_exponent(double x, double y, double *low) {
    double log_low;
    const double size = burin_fabs(x), high = burin_log_2(size, 0, &log_low);
    const double log_high = burin_log_special(size, high), rough = y * log_high;
    const int near = (rough > -1000) & (rough < 1000);
    const double limit = rough > 0 ? 1000 : -1000, factor = near ? log_high : 0;
    const double product = burin_product_2(near ? y : 0, 0, factor, near ? log_low : 0, low);
    return near ? product : limit;
}

/* Whether y is a fraction, and whether it is an odd number; infinity is even. */
BURIN_MATH_FN int burin_is_fraction(double y) {
    const double size = burin_fabs(y), big = 0x1p52;
    return (size < big) & ((size + big) - big != size);
}

BURIN_MATH_FN int burin_is_odd(double y) {
    return (burin_fabs(y) < 0x1p53) & burin_is_fraction(0.5 * y) & !burin_is_fraction(y);
}

BURIN_MATH_FN double burin_pow(double x, double y) {
    double low;
    int k;
    const double exponent = burin_pow_exponent(x, y, &low);
    const double high = burin_exp_2(exponent, low, &k, &low);
    const double size = burin_scale(high, low, k), sign = burin_is_odd(y) ? x : 1;
    const double result = burin_copysign(size, sign), inf = BURIN_INF;
    const int one = (y == 0) | (x == 1) | ((x == -1) & (burin_fabs(y) == inf));
    const int no_number =
        burin_is_nan(x) | burin_is_nan(y) | ((x < 0) & (x > -inf) & burin_is_fraction(y));
    const double number = no_number ? BURIN_NAN : result;
    return one ? 1 : number;
}

#endif
