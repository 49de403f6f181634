// SPDX-License-Identifier: Apache-2.0
/* shared_object.h - a compiled file of operators, looked at before dlopen.
 *
 * dlopen runs what a shared object names as its constructors, as functions that choose another
 * (IFUNC), and as those of the libraries it needs. A user's file may have none of them: its code is
 * run in a sandbox alone, behind the filter of system calls. Nor may it have a variable that keeps
 * its value: that would be one client's, and another's next.
 *
 * Used by:  twin_library.c.
 * Fails:    whatever cannot be read is refused.
 * Threads:  any.
 * Limits:   SHARED_OBJECT_BYTES_MAX.
 * Source:   System V gABI, chapter 5, "Dynamic Linking"; glibc's elf/dl-load.c and elf/dl-init.c
 */
#ifndef BURIN_SHARED_OBJECT_H
#define BURIN_SHARED_OBJECT_H

#include <stdbool.h>

enum { SHARED_OBJECT_BYTES_MAX = 32 << 20, SHARED_OBJECT_NAME_MAX = 64 };

/* Why the file at PATH may not be loaded; NULL: no code of it runs when it is. VARIABLE: the name
 * of the one that keeps its value, if that is why and the file tells it; else "". */
const char *shared_object_refusal(const char *path, char variable[SHARED_OBJECT_NAME_MAX]);

/* Makes every writable page of LIBRARY, a handle of dlopen, read-only: not all compilers keep
 * variables apart from constants. Returns false if the system refuses. */
bool shared_object_seal(void *library);

#endif
