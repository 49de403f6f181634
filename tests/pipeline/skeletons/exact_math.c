// SPDX-License-Identifier: Apache-2.0
/* The functions of exact_math.h against mpmath's values, C's special cases (Annex F), and those
 * of libm that are exact. What compilers make of it: tests/reference/test_exact_math.py.
 * covers: pipeline/skeletons/exact_math.h
 */
#define BURIN_MATH_NO_NAMES
#include "pipeline/skeletons/exact_math.h"
#include "tests/pipeline/skeletons/exact_math_set.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum function {
    exp_,
    exp2_,
    expm1_,
    log_,
    log2_,
    log10_,
    log1p_,
    sin_,
    cos_,
    tan_,
    asin_,
    acos_,
    atan_,
    sinh_,
    cosh_,
    tanh_,
    sqrt_,
    cbrt_,
    pow_,
    atan2_,
    hypot_,
    fmod_,
    floor_,
    ceil_,
    trunc_,
    round_,
    rint_,
    fmin_,
    fmax_,
    fdim_,
    fabs_,
};

static double call(enum function function, double x, double y) {
    switch (function) {
    case exp_: return burin_exp(x);
    case exp2_: return burin_exp2(x);
    case expm1_: return burin_expm1(x);
    case log_: return burin_log(x);
    case log2_: return burin_log2(x);
    case log10_: return burin_log10(x);
    case log1p_: return burin_log1p(x);
    case sin_: return burin_sin(x);
    case cos_: return burin_cos(x);
    case tan_: return burin_tan(x);
    case asin_: return burin_asin(x);
    case acos_: return burin_acos(x);
    case atan_: return burin_atan(x);
    case sinh_: return burin_sinh(x);
    case cosh_: return burin_cosh(x);
    case tanh_: return burin_tanh(x);
    case sqrt_: return burin_sqrt(x);
    case cbrt_: return burin_cbrt(x);
    case pow_: return burin_pow(x, y);
    case atan2_: return burin_atan2(x, y);
    case hypot_: return burin_hypot(x, y);
    case fmod_: return burin_fmod(x, y);
    case floor_: return burin_floor(x);
    case ceil_: return burin_ceil(x);
    case trunc_: return burin_trunc(x);
    case round_: return burin_round(x);
    case rint_: return burin_rint(x);
    case fmin_: return burin_fmin(x, y);
    case fmax_: return burin_fmax(x, y);
    case fdim_: return burin_fdim(x, y);
    default: return burin_fabs(x);
    }
}

struct row {
    const char *name;
    enum function function;
    double x, y, wanted;
};

static void check_row(const struct row *row) {
    const double got = call(row->function, row->x, row->y);
    if (burin_bits(got) != burin_bits(row->wanted))
        fail_msg("%s(%a, %a) is %a, not %a", row->name, row->x, row->y, got, row->wanted);
}

#define ROW(function, x, y, wanted) { #function, function##_, x, y, wanted },

static void test_rounded_values(void **state) {
    (void)state;
    const struct row rows[] = {
#include "tests/pipeline/skeletons/exact_math_values.h"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

static void test_special_cases_of_powers(void **state) {
    (void)state;
    const double inf = BURIN_INF, nan = BURIN_NAN, other_nan = -BURIN_NAN;
    const struct row rows[] = {
        // clang-format off
        ROW(pow, 0.0, -3, inf) ROW(pow, -0.0, -3, -inf) ROW(pow, 0.0, -2.5, inf)
        ROW(pow, -0.0, -2, inf) ROW(pow, 0.0, -inf, inf) ROW(pow, -0.0, 3, -0.0)
        ROW(pow, -0.0, 4, 0.0) ROW(pow, -0.0, 0.5, 0.0) ROW(pow, -1, inf, 1) ROW(pow, -1, -inf, 1)
        ROW(pow, 1, nan, 1) ROW(pow, nan, 0, 1) ROW(pow, nan, -0.0, 1) ROW(pow, -2, 0.5, nan)
        ROW(pow, 0.5, -inf, inf) ROW(pow, 2, -inf, 0.0) ROW(pow, -0.5, inf, 0.0)
        ROW(pow, -2, inf, inf) ROW(pow, -inf, -3, -0.0) ROW(pow, -inf, -2, 0.0)
        ROW(pow, -inf, 3, -inf) ROW(pow, -inf, 2.5, inf) ROW(pow, inf, -1, 0.0)
        ROW(pow, inf, 1e-300, inf) ROW(pow, -2, 0x1.fffffffffffffp52, -inf)
        ROW(pow, -0.5, 0x1p53, 0.0) ROW(pow, -8, 1e300, inf) ROW(pow, nan, 2, nan)
        ROW(pow, 2, other_nan, nan) ROW(pow, -1, 0x1.fffffffffffffp52, -1) ROW(pow, -1, 0x1p52, 1)
        ROW(pow, -1, 0x1.8p51, 1) ROW(pow, -1, 0x1.0000000000001p52, -1)
        ROW(pow, -1, 0x1.0000000000001p51, nan) ROW(pow, inf, 0, 1) ROW(pow, 7, 1, 7)
        ROW(pow, -7, 1, -7) ROW(exp, inf, 0, inf) ROW(exp, -inf, 0, 0.0) ROW(exp, -0.0, 0, 1)
        ROW(exp, nan, 0, nan) ROW(exp, 1e308, 0, inf) ROW(exp, -1e308, 0, 0.0)
        ROW(exp2, inf, 0, inf) ROW(exp2, -inf, 0, 0.0) ROW(exp2, other_nan, 0, nan)
        ROW(exp2, -1074, 0, 0x1p-1074) ROW(exp2, -1e300, 0, 0.0) ROW(expm1, -0.0, 0, -0.0)
        ROW(expm1, inf, 0, inf) ROW(expm1, -inf, 0, -1) ROW(expm1, nan, 0, nan)
        ROW(log, 0.0, 0, -inf) ROW(log, -0.0, 0, -inf) ROW(log, 1, 0, 0.0) ROW(log, inf, 0, inf)
        ROW(log, -1, 0, nan) ROW(log, -inf, 0, nan) ROW(log, other_nan, 0, nan) ROW(log2, 1, 0, 0.0)
        ROW(log2, -0.0, 0, -inf) ROW(log2, -1, 0, nan) ROW(log2, inf, 0, inf) ROW(log10, 1, 0, 0.0)
        ROW(log10, 0.0, 0, -inf) ROW(log10, -1, 0, nan) ROW(log10, inf, 0, inf)
        ROW(log1p, -0.0, 0, -0.0) ROW(log1p, -1, 0, -inf) ROW(log1p, -2, 0, nan)
        ROW(log1p, inf, 0, inf) ROW(log1p, nan, 0, nan) ROW(sqrt, -0.0, 0, -0.0)
        ROW(sqrt, -1, 0, nan) ROW(sqrt, inf, 0, inf) ROW(sqrt, -inf, 0, nan)
        ROW(cbrt, -0.0, 0, -0.0) ROW(cbrt, -inf, 0, -inf) ROW(cbrt, nan, 0, nan)
        ROW(hypot, inf, nan, inf) ROW(hypot, nan, -inf, inf) ROW(hypot, nan, 1, nan)
        ROW(hypot, -0.0, 0.0, 0.0) ROW(hypot, -3, 0, 3)
        // clang-format on
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

static void test_special_cases_of_angles(void **state) {
    (void)state;
    const double inf = BURIN_INF, nan = BURIN_NAN, pi = 0x1.921fb54442d18p1;
    const struct row rows[] = {
        // clang-format off
        ROW(sin, -0.0, 0, -0.0) ROW(sin, inf, 0, nan) ROW(sin, -inf, 0, nan) ROW(sin, nan, 0, nan)
        ROW(cos, -0.0, 0, 1) ROW(cos, inf, 0, nan) ROW(cos, -nan, 0, nan) ROW(tan, -0.0, 0, -0.0)
        ROW(tan, -inf, 0, nan) ROW(tan, nan, 0, nan) ROW(sin, 0x1p-1074, 0, 0x1p-1074)
        ROW(asin, -0.0, 0, -0.0) ROW(asin, 1, 0, pi / 2) ROW(asin, -1, 0, -pi / 2)
        ROW(asin, 1.0000000000000002, 0, nan) ROW(asin, -inf, 0, nan) ROW(asin, nan, 0, nan)
        ROW(acos, 1, 0, 0.0) ROW(acos, -1, 0, pi) ROW(acos, 0.0, 0, pi / 2) ROW(acos, -2, 0, nan)
        ROW(acos, nan, 0, nan) ROW(atan, -0.0, 0, -0.0) ROW(atan, inf, 0, pi / 2)
        ROW(atan, -inf, 0, -pi / 2) ROW(atan, -nan, 0, nan) ROW(atan2, 0.0, 0.0, 0.0)
        ROW(atan2, -0.0, 0.0, -0.0) ROW(atan2, 0.0, -0.0, pi) ROW(atan2, -0.0, -0.0, -pi)
        ROW(atan2, 0.0, -1, pi) ROW(atan2, -0.0, -1, -pi) ROW(atan2, -0.0, 1, -0.0)
        ROW(atan2, 1, 0.0, pi / 2) ROW(atan2, -1, -0.0, -pi / 2) ROW(atan2, 1, inf, 0.0)
        ROW(atan2, -1, inf, -0.0) ROW(atan2, 1, -inf, pi) ROW(atan2, -1, -inf, -pi)
        ROW(atan2, inf, -5, pi / 2) ROW(atan2, -inf, 5, -pi / 2) ROW(atan2, inf, inf, pi / 4)
        ROW(atan2, -inf, inf, -pi / 4) ROW(atan2, inf, -inf, 0x1.2d97c7f3321d2p1)
        ROW(atan2, -inf, -inf, -0x1.2d97c7f3321d2p1) ROW(atan2, nan, 1, nan) ROW(atan2, 1, nan, nan)
        ROW(sinh, -0.0, 0, -0.0) ROW(sinh, inf, 0, inf) ROW(sinh, -inf, 0, -inf)
        ROW(sinh, nan, 0, nan) ROW(cosh, -inf, 0, inf) ROW(cosh, 0.0, 0, 1) ROW(cosh, nan, 0, nan)
        ROW(tanh, -0.0, 0, -0.0) ROW(tanh, inf, 0, 1) ROW(tanh, -inf, 0, -1) ROW(tanh, nan, 0, nan)
        ROW(fmin, -0.0, 0.0, -0.0) ROW(fmin, 0.0, -0.0, -0.0) ROW(fmin, nan, 3, 3)
        ROW(fmin, 3, -nan, 3) ROW(fmin, nan, -nan, nan) ROW(fmin, -inf, 2, -inf)
        ROW(fmax, -0.0, 0.0, 0.0) ROW(fmax, 0.0, -0.0, 0.0) ROW(fmax, nan, 3, 3)
        ROW(fmax, 3, nan, 3) ROW(fmax, -nan, nan, nan) ROW(fmod, -0.0, 3, -0.0)
        ROW(fmod, 3, 0.0, nan) ROW(fmod, inf, 3, nan) ROW(fmod, 3, inf, 3) ROW(fmod, -6, 3, -0.0)
        ROW(fmod, nan, 3, nan) ROW(fmod, 0x1p1023, 0x1.8p-1073, 0x1p-1073) ROW(floor, -0.0, 0, -0.0)
        ROW(ceil, -0.5, 0, -0.0) ROW(round, -0.5, 0, -1) ROW(rint, 2.5, 0, 2)
        ROW(rint, -0.5, 0, -0.0) ROW(round, 0x1.fffffffffffffp-2, 0, 0.0) ROW(trunc, -0.9, 0, -0.0)
        ROW(floor, -inf, 0, -inf) ROW(floor, -nan, 0, nan) ROW(rint, -nan, 0, nan)
        ROW(fdim, 3, 5, 0.0) ROW(fdim, 5, 3, 2) ROW(fdim, nan, 3, nan) ROW(fabs, -0.0, 0, 0.0)
        // clang-format on
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

static void same(const char *name, double x, double y, double got, double wanted) {
    if (isnan(got) && isnan(wanted)) return;
    if (burin_bits(got) != burin_bits(wanted))
        fail_msg("%s(%a, %a) is %a, not %a", name, x, y, got, wanted);
}

/* libm's are exact by definition. */
static void test_exact_functions(void **state) {
    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        const double x = exact_set_argument(i), y = exact_set_argument(i / 8 + 77);
        same("floor", x, 0, burin_floor(x), floor(x));
        same("ceil", x, 0, burin_ceil(x), ceil(x));
        same("trunc", x, 0, burin_trunc(x), trunc(x));
        same("round", x, 0, burin_round(x), round(x));
        same("rint", x, 0, burin_rint(x), rint(x));
        same("fabs", x, 0, burin_fabs(x), fabs(x));
        same("copysign", x, y, burin_copysign(x, y), copysign(x, y));
        same("fmod", x, y, burin_fmod(x, y), fmod(x, y));
        if (!isnan(x) && !isnan(y)) { /* libm passes signalling NaN on; -0 and 0 are equal to it */
            assert_true(burin_fmin(x, y) == fmin(x, y));
            assert_true(burin_fmax(x, y) == fmax(x, y));
        }
        same("fdim", x, y, burin_fdim(x, y), fdim(x, y));
        same("sqrt", x, 0, burin_sqrt(x), sqrt(x));
        if (x >= 0x1p-1022 && x < INFINITY)
            same("sqrt by hand", x, 0, burin_sqrt_by_hand(x), sqrt(x));
    }
}

/* Squares, and their neighbours, where the last bit is hardest to get right. */
static void test_sqrt_by_hand_near_squares(void **state) {
    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        const double root = 1 + (double)(exact_set_hash(i) >> 12) * 0x1p-52;
        const double x = root * root;
        for (int j = -1; j <= 1; j++) {
            const double near = burin_from_bits(burin_bits(x) + (uint64_t)j);
            same("sqrt by hand", near, 0, burin_sqrt_by_hand(near), sqrt(near));
        }
    }
}

static void test_integers(void **state) {
    (void)state;
    assert_int_equal(burin_abs(-5), 5);
    assert_int_equal(burin_abs(-2147483647 - 1), -2147483647 - 1);
    assert_true(burin_llabs(-5000000000) == 5000000000);
    assert_true(burin_llround(-2.5) == -3 && burin_llrint(-2.5) == -2);
    assert_true(burin_llround(BURIN_NAN) == INT64_MIN && burin_llrint(1e19) == INT64_MIN);
    assert_true(burin_llround(-0x1p63) == INT64_MIN && burin_llround(0x1p62) == 0x1p62);
}

/* No argument makes a function read outside a table; a sanitized build would report it. */
static void test_any_bits(void **state) {
    (void)state;
    unsigned long long digest = 0;
    for (int function = 0; function < EXACT_SET_FUNCTIONS; function++)
        digest ^= exact_set_digest(function, 20000);
    assert_true(digest != 0);
}

/* Computed in double and rounded once. */
static void test_float_forms(void **state) {
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        const float x = (float)exact_set_argument(i);
        const float wanted = (float)burin_sin((double)x), got = burin_sinf(x);
        assert_true(got == wanted || (isnan(got) && isnan(wanted)));
    }
    assert_int_equal(burin_float_bits(burin_sqrtf(-1)), 0x7fc00000);
    assert_int_equal(burin_float_bits(burin_powf(2, 0.5f)), 0x3fb504f3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounded_values),
        cmocka_unit_test(test_special_cases_of_powers),
        cmocka_unit_test(test_special_cases_of_angles),
        cmocka_unit_test(test_exact_functions),
        cmocka_unit_test(test_sqrt_by_hand_near_squares),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_any_bits),
        cmocka_unit_test(test_float_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
