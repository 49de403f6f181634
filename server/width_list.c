// SPDX-License-Identifier: Apache-2.0
#include "server/width_list.h"

#include "pipeline/image.h"
#include "pipeline/param.h"

#include <string.h>

bool list_next_word(const char **at, char *word, size_t size) {
    const char *start = *at + strspn(*at, " ");
    const size_t length = strcspn(start, ", ");
    const char *end = start + length + strspn(start + length, " ");
    if (!length || length >= size || (*end && *end != ',')) return false;
    memcpy(word, start, length);
    word[length] = '\0';
    *at = *end ? end + 1 : NULL;
    return true;
}

static bool has(const struct width_list *list, long width) {
    bool any = false;
    for (int i = 0; i < list->count; i++) any |= list->widths[i] == (uint32_t)width;
    return any;
}

bool width_list_read(struct width_list *list, const char *text) {
    char word[16];
    list->count = 0;
    do {
        long width;
        if (!list_next_word(&text, word, sizeof word) || !param_integer(word, &width) ||
            width < 1 || width > IMAGE_SIDE_MAX || has(list, width) || list->count == WIDTHS_MAX)
            return false;
        list->widths[list->count++] = (uint32_t)width;
    } while (text);
    return true;
}
