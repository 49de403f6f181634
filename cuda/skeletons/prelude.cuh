// SPDX-License-Identifier: Apache-2.0
/* prelude.cuh - the text before a user's operator in the source of its kernel: names that C has and
 * C++ lacks, or whose headers do not exist there.
 *
 * Used by:  kernel_source.c, as text, behind the skeleton's and before exact_math.h's.
 */
#ifndef BURIN_KERNEL_PRELUDE_CUH
#define BURIN_KERNEL_PRELUDE_CUH

#include "cuda/skeletons/user_function.cuh"
#include "pipeline/skeletons/twin/limits.h"

#define _Bool bool

#endif
