// SPDX-License-Identifier: Apache-2.0
#include "config/types.h"

#include <stdio.h>
#include <string.h>

static bool add(struct types *types, const char *name, size_t length) {
    char text[16];
    snprintf(text, sizeof text, "%.*s", length < sizeof text ? (int)length : 0, name);
    const enum format type = format_from_name(text);
    for (int i = 0; i < types->count; i++)
        if (types->types[i] == type) return false;
    if (type) types->types[types->count++] = type;
    return type != FORMAT_NONE;
}

bool types_read(const char *text, struct types *types) {
    types->count = 0;
    if (!*text) return true;
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        if (!add(types, text, length)) return false;
        text += length;
        if (!*text) return true;
    }
}
