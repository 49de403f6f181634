// SPDX-License-Identifier: Apache-2.0
/* exact_math.h - the functions of C's math.h, to the same bits whoever compiles them.
 *
 * gcc, clang, tcc, nvcc and NVRTC compile this one source, for CPU and GPU. Only +, -, *, / and
 * sqrt of IEEE 754 doubles, integers and exact conversions are used, so that nothing depends on a
 * compiler's or a machine's library, as long as the compiler does not contract a * b + c into one
 * operation: gcc and clang need -ffp-contract=off, nvcc and NVRTC --fmad=false. With
 * -fno-math-errno -fno-trapping-math, which change no result, gcc vectorizes loops that call them,
 * sin, cos, tan and fmod excepted.
 * Nothing of libc or libm is called or included; no text here but the #include lines of the parts
 * refers to a file, so the parts in this order, those lines left out, are one source.
 *
 * The largest errors found, in units of a result's last bit (ulp; 0.5 is correct rounding), over
 * 20 million arguments each of all sizes by tests/bench/exact_math.c:
 *
 *   exp   0.5001   exp2  0.5001   expm1 0.5052   log   0.5001   log2  0.5001   log10 0.5001
 *   log1p 0.5001   sin   0.5046   cos   0.5049   tan   0.5069   asin  0.5010   acos  0.5008
 *   atan  0.5007   sinh  0.5039   cosh  0.5001   tanh  0.5040   sqrt  0.5000   cbrt  0.5001
 *   pow   0.5035   atan2 0.5008   hypot 0.5001
 *
 *   floor ceil trunc round rint nearbyint fmod fmin fmax fdim fabs copysign   exact
 *
 * That holds for results below the least normal number and for sin, cos, tan of any argument.
 * Float forms (expf ...) round the double result once more. The names are macros: no header of the
 * compiler's can follow. min and max, which C has not, are left to the user.
 * Special cases are those of C's Annex F: signed zeros, infinities, NaN outside of the domain.
 * A NaN that is returned has the bits 7ff8000000000000, but for fabs and copysign. No errno.
 *
 * Used by:  compiled users' operators, on both devices.
 * Fails:    never.
 * Threads:  any.
 * Limits:   rounding to nearest, subnormal numbers not flushed to 0; 5 KB of tables.
 */
#ifndef BURIN_EXACT_MATH_H
#define BURIN_EXACT_MATH_H

/* In the order in which their texts may follow each other. */
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
