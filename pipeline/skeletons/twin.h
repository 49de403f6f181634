// SPDX-License-Identifier: Apache-2.0
/* twin.h - a user's operator run on the CPU, its image shared out in bands of rows.
 *
 * Used by:  operators_dir.c, server/user_operators.c and burin-bench, which put these functions
 *           into a file's records.
 * Owns:     nothing.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE, STATUS_INTERNAL.
 * Threads:  those of op.h.
 */
#ifndef BURIN_TWIN_H
#define BURIN_TWIN_H

#include "pipeline/skeletons/user_op.h"

/* Sets run, scratch and values of every operator of FILE, whose library is loaded. */
void twin_fill(struct user_file *file);

#endif
