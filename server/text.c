// SPDX-License-Identifier: Apache-2.0
#include "server/text.h"

#include <string.h>

struct text text_in(char *memory, size_t size) {
    memory[0] = 0;
    return (struct text){ .start = memory, .size = size };
}

static void append(struct text *text, const char *bytes, size_t length) {
    if (text->length + length >= text->size) {
        text->full = true;
        return;
    }
    memcpy(text->start + text->length, bytes, length);
    text->length += length;
    text->start[text->length] = 0;
}

void text_add(struct text *text, const char *words) {
    append(text, words, strlen(words));
}

void text_number(struct text *text, int64_t number) {
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) digits[--at] = '-';
    append(text, digits + at, sizeof digits - at);
}

void text_ms(struct text *text, double ms) {
    const uint64_t thousandths = ms > 0 && ms < 1e15 ? (uint64_t)(ms * 1000 + 0.5) : 0;
    const uint64_t rest = thousandths % 1000;
    text_number(text, (int64_t)(thousandths / 1000));
    append(text,
           (char[]){ '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                     (char)('0' + rest % 10) },
           4);
}

void text_json(struct text *text, const char *words) {
    static const char hex[] = "0123456789abcdef";
    append(text, "\"", 1);
    for (; *words; words++) {
        const unsigned char c = (unsigned char)*words;
        if (c == '"' || c == '\\')
            append(text, (char[]){ '\\', (char)c }, 2);
        else if (c < 32 || c > 126)
            append(text, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
        else
            append(text, words, 1);
    }
    append(text, "\"", 1);
}

void text_key(struct text *text, const char *name) {
    const char before = text->length ? text->start[text->length - 1] : '{';
    if (before != '{' && before != '[') append(text, ",", 1);
    append(text, "\"", 1);
    text_add(text, name);
    append(text, "\":", 2);
}

void text_key_number(struct text *text, const char *name, int64_t number) {
    text_key(text, name);
    text_number(text, number);
}

void text_key_ms(struct text *text, const char *name, double ms) {
    text_key(text, name);
    text_ms(text, ms);
}

void text_key_json(struct text *text, const char *name, const char *words) {
    text_key(text, name);
    text_json(text, words);
}
