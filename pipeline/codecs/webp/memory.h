// SPDX-License-Identifier: Apache-2.0
/* memory.h - limits the memory of libwebp, and stops it where it allocates.
 *
 * A lossless file of 300 KB may announce 65,536 sets of codes of 17 KB each: no bound on sides or
 * bytes bounds its memory, and libwebp has no setting for that. But libwebp allocates through
 * functions that its shared object looks up by name, and the linker finds those of the program
 * first: memory.c defines them. A test checks that libwebp calls them.
 *
 * libwebp allocates far more often than it calls its progress hook, and ends soundly when an
 * allocation fails: so an allocation is where it is stopped.
 *
 * Used by:  webp/decoder.c, webp/encoder.c.
 * Owns:     nothing; the caller's budget must stay until webp_memory_end().
 * Threads:  a budget belongs to the thread that began it. Without one nothing is limited.
 */
#ifndef BURIN_WEBP_MEMORY_H
#define BURIN_WEBP_MEMORY_H

#include "pipeline/progress.h"

#include <stdbool.h>
#include <stddef.h>

struct webp_memory {
    size_t left;
    struct progress *progress; /* NULL: not stopped here */
    bool refused;              /* libwebp asked for more than `left` */
    bool failed;               /* the machine had no memory */
    enum status stopped;
};

void webp_memory_begin(struct webp_memory *memory);
void webp_memory_end(void);

#endif
