// SPDX-License-Identifier: Apache-2.0
/* confinement.h - what a process that runs users' operators may still do: compute.
 *
 * On a CPU a filter of system calls is left with memory, threads' waiting, clocks, and descriptors
 * that are open already: no file is opened, no program started, no socket made, no memory becomes
 * executable. All else fails with EPERM. A GPU's driver needs more than can be listed: there only
 * the limits hold, no core dump and no new privileges.
 *
 * Used by:  worker.c, in a sandbox, once all its threads run.
 * Fails:    STATUS_INTERNAL where the system refuses. Where the kernel has no such filters, or the
 *           list was made for other processors (x86-64, AArch64), that is logged, and the limits
 *           hold alone.
 * Threads:  any; it holds for all threads of the process.
 */
#ifndef BURIN_CONFINEMENT_H
#define BURIN_CONFINEMENT_H

#include "pipeline/status.h"

#include <stdbool.h>

enum status confinement_enter(bool gpu, struct failure *failure);

#endif
