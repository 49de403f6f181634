// SPDX-License-Identifier: Apache-2.0
#include "server/access/json_line.h"

#include <stdlib.h>
#include <string.h>

static const char *skip_blank(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* AT: the quote that begins it. */
static const char *skip_string(const char *at) {
    for (at++; *at != '"'; at++) at += *at == '\\';
    return at + 1;
}

static const char *skip_value(const char *at) {
    int depth = 0;
    do {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at++;
    } while (depth || !strchr(",]} \t\r\n", *at));
    return at;
}

/* AT: behind a bracket or a value. */
static const char *skip_comma(const char *at) {
    at = skip_blank(at);
    return *at == ',' ? skip_blank(at + 1) : at;
}

static const char *find_member(const char *at, const char *name, size_t length) {
    if (*at != '{') return NULL;
    for (at = skip_comma(at + 1); *at == '"';) {
        const char *end = skip_string(at);
        const char *value = skip_blank(skip_blank(end) + 1);
        if ((size_t)(end - at) == length + 2 && memcmp(at + 1, name, length) == 0) return value;
        at = skip_comma(skip_value(value));
    }
    return NULL;
}

static const char *find_element(const char *at, long index) {
    if (*at != '[') return NULL;
    for (at = skip_comma(at + 1); *at != ']'; at = skip_comma(skip_value(at)))
        if (index-- == 0) return at;
    return NULL;
}

static const char *find(const char *at, const char *place) {
    while (*place) {
        const size_t length = strcspn(place, ".[");
        const char *found = length ? find_member(at, place, length) : at;
        place += length;
        if (found && *place == '[') {
            char *end;
            found = find_element(found, strtol(place + 1, &end, 10));
            place = end + 1;
        }
        if (!found) break;
        at = found;
        place += *place == '.';
    }
    return at;
}

int json_line(const char *text, const char *place, const char *member) {
    const char *at = find(skip_blank(text), place);
    const char *found = member ? find_member(at, member, strlen(member)) : NULL;
    int line = 1;
    for (const char *c = text; c < (found ? found : at); c++) line += *c == '\n';
    return line;
}
