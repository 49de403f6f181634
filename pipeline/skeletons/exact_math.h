// SPDX-License-Identifier: Apache-2.0
/* exact_math.h - the functions of C's math.h, with the same bits from every compiler.
 *
 * gcc, clang, tcc, nvcc and NVRTC compile this one source, for CPU and GPU. Only +, -, *, / and
 * sqrt of IEEE 754 doubles, integers and exact conversions are used, so no result depends on the
 * library of a compiler or a machine, provided that the compiler does not contract a * b + c into
 * one operation: gcc and clang need -ffp-contract=off, nvcc and NVRTC --fmad=false. With
 * -fno-math-errno -fno-trapping-math, which change no result, gcc vectorizes loops that call these
 * functions, except sin, cos, tan and fmod. Nothing of libc or libm is called or included. Only the
 * #include lines of the parts refer to files, so the parts in this order, without those lines, are
 * one source.
 *
 * The largest errors found, in units of a result's last bit (ulp; 0.5 is correct rounding), over 20
 * million arguments each of all sizes by tests/bench/exact_math.c:
 *
 *   exp   0.5001   exp2  0.5001   expm1 0.5052   log   0.5001   log2  0.5001   log10 0.5001
 *   log1p 0.5001   sin   0.5046   cos   0.5049   tan   0.5069   asin  0.5010   acos  0.5008
 *   atan  0.5007   sinh  0.5039   cosh  0.5001   tanh  0.5040   sqrt  0.5000   cbrt  0.5001
 *   pow   0.5035   atan2 0.5008   hypot 0.5001
 *
 *   floor ceil trunc round rint nearbyint fmod fmin fmax fdim fabs copysign   exact
 *
 * This includes results below the least normal number and sin, cos, tan of any argument. Float
 * forms (expf ...) round the double result once more. The names are macros, so no header of the
 * compiler may follow. min and max, which C lacks, are left to the user. Special cases are those of
 * C's Annex F: signed zeros, infinities, NaN outside of the domain. A returned NaN has the bits
 * 7ff8000000000000, except from fabs and copysign. No errno.
 *
 * Used by:  compiled users' operators, on both devices.
 * Fails:    never.
 * Threads:  any.
 * Limits:   rounding to nearest, subnormal numbers not flushed to 0; 5 KB of tables.
 */
#ifndef BURIN_EXACT_MATH_H
#define BURIN_EXACT_MATH_H

/* The parts, in the order in which their texts may follow each other. */
// clang-format off
#include "pipeline/skeletons/exact_math/base.h"
#include "pipeline/skeletons/exact_math/round.h"
#include "pipeline/skeletons/exact_math/root.h"
#include "pipeline/skeletons/exact_math/exp.h"
#include "pipeline/skeletons/exact_math/log.h"
#include "pipeline/skeletons/exact_math/trig.h"
#include "pipeline/skeletons/exact_math/atan.h"
#include "pipeline/skeletons/exact_math/names.h"
// clang-format on

#endif
