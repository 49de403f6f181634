// SPDX-License-Identifier: Apache-2.0
/* kernel_cache.h - compiled kernels on disk, in the folder of the CPU's twins (twin_cache.h).
 *
 * An entry is one file, <hash>.kernel: sizes and a checksum, then the complete key, then the code.
 * It is used only if it is undamaged and its key is the same text.
 *
 * Used by:  kernel_library.c.
 * Owns:     nothing in memory; the caller frees what was found.
 * Fails:    an entry that is missing, damaged or not to be trusted is not found; one that cannot be
 *           written is not kept.
 * Threads:  any, and several processes: an entry is whole or missing.
 * Limits:   KERNEL_CACHE_BYTES_MAX an entry; entries unused for TWIN_CACHE_DAYS are removed.
 */
#ifndef BURIN_KERNEL_CACHE_H
#define BURIN_KERNEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>

enum { KERNEL_CACHE_BYTES_MAX = 16 << 20 };

/* Makes the folder if it is missing; false where it belongs to others or they may write to it. */
bool kernel_cache_open(const char *folder);

/* The code made from KEY, with NUL behind it. */
char *kernel_cache_find(const char *folder, const char *key, size_t *size);

void kernel_cache_keep(const char *folder, const char *key, const char *code, size_t size);

#endif
