// SPDX-License-Identifier: Apache-2.0
#include "pipeline/skeletons/text_arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_text {
    struct arena_text *before;
    char bytes[];
};

const char *text_arena_copy(struct text_arena *arena, const char *text, size_t length) {
    struct arena_text *fresh = malloc(sizeof *fresh + length + 1);
    if (!fresh) {
        arena->failed = true;
        return "";
    }
    fresh->before = arena->last;
    arena->last = fresh;
    memcpy(fresh->bytes, text, length);
    fresh->bytes[length] = '\0';
    return fresh->bytes;
}

const char *text_arena_print(struct text_arena *arena, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text_arena_copy(arena, text, strlen(text));
}

void text_arena_release(struct text_arena *arena) {
    for (struct arena_text *one = arena->last; one;) {
        struct arena_text *before = one->before;
        free(one);
        one = before;
    }
    *arena = (struct text_arena){ 0 };
}
