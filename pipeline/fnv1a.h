// SPDX-License-Identifier: Apache-2.0
/* fnv1a.h - a 64-bit hash of bytes that is easy to reproduce anywhere; not safe against attackers.
 *
 * Used by:  image.c, pipeline/skeletons/twin_library.c and twin_cache.c, kernel_cache.c.
 * Threads:  any; no state.
 * Source:   G. Fowler, L. C. Noll and K.-P. Vo, http://www.isthe.com/chongo/tech/comp/fnv/.
 */
#ifndef BURIN_FNV1A_H
#define BURIN_FNV1A_H

#include <stddef.h>
#include <stdint.h>

#define FNV1A_START UINT64_C(0xcbf29ce484222325)

/* HASH is the hash of the bytes before these, or FNV1A_START. */
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t length) {
    const uint8_t *at = (const uint8_t *)bytes;
    for (size_t i = 0; i < length; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
