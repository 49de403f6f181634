// SPDX-License-Identifier: Apache-2.0
/* text_arena.h - small texts that live as long as a user file.
 *
 * Used by:  the reader of users' operators.
 * Owns:     every text, until text_arena_release.
 * Fails:    without memory an empty text is returned and `failed` is set.
 * Threads:  an arena belongs to one.
 */
#ifndef BURIN_TEXT_ARENA_H
#define BURIN_TEXT_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct text_arena {
    struct arena_text *last;
    bool failed;
};

/* LENGTH bytes of TEXT, then a NUL. */
const char *text_arena_copy(struct text_arena *arena, const char *text, size_t length);
const char *text_arena_print(struct text_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_arena_release(struct text_arena *arena);

#endif
