// SPDX-License-Identifier: Apache-2.0
/* arena.h - scratch handed out piece by piece and never taken back; without memory it only counts.
 *
 * Used by:  carve, resize and smartcrop.
 * Owns:     nothing; the memory is the caller's.
 */
#ifndef BURIN_ARENA_H
#define BURIN_ARENA_H

#include <stddef.h>
#include <stdint.h>

enum { ARENA_ALIGN = 64 };

struct arena {
    uint8_t *base; /* NULL: pieces are only counted */
    size_t used;
};

/* Returns BYTES bytes aligned to ARENA_ALIGN, or NULL where pieces are only counted. */
static inline void *arena_take(struct arena *arena, size_t bytes) {
    void *piece = arena->base ? arena->base + arena->used : NULL;
    arena->used += (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    return piece;
}

#endif
