// SPDX-License-Identifier: Apache-2.0
/* hash_multiplier.h - the secret of a hash table whose keys a client chooses.
 *
 * The highest bits of a key times it are the key's slot. With a known one keys could be chosen that
 * all want the same slots, and each search would walk over all of them.
 *
 * Used by:  palette.c, gif/encoder.c.
 * Threads:  any.
 */
#ifndef BURIN_HASH_MULTIPLIER_H
#define BURIN_HASH_MULTIPLIER_H

#include <stdint.h>

#include <sys/random.h>

/* An odd number. TABLE: the table's address, in place of what the kernel refuses. */
static inline uint64_t hash_multiplier(const void *table) {
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (uintptr_t)table * UINT64_C(0x9e3779b97f4a7c15);
    return random | 1;
}

#endif
