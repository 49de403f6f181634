// SPDX-License-Identifier: Apache-2.0
/* descriptors.h - the open files of this process.
 *
 * Used by:  main.c.
 * Owns:     what it opens, to the end of the process.
 * Fails:    descriptors_keep_standard returns false: there is no /dev/null.
 * Threads:  the main thread, before there is another.
 */
#ifndef BURIN_DESCRIPTORS_H
#define BURIN_DESCRIPTORS_H

#include <stdbool.h>

/* Who starts us may have closed standard input, output or error. What is opened next would get that
 * number: a socket or a picture's file, into which a message is then printed. They are taken, so
 * that reading or writing them goes on to fail as it does where they are closed. */
bool descriptors_keep_standard(void);

#endif
