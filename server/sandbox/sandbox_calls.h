// SPDX-License-Identifier: Apache-2.0
/* sandbox_calls.h - which system calls each kind of process may make.
 *
 * The lists are made from the calls that the daemon makes under its tests, and those that the C
 * library may make instead.
 *
 * A process that runs users' operators on a CPU is confined further, with `sandbox` on or off, to
 * memory, waiting, clocks and open descriptors: it opens no file, starts no program, makes no
 * socket and gets no executable memory. A decoding cell gets less again: it reads and writes open
 * descriptors, waits for them, takes and returns memory, and ends. Other calls fail with EPERM. A
 * GPU's driver needs more calls than can be listed: beside it only limits hold, no core dump and no
 * new privileges.
 *
 * Used by:  sandbox.c; worker/worker.c and worker/decoding_cell.c confine their process once all
 *           its threads run.
 * Fails:    sandbox_calls_enter as syscall_filter_enter. sandbox_calls_confine: STATUS_INTERNAL
 *           where the system refuses. A kernel without such filters, or a processor for which there
 *           are no lists (not x86-64 or AArch64), is logged, and only the limits hold.
 * Threads:  any; both hold for all threads of the process.
 */
#ifndef BURIN_SANDBOX_CALLS_H
#define BURIN_SANDBOX_CALLS_H

#include "pipeline/status.h"
#include "server/sandbox/sandbox.h"

#include <sys/types.h>

/* CHILD: the only process that it may kill; 0: none. */
int sandbox_calls_enter(enum sandbox_role role, pid_t child);

enum confined_work { CONFINED_CPU, CONFINED_GPU, CONFINED_CELL };

enum status sandbox_calls_confine(enum confined_work work, struct failure *failure);

#endif
