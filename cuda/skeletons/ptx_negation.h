// SPDX-License-Identifier: Apache-2.0
/* ptx_negation.h - negations that ptxas cannot merge into a minimum or maximum, since it does so
 * wrongly.
 *
 * ptxas of CUDA 12.8 to 13.3 makes one VIMNMX3 of two minima or maxima, and loses the sign of an
 * operand that is a negation: seen here with 13.0 on compute capability 9.0 for -min(-a, -b), and
 * by others for max(x, -x) (https://github.com/pytorch/pytorch/issues/190973). A subtraction from a
 * zero in constant memory costs the same and is left alone.
 *
 * Used by:  nvrtc.c.
 * Owns:     the caller frees the text.
 * Fails:    NULL without memory.
 * Threads:  any; no state.
 */
#ifndef BURIN_PTX_NEGATION_H
#define BURIN_PTX_NEGATION_H

/* PTX with each 32-bit negation replaced. */
char *ptx_negation_hide(const char *ptx);

#endif
