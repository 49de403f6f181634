// SPDX-License-Identifier: Apache-2.0
/* shared_library.h - optional libraries, opened while the program runs.
 *
 * Used by:  codecs/'s avif/library.c, heic/library.c; cuda/'s nvml.c, skeletons/nvrtc.c,
 *           skeletons/kernel_compiler.c, bench/nvjpeg_library.cu; server/sandbox/sandbox.c.
 * Owns:     nothing: the caller closes what it opened, or keeps it as long as the process.
 * Fails:    NULL; false.
 * Threads:  any.
 */
#ifndef BURIN_SHARED_LIBRARY_H
#define BURIN_SHARED_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shared_symbol {
    const char *name;
    void
        *function; /* address of a pointer to a function, set to NULL where the symbol is missing */
};

/* Opens the first of COUNT names that exists; NULL: none does. */
void *shared_library_open(const char *const *names, size_t count);

/* Sets the pointers of COUNT symbols; true if all were found. */
bool shared_library_find(void *library, const struct shared_symbol *symbols, size_t count);

#ifdef __cplusplus
}
#endif
#endif
