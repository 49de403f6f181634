// SPDX-License-Identifier: Apache-2.0
/* names.h - the names of C's math.h for the functions of exact_math.h, and their float forms.
 *
 * A float form computes in double and rounds once. The names are macros with arguments: a variable
 * or a field may still be called round. In C++ they hide overloads, so that both languages mean the
 * same function.
 *
 * Used by:  exact_math.h.
 */
#ifndef BURIN_EXACT_MATH_NAMES_H
#define BURIN_EXACT_MATH_NAMES_H

#include "pipeline/skeletons/exact_math/atan.h"
#include "pipeline/skeletons/exact_math/log.h"
#include "pipeline/skeletons/exact_math/round.h"
#include "pipeline/skeletons/exact_math/trig.h"

#define BURIN_MATH_FLOAT_1(name)                                                                   \
    BURIN_MATH_FN float burin_##name##f(float x) {                                                 \
        return burin_to_float(burin_##name((double)x));                                            \
    }
#define BURIN_MATH_FLOAT_2(name)                                                                   \
    BURIN_MATH_FN float burin_##name##f(float x, float y) {                                        \
        return burin_to_float(burin_##name((double)x, (double)y));                                 \
    }

BURIN_MATH_FLOAT_1(exp)
BURIN_MATH_FLOAT_1(exp2)
BURIN_MATH_FLOAT_1(expm1)
BURIN_MATH_FLOAT_1(log)
BURIN_MATH_FLOAT_1(log2)
BURIN_MATH_FLOAT_1(log10)
BURIN_MATH_FLOAT_1(log1p)
BURIN_MATH_FLOAT_1(sin)
BURIN_MATH_FLOAT_1(cos)
BURIN_MATH_FLOAT_1(tan)
BURIN_MATH_FLOAT_1(asin)
BURIN_MATH_FLOAT_1(acos)
BURIN_MATH_FLOAT_1(atan)
BURIN_MATH_FLOAT_1(sinh)
BURIN_MATH_FLOAT_1(cosh)
BURIN_MATH_FLOAT_1(tanh)
BURIN_MATH_FLOAT_1(sqrt)
BURIN_MATH_FLOAT_1(cbrt)
BURIN_MATH_FLOAT_1(floor)
BURIN_MATH_FLOAT_1(ceil)
BURIN_MATH_FLOAT_1(trunc)
BURIN_MATH_FLOAT_1(round)
BURIN_MATH_FLOAT_1(rint)
BURIN_MATH_FLOAT_1(fabs)
BURIN_MATH_FLOAT_2(pow)
BURIN_MATH_FLOAT_2(atan2)
BURIN_MATH_FLOAT_2(hypot)
BURIN_MATH_FLOAT_2(fmod)
BURIN_MATH_FLOAT_2(fmin)
BURIN_MATH_FLOAT_2(fmax)
BURIN_MATH_FLOAT_2(fdim)
BURIN_MATH_FLOAT_2(copysign)

#ifndef BURIN_MATH_NO_NAMES

/* A header of the compiler may have defined these as macros. */
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#undef NAN
#undef INFINITY
#undef HUGE_VAL
#undef HUGE_VALF
#undef M_PI
#undef M_PI_2
#undef M_PI_4
#undef M_1_PI
#undef M_2_PI
#undef M_E
#undef M_LN2
#undef M_LN10
#undef M_LOG2E
#undef M_LOG10E
#undef M_SQRT2
#undef M_SQRT1_2

#define exp(x)          burin_exp(x)
#define expf(x)         burin_expf(x)
#define exp2(x)         burin_exp2(x)
#define exp2f(x)        burin_exp2f(x)
#define expm1(x)        burin_expm1(x)
#define expm1f(x)       burin_expm1f(x)
#define log(x)          burin_log(x)
#define logf(x)         burin_logf(x)
#define log2(x)         burin_log2(x)
#define log2f(x)        burin_log2f(x)
#define log10(x)        burin_log10(x)
#define log10f(x)       burin_log10f(x)
#define log1p(x)        burin_log1p(x)
#define log1pf(x)       burin_log1pf(x)
#define sin(x)          burin_sin(x)
#define sinf(x)         burin_sinf(x)
#define cos(x)          burin_cos(x)
#define cosf(x)         burin_cosf(x)
#define tan(x)          burin_tan(x)
#define tanf(x)         burin_tanf(x)
#define asin(x)         burin_asin(x)
#define asinf(x)        burin_asinf(x)
#define acos(x)         burin_acos(x)
#define acosf(x)        burin_acosf(x)
#define atan(x)         burin_atan(x)
#define atanf(x)        burin_atanf(x)
#define sinh(x)         burin_sinh(x)
#define sinhf(x)        burin_sinhf(x)
#define cosh(x)         burin_cosh(x)
#define coshf(x)        burin_coshf(x)
#define tanh(x)         burin_tanh(x)
#define tanhf(x)        burin_tanhf(x)
#define sqrt(x)         burin_sqrt(x)
#define sqrtf(x)        burin_sqrtf(x)
#define cbrt(x)         burin_cbrt(x)
#define cbrtf(x)        burin_cbrtf(x)
#define floor(x)        burin_floor(x)
#define floorf(x)       burin_floorf(x)
#define ceil(x)         burin_ceil(x)
#define ceilf(x)        burin_ceilf(x)
#define trunc(x)        burin_trunc(x)
#define truncf(x)       burin_truncf(x)
#define round(x)        burin_round(x)
#define roundf(x)       burin_roundf(x)
#define rint(x)         burin_rint(x)
#define rintf(x)        burin_rintf(x)
#define fabs(x)         burin_fabs(x)
#define fabsf(x)        burin_fabsf(x)
#define nearbyint(x)    burin_rint(x)
#define nearbyintf(x)   burin_rintf(x)
#define pow(x, y)       burin_pow(x, y)
#define powf(x, y)      burin_powf(x, y)
#define atan2(x, y)     burin_atan2(x, y)
#define atan2f(x, y)    burin_atan2f(x, y)
#define hypot(x, y)     burin_hypot(x, y)
#define hypotf(x, y)    burin_hypotf(x, y)
#define fmod(x, y)      burin_fmod(x, y)
#define fmodf(x, y)     burin_fmodf(x, y)
#define fmin(x, y)      burin_fmin(x, y)
#define fminf(x, y)     burin_fminf(x, y)
#define fmax(x, y)      burin_fmax(x, y)
#define fmaxf(x, y)     burin_fmaxf(x, y)
#define fdim(x, y)      burin_fdim(x, y)
#define fdimf(x, y)     burin_fdimf(x, y)
#define copysign(x, y)  burin_copysign(x, y)
#define copysignf(x, y) burin_copysignf(x, y)
#define abs(x)          burin_abs(x)
#define labs(x)         ((long)burin_llabs(x))
#define llabs(x)        burin_llabs(x)
#define lround(x)       ((long)burin_llround(x))
#define lroundf(x)      ((long)burin_llround(x))
#define llround(x)      burin_llround(x)
#define llroundf(x)     burin_llround(x)
#define lrint(x)        ((long)burin_llrint(x))
#define lrintf(x)       ((long)burin_llrint(x))
#define llrint(x)       burin_llrint(x)
#define llrintf(x)      burin_llrint(x)

#define isnan(x)    burin_is_nan(x)
#define isinf(x)    (burin_fabs(x) == BURIN_INF)
#define isfinite(x) burin_is_finite(x)
#define signbit(x)  (burin_bits(x) >> 63 != 0)
#define NAN         ((float)BURIN_NAN)
#define INFINITY    ((float)BURIN_INF)
#define HUGE_VAL    BURIN_INF
#define HUGE_VALF   ((float)BURIN_INF)
#define M_PI        0x1.921fb54442d18p+1
#define M_PI_2      0x1.921fb54442d18p+0
#define M_PI_4      0x1.921fb54442d18p-1
#define M_1_PI      0x1.45f306dc9c883p-2
#define M_2_PI      0x1.45f306dc9c883p-1
#define M_E         0x1.5bf0a8b145769p+1
#define M_LN2       0x1.62e42fefa39efp-1
#define M_LN10      0x1.26bb1bbb55516p+1
#define M_LOG2E     0x1.71547652b82fep+0
#define M_LOG10E    0x1.bcb7b1526e50ep-2
#define M_SQRT2     0x1.6a09e667f3bcdp+0
#define M_SQRT1_2   0x1.6a09e667f3bcdp-1

#endif

#endif
