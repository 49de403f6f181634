// SPDX-License-Identifier: Apache-2.0
/* exact_math.h - the functions of C's math.h, to the same bits whoever compiles them.
 *
 * gcc, clang, tcc, nvcc and NVRTC compile this one source, for CPU and GPU. Only +, -, *, / and
 * sqrt of IEEE 754 doubles, integers and exact conversions are used, so that nothing depends on a
 * compiler's or a machine's library, as long as the compiler does not contract a * b + c into one
 * operation: gcc and clang need -ffp-contract=off, nvcc and NVRTC --fmad=false. Without
 * -fno-math-errno sqrt is an instruction written by hand, which keeps loops from being vectorized.
 * Nothing of libc or libm is called or included; no text here but the #include lines of the parts
 * refers to a file, so the parts in this order, those lines left out, are one source.
 *
 * The largest errors found, in units of a result's last bit (ulp; 0.5 is correct rounding), over
 * 5 million arguments each of all sizes by tests/bench/exact_math.c:
 *
 *   exp   0.500   exp2  0.500   expm1 0.504   log   0.500   log2  0.500   log10 0.500
 *   log1p 0.500   sin   0.504   cos   0.504   tan   0.504   asin  0.500   acos  0.500
 *   atan  0.500   sinh  0.502   cosh  0.500   tanh  0.502   sqrt  0.500   cbrt  0.500
 *   pow   0.501   atan2 0.501   hypot 0.500
 *
 *   sqrt floor ceil trunc round rint nearbyint fmod fmin fmax fdim fabs copysign   exact
 *
 * That holds for results below the least normal number and for sin, cos, tan of any argument.
 * Float forms (expf ...) round the double result once more.
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
