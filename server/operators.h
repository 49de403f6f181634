// SPDX-License-Identifier: Apache-2.0
/* operators.h - users' operators as the commands load them: mistakes go to standard error.
 *
 * Used by:  command_check.c, command_convert.c, command_ops.c, run_options.c.
 * Fails:    operators_load: STATUS_BAD_PARAM where the folder cannot be used.
 * Threads:  at start, before there are any.
 */
#ifndef BURIN_OPERATORS_H
#define BURIN_OPERATORS_H

#include "pipeline/skeletons/operators_dir.h"

struct operators_options operators_options_default(void);

/* Every file of PATH; NULL: nothing is loaded. */
enum status operators_load(const char *path, struct failure *failure);

#endif
