// SPDX-License-Identifier: Apache-2.0
#include "server/http/delimiter.h"

#include <string.h>

/* 64 take twice as long: what is found in a block is put together at its end. */
enum { BLOCK = 256 };

bool delimiter_is_boundary(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        const bool word =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!word && !strchr("'()+_,-./:=? ", c)) return false;
    }
    return text[length - 1] != ' ';
}

void delimiter_set(struct delimiter *delimiter, const char *boundary, size_t length) {
    memcpy(delimiter->text, "\r\n--", 4);
    memcpy(delimiter->text + 4, boundary, length);
    delimiter->length = 4 + length;
}

void delimiter_at_line_start(struct delimiter *delimiter) {
    delimiter->matched = delimiter->assumed = 2;
}

/* Does `CR . -` begin in the BLOCK bytes at P? Reads two bytes more. Written so that the compiler
 * looks at many bytes at once: whatever the data are, this is the pace (memchr for CR falls to a
 * fiftieth of its own where every second byte is one). */
static bool block_may_start(const uint8_t *p) {
    uint8_t found = 0;
    for (int i = 0; i < BLOCK; i++) found |= (uint8_t)((p[i] == '\r') & (p[i + 2] == '-'));
    return found;
}

/* Byte by byte first: where one start was, the next is often near. */
const uint8_t *delimiter_find(const uint8_t *p, const uint8_t *end) {
    while (p < end) {
        const uint8_t *stop = end - p > BLOCK ? p + BLOCK : end;
        for (; p < stop; p++)
            if (*p == '\r' && (end - p < 4 || memcmp(p, "\r\n--", 4) == 0)) return p;
        while (end - p >= BLOCK + 2 && !block_may_start(p)) p += BLOCK;
    }
    return end;
}

size_t delimiter_match(struct delimiter *delimiter, const uint8_t *p, const uint8_t *end) {
    size_t room = delimiter->length - delimiter->matched, length = (size_t)(end - p), i = 0;
    if (length > room) length = room;
    while (i < length && p[i] == (uint8_t)delimiter->text[delimiter->matched + i]) i++;
    delimiter->matched += i;
    delimiter->tail_length = 0;
    return i;
}

/* ---- the tail */

bool delimiter_tail_fits(const struct delimiter *delimiter, char c) {
    const size_t length = delimiter->tail_length;
    const char last = length ? delimiter->text[delimiter->length + length - 1] : '\0';
    if (last == '\r') return c == '\n';
    if (c == '-') return length == 0 || (length == 1 && last == '-');
    if (length == 1 && last == '-') return false;
    return c == '\r' || c == ' ' || c == '\t';
}

bool delimiter_tail_add(struct delimiter *delimiter, char c) {
    if (delimiter->tail_length == 2 + DELIMITER_BLANKS_MAX + 1) return false;
    delimiter->text[delimiter->length + delimiter->tail_length++] = c;
    return true;
}

bool delimiter_closes(const struct delimiter *delimiter) {
    return delimiter->tail_length >= 2 && delimiter->text[delimiter->length + 1] == '-';
}
