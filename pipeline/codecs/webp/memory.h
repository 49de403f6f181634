// SPDX-License-Identifier: Apache-2.0
/* memory.h - how much memory libwebp may take while it decodes, and whether it is to go on.
 *
 * Lossless pictures may have 65,536 sets of codes of 17 KB each, told by a file of 300 KB: no bound
 * on sides or bytes is one on memory. libwebp asks nobody and has no setting for it, but takes all
 * of it by functions of its own, which its shared object looks up by name: those of the program
 * that has such come first, and this one has. A test sees whether they are asked.
 *
 * It asks for memory far more often than it calls its progress hook, and ends soundly where it gets
 * none: so it can be stopped there.
 *
 * Used by:  webp/decoder.c, webp/encoder.c.
 * Owns:     nothing; the budget is its caller's and stays until webp_memory_end().
 * Threads:  any; a budget is of the thread that began it. Without one nothing is counted.
 */
#ifndef BURIN_WEBP_MEMORY_H
#define BURIN_WEBP_MEMORY_H

#include "pipeline/progress.h"

#include <stdbool.h>
#include <stddef.h>

struct webp_memory {
    size_t left;
    struct progress *progress; /* NULL: nobody stops it here */
    bool refused;              /* more was asked for than was left */
    bool failed;               /* there was none on this machine */
    enum status stopped;
};

void webp_memory_begin(struct webp_memory *memory);
void webp_memory_end(void);

#endif
