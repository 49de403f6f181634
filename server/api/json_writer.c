// SPDX-License-Identifier: Apache-2.0
#include "server/api/json_writer.h"

#include "pipeline/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_writer json_writer_in(char *memory, size_t size) {
    memory[0] = 0;
    return (struct json_writer){ .start = memory, .size = size };
}

void json_writer_bytes(struct json_writer *json, const char *bytes, size_t length) {
    if (json->length + length >= json->size) {
        json->full = true;
        return;
    }
    memcpy(json->start + json->length, bytes, length);
    json->length += length;
    json->start[json->length] = 0;
}

void json_writer_add(struct json_writer *json, const char *text) {
    json_writer_bytes(json, text, strlen(text));
}

static void add_integer(struct json_writer *json, bool negative, uint64_t rest) {
    char digits[24];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (negative) digits[--at] = '-';
    json_writer_bytes(json, digits + at, sizeof digits - at);
}

void json_writer_number(struct json_writer *json, int64_t number) {
    add_integer(json, number < 0, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void json_writer_unsigned(struct json_writer *json, uint64_t number) {
    add_integer(json, false, number);
}

void json_writer_double(struct json_writer *json, double number) {
    char text[32];
    if (!isfinite(number)) {
        json_writer_add(json, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    json_writer_add(json, text);
    if (!strpbrk(text, ".e")) json_writer_add(json, ".0");
}

void json_writer_ms(struct json_writer *json, double ms) {
    const uint64_t thousandths = ms > 0 && ms < 1e15 ? (uint64_t)(ms * 1000 + 0.5) : 0;
    const uint64_t rest = thousandths % 1000;
    json_writer_number(json, (int64_t)(thousandths / 1000));
    json_writer_bytes(json,
                      (char[]){ '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                                (char)('0' + rest % 10) },
                      4);
}

/* Bytes that are no UTF-8 become U+FFFD. */
void json_writer_string(struct json_writer *json, const char *text) {
    static const char hex[] = "0123456789abcdef";
    json_writer_bytes(json, "\"", 1);
    for (size_t bytes; *text; text += bytes) {
        const unsigned char c = (unsigned char)*text;
        bytes = c < 0x80 ? 1 : utf8_character(text, strnlen(text, 4));
        if (c == '"' || c == '\\')
            json_writer_bytes(json, (char[]){ '\\', (char)c }, 2);
        else if (c < 32 || c == 127)
            json_writer_bytes(json, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
        else if (!bytes)
            json_writer_bytes(json, "\\ufffd", 6);
        else
            json_writer_bytes(json, text, bytes);
        bytes += !bytes;
    }
    json_writer_bytes(json, "\"", 1);
}

void json_writer_percent(struct json_writer *json, const char *text, const char *plain) {
    static const char hex[] = "0123456789ABCDEF";
    for (; *text && !json->full; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 128 && (isalnum(c) || strchr(plain, c)))
            json_writer_bytes(json, text, 1);
        else
            json_writer_bytes(json, (char[]){ '%', hex[c >> 4], hex[c & 15] }, 3);
    }
}

void json_writer_key(struct json_writer *json, const char *name) {
    const char before = json->length ? json->start[json->length - 1] : '{';
    if (before != '{' && before != '[') json_writer_bytes(json, ",", 1);
    json_writer_bytes(json, "\"", 1);
    json_writer_add(json, name);
    json_writer_bytes(json, "\":", 2);
}

void json_writer_key_number(struct json_writer *json, const char *name, int64_t number) {
    json_writer_key(json, name);
    json_writer_number(json, number);
}

void json_writer_key_ms(struct json_writer *json, const char *name, double ms) {
    json_writer_key(json, name);
    json_writer_ms(json, ms);
}

void json_writer_key_string(struct json_writer *json, const char *name, const char *text) {
    json_writer_key(json, name);
    json_writer_string(json, text);
}
