// SPDX-License-Identifier: Apache-2.0
/* privileges.h - what a process may do beyond its user: given up for good.
 *
 * Used by:  sandbox.c; process/launcher.c.
 * Fails:    privileges_drop: false where the system keeps some of them; errno says why.
 * Threads:  it holds for the calling thread, and for threads and processes that it starts later: so
 *           before there are others.
 */
#ifndef BURIN_PRIVILEGES_H
#define BURIN_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

/* No new privileges by exec, and no capabilities but those of KEPT, a bit for each number of
 * <linux/capability.h>; not for what is started by exec either. Who had none keeps none. */
bool privileges_drop(uint64_t kept);

#endif
