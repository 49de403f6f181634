// SPDX-License-Identifier: Apache-2.0
/* kernel_chain.h - the steps of a plan that run as one kernel, and whether that kernel is ready.
 *
 * No job waits for the compiler: until the kernel of a chain is ready, its steps run one by one. A
 * chain that is requested for the second time is compiled in a thread beside the jobs.
 *
 * Used by:  user_twin.cu; device_cuda.cu, before a process may end.
 * Owns:     the list of chains, for the life of the process.
 * Fails:    a chain that does not compile never becomes ready.
 * Threads:  any; one more makes kernels while some are wanted.
 * Limits:   KERNEL_CHAINS_MAX: later chains are never made, so that clients who try all orders of
 *           steps do not fill the memory. A chain has KERNEL_OPS_MAX operators.
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
    struct kernel_form form; /* of at least two operators */
    int device, capability;  /* the device's number; 90 for 9.0 */
    /* Makes the kernel, which then is in kernel_library; called in the thread beside the jobs. */
    bool (*make)(const struct kernel_chain_request *request);
};

/* The length of the chain that begins OPS, the next COUNT operators of a plan: P2Ps, and an N2P
 * behind them. 1: none. */
int kernel_chain_length(const struct user_op *const *ops, int count);

/* The name of the chain's kernel, "first+second", a constant, once it is made; NULL before. */
const char *kernel_chain_ask(const struct kernel_chain_request *request);

/* Waits until no kernel is being made: a process must not end inside the compiler. */
void kernel_chain_wait(void);

#ifdef __cplusplus
}
#endif
#endif
