// SPDX-License-Identifier: Apache-2.0
/* kernel_compiler.h - compiles CUDA source for a GPU: to a cubin, or to PTX that the driver
 * compiles.
 *
 * NVRTC makes PTX, which nvrtc.c rewrites, libnvJitLink makes the cubin. Without libnvJitLink,
 * or where it is older than libnvrtc, the code is the PTX.
 *
 * Used by:  kernel_library.c, `burin bench skeletons`.
 * Owns:     the caller releases code, frees keys.
 * Fails:    kernel_compiler_compile returns false, with the reason in the log.
 * Threads:  any.
 */
#ifndef BURIN_KERNEL_COMPILER_H
#define BURIN_KERNEL_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kernel_code {
    char *bytes; /* followed by NUL; NULL after a failure */
    size_t size;
    bool ptx;
    char *log; /* the compiler's messages; NULL: none, or no memory */
};

/* CAPABILITY: 90 for 9.0. FILE: its name in messages. */
bool kernel_compiler_compile(const char *source, const char *file, int capability,
                             struct kernel_code *code);

void kernel_code_release(struct kernel_code *code);

/* 1000 * major + 10 * minor of libnvJitLink; 0 where it is missing. */
int nvjitlink_version(void);

/* All inputs of SOURCE's compilation as text, with the versions of libraries and of this program.
 * NULL without memory. */
char *kernel_compiler_key(const char *source, int capability);

#ifdef __cplusplus
}
#endif
#endif
