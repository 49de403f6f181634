// SPDX-License-Identifier: Apache-2.0
/* descriptors.h - the open files of this process, and their limit.
 *
 * Used by:  main.c; command_serve.c and http/front.c.
 * Owns:     the descriptors of descriptors_keep_standard, to the end of the process.
 * Fails:    descriptors_keep_standard returns false: there is no /dev/null.
 * Threads:  the main thread; keep and raise before there are others.
 * Limits:   DESCRIPTORS_MAX, also the length of tables that are indexed by descriptor.
 */
#ifndef BURIN_DESCRIPTORS_H
#define BURIN_DESCRIPTORS_H

#include <stdbool.h>

enum { DESCRIPTORS_MAX = 1 << 20 };

/* Occupies standard input, output and error if the parent process has closed them: otherwise a
 * socket or a picture's file would get such a number, and messages would be printed into it.
 * Reading and writing them still fails, as on closed descriptors. */
bool descriptors_keep_standard(void);

/* Raises the soft limit of open files to the hard one, which is the limit that an administrator
 * sets; workers inherit it. The soft one is low for programs that use select(2). */
void descriptors_raise_limit(void);

struct descriptors {
    long limit, open;
};

struct descriptors descriptors_now(void);

#endif
