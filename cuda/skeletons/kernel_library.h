// SPDX-License-Identifier: Apache-2.0
/* kernel_library.h - kernels that are compiled at run time: taken from memory, else from the cache
 * on disk, else made from their source.
 *
 * Used by:  user_twin.cu; server/user_operators.c and bench/skeletons.c.
 * Owns:     loaded kernels, for the life of the process.
 * Fails:    STATUS_INTERNAL where a kernel does not compile, with the compiler's first message, or
 *           where the driver refuses it: later requests get the same without another try.
 *           STATUS_BAD_PARAM without libnvrtc; else as the loader says.
 * Threads:  any. One makes a kernel, and others that want the same one wait for it.
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

/* Makes a kernel called NAME ready to be launched on the current device. CODE is a cubin or PTX and
 * ends with NUL after its BYTES. */
typedef enum status (*kernel_load)(const void *code, size_t bytes, const char *name, void **kernel,
                                   struct failure *failure);

struct kernel_request {
    const void *identity; /* distinguishes this kernel from all others; compared as bytes */
    size_t identity_bytes;
    int capability;   /* of the device: 90 for 9.0 */
    const char *name; /* in messages: the operator's */
    const char *file; /* in the compiler's messages: the user's */
    /* Returns CUDA C with the kernel KERNEL_NAME, which the library frees; called only if the
     * kernel is not in memory. NULL: no memory for it. */
    char *(*source)(const void *identity);
    kernel_load load;
};

/* Unused bytes of the identity must be zero. KERNEL: a cudaKernel_t. */
enum status kernel_library_find(const struct kernel_request *request, void **kernel,
                                struct failure *failure);

/* Kernels made from now on are kept in FOLDER and looked for there. NULL, the initial value: none
 * are. The path is copied. */
void kernel_library_keep_in(const char *folder);

/* Empties the memory of kernels, for a benchmark of the cache. No other thread may use the library
 * meanwhile; loaded kernels stay loaded. */
void kernel_library_forget(void);

#ifdef __cplusplus
}
#endif
#endif
