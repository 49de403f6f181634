// SPDX-License-Identifier: Apache-2.0
/* nvjitlink.h - PTX to a cubin, by NVIDIA's libnvJitLink where it is.
 *
 * Used by:  kernel_compiler.c.
 * Owns:     the caller frees the cubin.
 * Fails:    NULL: the library is not there, or does not accept the PTX.
 * Threads:  any.
 * Source:   nvJitLink 13: its documentation.
 */
#ifndef BURIN_NVJITLINK_H
#define BURIN_NVJITLINK_H

#include <stddef.h>

/* 1000 * major + 10 * minor, 0 where the library is not there. */
int nvjitlink_version(void);

/* CAPABILITY: 90 for 9.0. NUL stands behind the cubin's SIZE bytes. */
char *nvjitlink_compile(const char *ptx, int capability, size_t *size);

#endif
