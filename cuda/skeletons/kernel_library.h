// SPDX-License-Identifier: Apache-2.0
/* kernel_library.h - kernels that are compiled while the program runs: taken from memory, else from
 * the cache on disk, else made of their source.
 *
 * Used by:  user_twin.cu; server/user_operators.c and bench/skeletons.c.
 * Owns:     loaded kernels, which stay as long as the process.
 * Fails:    STATUS_INTERNAL where a kernel does not compile, with the compiler's first message, or
 *           where the driver refuses it: told again without another try. STATUS_BAD_PARAM where
 *           there is no libnvrtc, else as the loader says.
 * Threads:  any. One makes a kernel, others that want the same one wait; nobody else does.
 * Limits:   KERNEL_IDENTITY_MAX.
 */
#ifndef BURIN_KERNEL_LIBRARY_H
#define BURIN_KERNEL_LIBRARY_H

#include "pipeline/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KERNEL_IDENTITY_MAX = 256 };

/* Makes a kernel called NAME of CODE, which is a cubin or PTX and ends with NUL behind its BYTES,
 * ready to be launched on the current device. */
typedef enum status (*kernel_load)(const void *code, size_t bytes, const char *name, void **kernel,
                                   struct failure *failure);

struct kernel_request {
    const void *identity; /* what tells this kernel from all others, bytes that are compared */
    size_t identity_bytes;
    int capability;   /* of the device: 90 for 9.0 */
    const char *name; /* in messages: the operator's */
    const char *file; /* in the compiler's messages: the user's */
    /* CUDA C with the kernel KERNEL_NAME, which is freed. Asked for only if the kernel is not in
     * memory. NULL: there is no memory for it. */
    char *(*source)(const void *identity);
    kernel_load load;
};

/* With unused bytes of the identity zeroed. KERNEL: a cudaKernel_t. */
enum status kernel_library_find(const struct kernel_request *request, void **kernel,
                                struct failure *failure);

/* Kernels that are made from now on are kept in FOLDER and looked for there. NULL, as at first:
 * nothing is kept. The path is copied. */
void kernel_library_keep_in(const char *folder);

/* The next request for each kernel meets an empty memory: a benchmark of the cache. No other thread
 * may use the library meanwhile; what was loaded stays loaded. */
void kernel_library_forget(void);

#ifdef __cplusplus
}
#endif
#endif
