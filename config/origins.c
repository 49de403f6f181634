// SPDX-License-Identifier: Apache-2.0
#include "config/origins.h"

#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"

/* Each skip function returns the end of its part, or NULL if there is none; no part contains a
 * comma.
 */

static const char *skip_scheme(const char *text) {
    const char *end = text + strspn(text, LETTERS DIGITS "+.-");
    return strchr(LETTERS, *text) && end > text && strncmp(end, "://", 3) == 0 ? end : NULL;
}

static const char *skip_host(const char *text) {
    const bool ipv6 = *text == '[';
    text += ipv6;
    const size_t length = strspn(text, ipv6 ? DIGITS "abcdef:." : LETTERS DIGITS "._-");
    if (!length || (ipv6 && text[length] != ']')) return NULL;
    return text + length + ipv6;
}

static const char *skip_port(const char *text, long implied) {
    if (*text != ':') return text;
    const size_t digits = strspn(++text, DIGITS);
    if (digits < 1 || digits > 5 || *text == '0') return NULL;
    const long port = strtol(text, NULL, 10);
    return port <= 65535 && port != implied ? text + digits : NULL;
}

static long implied_port(const char *scheme) {
    if (strncmp(scheme, "http:", 5) == 0) return 80;
    return strncmp(scheme, "https:", 6) == 0 ? 443 : 0;
}

static const char *skip_origin(const char *text) {
    const char *end = skip_scheme(text);
    if (end) end = skip_host(end + 3);
    return end ? skip_port(end, implied_port(text)) : NULL;
}

bool origins_are_any(const char *list) {
    return strcmp(list, "*") == 0;
}

bool origins_are_a_list(const char *text) {
    if (!*text || origins_are_any(text)) return true;
    for (;; text++) {
        text = skip_origin(text);
        if (!text || !*text) return text;
        if (*text != ',') return false;
    }
}

bool origins_name(const char *list, const char *origin) {
    const size_t length = strnlen(origin, CONFIG_ORIGINS_MAX);
    while (length && length < CONFIG_ORIGINS_MAX && *list) {
        const size_t named = strcspn(list, ",");
        if (named == length && memcmp(list, origin, length) == 0) return true;
        list += named + (list[named] == ',');
    }
    return false;
}
