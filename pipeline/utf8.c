// SPDX-License-Identifier: Apache-2.0
#include "pipeline/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t utf8_character(const char *text, size_t length) {
    const unsigned char *at = (const unsigned char *)text;
    const size_t bytes = !length                     ? 0
                         : *at < 0x80                ? 1
                         : *at >= 0xc2 && *at < 0xe0 ? 2
                         : *at >= 0xe0 && *at < 0xf0 ? 3
                         : *at >= 0xf0 && *at < 0xf5 ? 4
                                                     : 0;
    if (!bytes || bytes > length) return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    const bool overlong = (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xf0 && at[1] < 0x90);
    const bool outside = (*at == 0xed && at[1] >= 0xa0) || (*at == 0xf4 && at[1] >= 0x90);
    return overlong || outside ? 0 : bytes;
}

size_t utf8_cut(const char *text, size_t length) {
    size_t start = length; /* of the last character */
    while (start && (text[start - 1] & 0xc0) == 0x80) start--;
    if (start) start--;
    return start + utf8_character(text + start, length - start) == length ? length : start;
}

size_t utf8_mark(const char *text, size_t length) {
    return length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

void utf8_clean(char *text) {
    size_t left = strlen(text);
    while (left) {
        const size_t bytes = utf8_character(text, left);
        if (!bytes || (unsigned char)*text < ' ' || *text == 0x7f) *text = '?';
        text += bytes ? bytes : 1;
        left -= bytes ? bytes : 1;
    }
}
