// SPDX-License-Identifier: Apache-2.0
/* kernel_chain.h - which of a plan's steps are one kernel, and whether that kernel is there yet.
 *
 * No job waits for the compiler: until the kernel of a chain is ready, its steps run one by one. A
 * chain that is seen for the second time is compiled in a thread beside the jobs.
 *
 * Used by:  user_twin.cu; device_cuda.cu, before a process may end.
 * Owns:     what it knows of chains, which stays as long as the process.
 * Fails:    a chain that does not compile is never told to be ready.
 * Threads:  any; one more makes kernels while there are any to make.
 * Limits:   KERNEL_CHAINS_MAX: those that come later are never made, so that clients who try all
 *           orders of steps do not fill the memory. A chain has KERNEL_OPS_MAX operators.
 */
#ifndef BURIN_KERNEL_CHAIN_H
#define BURIN_KERNEL_CHAIN_H

#include "cuda/skeletons/kernel_source.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KERNEL_CHAINS_MAX = 64 };

struct kernel_chain_request {
    struct kernel_form form; /* of two operators at least */
    int device, capability;  /* its number; 90 for 9.0 */
    /* Makes the kernel, so that it is at hand from then on; in the thread beside the jobs. */
    bool (*make)(const struct kernel_chain_request *request);
};

/* How many of the first of OPS, the next COUNT operators of a plan, are one chain: P2Ps, and an N2P
 * behind them. 1: none. */
int kernel_chain_length(const struct user_op *const *ops, int count);

/* The name of the chain's kernel, "first+second", a constant, once it is made. NULL until then. */
const char *kernel_chain_ask(const struct kernel_chain_request *request);

/* Until nothing is being made: before a process ends, which must not happen inside the compiler. */
void kernel_chain_wait(void);

#ifdef __cplusplus
}
#endif
#endif
