// SPDX-License-Identifier: Apache-2.0
/* wait.cuh - how long a thread waits for another block before its kernel gives up.
 *
 * Used by:  every kernel whose blocks wait for one another: histeq's and carve's.
 * Fails:    wait_again() traps when the bound is reached: the kernel ends, the batch fails with
 *           STATUS_DEVICE and check.cuh's sentence, and the worker is started again.
 * Threads:  one count for each waiting thread (or warp, whose lanes look together).
 * Limits:   the bounds count looks, not time: a kernel that is slowed down as a whole (a profiler,
 *           a sanitizer, another process's time slice) does not run into them. Each is 5 s or more
 *           of looking; what is waited for takes milliseconds at most.
 */
#ifndef BURIN_WAIT_CUH
#define BURIN_WAIT_CUH

#include <cuda_runtime.h>

#include <stdint.h>

/* Looks at a word of global memory take 150 ns at least, at shared memory 20 ns. A test, or a
 * benchmark that tells which wait it was, defines its own. */
#ifndef WAIT_LOOKS_MAX
#define WAIT_LOOKS_MAX        (1u << 25)
#define WAIT_SHARED_LOOKS_MAX (1u << 28)
#endif

/* Call after each look in vain; LOOKS starts at 0. */
static __device__ __forceinline__ void wait_again(uint32_t &looks, uint32_t most = WAIT_LOOKS_MAX) {
    if (++looks >= most) __trap();
}

#endif
