// SPDX-License-Identifier: Apache-2.0
/* arena.cuh - hands out pieces of one block of memory, one behind the other.
 *
 * Used by:  whatever lays out scratch: carve_context.cuh and the methods.
 * Owns:     nothing; pieces are never given back.
 * Limits:   pieces begin at multiples of 256 bytes.
 */
#ifndef BURIN_CARVE_ARENA_CUH
#define BURIN_CARVE_ARENA_CUH

#include <stddef.h>
#include <stdint.h>

/* base: NULL while memory is only counted; pieces are NULL then. */
struct arena {
    uint8_t *base;
    size_t bytes; /* handed out so far */
};

template <class T> static inline T *arena_take(struct arena *arena, size_t count) {
    uint8_t *const at = arena->base ? arena->base + arena->bytes : NULL;
    arena->bytes += (count * sizeof(T) + 255) / 256 * 256;
    return (T *)at;
}

#endif
