// SPDX-License-Identifier: Apache-2.0
#include "server/access/query.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading */

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

static bool decode(char *text) {
    char *out = text;
    for (; *text; text++, out++) {
        *out = *text == '+' ? ' ' : *text;
        if (*text != '%') continue;
        const int high = hex_value(text[1]), low = high < 0 ? -1 : hex_value(text[2]);
        if (low < 0 || !(high | low)) return false;
        *out = (char)(high << 4 | low);
        text += 2;
    }
    *out = '\0';
    return true;
}

int query_read(char *text, struct argument arguments[ARGUMENTS_MAX]) {
    int count = 0;
    for (char *pair; (pair = strsep(&text, "&"));) {
        char *value = pair, *name = strsep(&value, "=");
        if (!*name && !value) continue; /* nothing between two & */
        if (count == ARGUMENTS_MAX || !decode(name) || (value && !decode(value))) return -1;
        arguments[count++] = (struct argument){ name, value ? value : "" };
    }
    return count;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct argument *)a)->name, ((const struct argument *)b)->name);
}

const char *query_sort(struct argument *arguments, int count) {
    qsort(arguments, (size_t)count, sizeof *arguments, by_name);
    for (int i = 1; i < count; i++)
        if (by_name(&arguments[i - 1], &arguments[i]) == 0) return arguments[i].name;
    return NULL;
}

const char *query_find(const struct argument *arguments, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(arguments[i].name, name) == 0) return arguments[i].value;
    return NULL;
}

/* ---- printing */

struct writer {
    char *at, *end; /* END: one byte is left for a zero */
    bool full;
};

static void add(struct writer *out, char c) {
    if (out->at < out->end)
        *out->at++ = c;
    else
        out->full = true;
}

static void add_text(struct writer *out, const char *text) {
    while (*text) add(out, *text++);
}

static void add_encoded(struct writer *out, const char *text) {
    static const char hex[] = "0123456789ABCDEF";
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool plain = c < 128 && (isalnum(c) || strchr("-._~", c));
        if (plain) add(out, *text);
        if (plain) continue;
        add(out, '%');
        add(out, hex[c >> 4]);
        add(out, hex[c & 15]);
    }
}

/* Adds all but the signature. */
static void add_query(struct writer *out, const struct argument *arguments, int count) {
    const char *start = out->at;
    for (int i = 0; i < count; i++) {
        if (strcmp(arguments[i].name, "signature") == 0) continue;
        if (out->at != start) add(out, '&');
        add_encoded(out, arguments[i].name);
        add(out, '=');
        add_encoded(out, arguments[i].value);
    }
}

static size_t finish(struct writer *out, const char *start) {
    *out->at = '\0';
    return out->full ? 0 : (size_t)(out->at - start);
}

size_t query_print(const struct argument *arguments, int count, char *out, size_t size) {
    struct writer writer = { .at = out, .end = out + size - 1 };
    add_query(&writer, arguments, count);
    return finish(&writer, out);
}

size_t query_message(const char *method, const char *path, const struct argument *arguments,
                     int count, char out[MESSAGE_MAX]) {
    struct writer writer = { .at = out, .end = out + MESSAGE_MAX - 1 };
    add_text(&writer, "burin-1\n");
    add_text(&writer, method);
    add(&writer, '\n');
    add_text(&writer, path);
    add(&writer, '\n');
    add_query(&writer, arguments, count);
    return finish(&writer, out);
}
