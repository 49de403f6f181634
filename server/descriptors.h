// SPDX-License-Identifier: Apache-2.0
/* descriptors.h - the open files of this process, and how many it may have.
 *
 * Used by:  main.c; command_serve.c and http/front.c.
 * Owns:     what descriptors_keep_standard opens, to the end of the process.
 * Fails:    descriptors_keep_standard returns false: there is no /dev/null.
 * Threads:  the main thread; keep and raise before there is another.
 * Limits:   DESCRIPTORS_MAX; the tables that are looked up by descriptor are as long.
 */
#ifndef BURIN_DESCRIPTORS_H
#define BURIN_DESCRIPTORS_H

#include <stdbool.h>

enum { DESCRIPTORS_MAX = 1 << 20 };

/* Who starts us may have closed standard input, output or error. What is opened next would get that
 * number: a socket or a picture's file, into which a message is then printed. They are taken, so
 * that reading or writing them goes on to fail as it does where they are closed. */
bool descriptors_keep_standard(void);

/* Raises the soft limit of open files to the hard one, which is what an administrator means by the
 * limit; workers inherit it. The soft one is low for the sake of programs that use select(2). */
void descriptors_raise_limit(void);

struct descriptors {
    long limit; /* as many may be open */
    long open;
};

struct descriptors descriptors_now(void);

#endif
