// SPDX-License-Identifier: Apache-2.0
/* shared_object.h - a compiled file of operators, looked at before dlopen.
 *
 * dlopen runs what a shared object names as its constructors, as functions that choose another
 * (IFUNC), and as those of the libraries it needs. A user's file may have none of them: its code is
 * run in a sandbox alone, behind the filter of system calls.
 *
 * Used by:  twin_library.c.
 * Fails:    whatever cannot be read is refused.
 * Threads:  any.
 * Limits:   SHARED_OBJECT_BYTES_MAX.
 * Source:   System V gABI, chapter 5, "Dynamic Linking"; glibc's elf/dl-load.c and elf/dl-init.c
 */
#ifndef BURIN_SHARED_OBJECT_H
#define BURIN_SHARED_OBJECT_H

enum { SHARED_OBJECT_BYTES_MAX = 32 << 20 };

/* Why the file at PATH may not be loaded; NULL: no code of it runs when it is. */
const char *shared_object_refusal(const char *path);

#endif
