// SPDX-License-Identifier: Apache-2.0
/* function_object.h - a user's function as C++ passes it to a skeleton: a struct that holds the
 * operator's parameters and whose operator() calls the function.
 *
 * Used by:  kernel_source.c, convert_gpu.c.
 * Owns:     nothing.
 * Threads:  any; no state.
 */
#ifndef BURIN_FUNCTION_OBJECT_H
#define BURIN_FUNCTION_OBJECT_H

#include "pipeline/skeletons/user_op.h"

#include <stdio.h>

/* Writes struct NAME for images of DEPTH bits. Its one member is burin_p: the operator's struct, or
 * burin_nothing. */
void function_object_write(FILE *out, const char *name, const struct user_op *op, int depth);

#endif
