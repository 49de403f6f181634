// SPDX-License-Identifier: Apache-2.0
/* shared_object.h - examines a compiled file of operators before dlopen.
 *
 * dlopen runs a shared object's constructors, its IFUNC resolvers, and those of the libraries it
 * needs. A user's file may have none of them: its code may only run in a sandbox, behind the filter
 * of system calls. Nor may it have a variable that keeps its value, which would carry data from one
 * client to the next.
 *
 * Used by:  twin_library.c.
 * Fails:    a file that cannot be read is refused.
 * Threads:  any.
 * Limits:   SHARED_OBJECT_BYTES_MAX.
 * Source:   System V gABI, chapter 5, "Dynamic Linking"; glibc's elf/dl-load.c and elf/dl-init.c
 */
#ifndef BURIN_SHARED_OBJECT_H
#define BURIN_SHARED_OBJECT_H

#include <stdbool.h>

enum { SHARED_OBJECT_BYTES_MAX = 32 << 20, SHARED_OBJECT_NAME_MAX = 64 };

/* Returns why the file at PATH may not be loaded; NULL: loading it runs none of its code. VARIABLE
 * receives the name of a variable that keeps its value, if that is the reason and the name is
 * known; else "". */
const char *shared_object_refusal(const char *path, char variable[SHARED_OBJECT_NAME_MAX]);

/* Makes every writable page of LIBRARY, a handle of dlopen, read-only, because not all compilers
 * separate variables from constants. Returns false if the system refuses. */
bool shared_object_seal(void *library);

#endif
