// SPDX-License-Identifier: Apache-2.0
/* builtin_ops.h - the operators that the program was built with.
 *
 * The Makefile lists the files of pipeline/ops/ in alphabetical order.
 *
 * Used by:  op_set.c, resize.c, placeholder.h and tests.
 * Threads:  any; constants.
 */
#ifndef BURIN_BUILTIN_OPS_H
#define BURIN_BUILTIN_OPS_H

#include "pipeline/op.h"

#ifdef __cplusplus
extern "C" {
#endif

int builtin_op_count(void);
const struct op *builtin_op_at(int index); /* INDEX is below that count */
/* NULL: there is none of that name. */
const struct op *builtin_op_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
