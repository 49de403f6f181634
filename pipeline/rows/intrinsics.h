// SPDX-License-Identifier: Apache-2.0
/* intrinsics.h - the vector instructions, separate from simd.h: their declarations cost the
 * compiler half a second, and code that only chooses a kernel does not need them.
 *
 * Used by:  the kernels of pipeline/rows/ and pipeline/ops/ that are written in them.
 */
#ifndef BURIN_INTRINSICS_H
#define BURIN_INTRINSICS_H

#include "pipeline/rows/simd.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#endif
