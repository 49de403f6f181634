// SPDX-License-Identifier: Apache-2.0
#include "server/access/query.h"

#include "server/api/json_writer.h"

#include <ctype.h>
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

/* Adds all but the signature. */
static void add_query(struct json_writer *out, const struct argument *arguments, int count) {
    const size_t start = out->length;
    for (int i = 0; i < count; i++) {
        if (strcmp(arguments[i].name, "signature") == 0) continue;
        if (out->length != start) json_writer_add(out, "&");
        json_writer_percent(out, arguments[i].name, "-._~");
        json_writer_add(out, "=");
        json_writer_percent(out, arguments[i].value, "-._~");
    }
}

size_t query_print(const struct argument *arguments, int count, char *out, size_t size) {
    struct json_writer writer = json_writer_in(out, size);
    add_query(&writer, arguments, count);
    return writer.full ? 0 : writer.length;
}

size_t query_message(const char *method, const char *path, const struct argument *arguments,
                     int count, char out[MESSAGE_MAX]) {
    struct json_writer writer = json_writer_in(out, MESSAGE_MAX);
    json_writer_add(&writer, "burin-1\n");
    json_writer_add(&writer, method);
    json_writer_add(&writer, "\n");
    json_writer_add(&writer, path);
    json_writer_add(&writer, "\n");
    add_query(&writer, arguments, count);
    return writer.full ? 0 : writer.length;
}
