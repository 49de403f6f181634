// SPDX-License-Identifier: Apache-2.0
/* run_report.h - what `burin run` says when it is done: values and notes, or all of it as JSON.
 *
 * Used by:  command_run.c.
 * Owns:     nothing.
 * Threads:  one.
 */
#ifndef BURIN_RUN_REPORT_H
#define BURIN_RUN_REPORT_H

#include "server/cli/run_state.h"

/* To standard output, unless the image goes there. */
void run_report_print(const struct run_state *state);

#endif
