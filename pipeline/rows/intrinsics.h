// SPDX-License-Identifier: Apache-2.0
/* intrinsics.h - the vector instructions themselves, apart from simd.h: their declarations take the
 * compiler half a second, and a choice between kernels needs none.
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
