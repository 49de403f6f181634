// SPDX-License-Identifier: Apache-2.0
/* builtin_ops.h - the operators that the program was built with.
 *
 * The Makefile makes the list of the files of pipeline/ops/, in the alphabet's order.
 *
 * Used by:  op_set.c, and whoever counts or walks those alone.
 * Threads:  any; constants.
 */
#ifndef BURIN_BUILTIN_OPS_H
#define BURIN_BUILTIN_OPS_H

#include "pipeline/op.h"

#ifdef __cplusplus
extern "C" {
#endif

int builtin_op_count(void);
const struct op *builtin_op_at(int index); /* below that count */

#ifdef __cplusplus
}
#endif
#endif
