// SPDX-License-Identifier: Apache-2.0
#include "server/http/header_params.h"

#include "server/http/engine/request_check.h"

#include <string.h>
#include <strings.h>

const char *header_params_skip_blanks(const char *p) {
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

size_t header_params_token(const char *p) {
    size_t length = 0;
    while (p[length] && request_check_is_token(p + length, 1)) length++;
    return length;
}

/* The quote that ends a quoted text, or NULL. */
static const char *closing_quote(const char *p) {
    for (; *p && *p != '"'; p++)
        if (*p == '\\' && !*++p) return NULL;
    return *p ? p : NULL;
}

/* Reads the value at *AT and moves on behind it. */
static bool read_value(const char **at, struct header_param *out) {
    const char *p = *at;
    out->quoted = *p == '"';
    out->value = p + out->quoted;
    if (out->quoted) {
        const char *end = closing_quote(out->value);
        if (!end) return false;
        out->value_length = (size_t)(end - out->value);
        *at = end + 1;
        return true;
    }
    out->value_length = header_params_token(p);
    *at = p + out->value_length;
    return out->value_length > 0;
}

/* 1: OUT is filled and *AT moved on; 0: there are no more; -1: this is no list of params. */
int header_params_next(const char **at, struct header_param *out) {
    const char *p = header_params_skip_blanks(*at);
    if (!*p) return 0;
    if (*p++ != ';') return -1;
    p = header_params_skip_blanks(p);
    if (!*p) return 0; /* a semicolon at the end does no harm */
    out->name = p;
    out->name_length = header_params_token(p);
    p += out->name_length;
    if (out->name_length == 0 || *p++ != '=') return -1;
    if (!read_value(&p, out)) return -1;
    *at = p;
    return 1;
}

bool header_params_is(const struct header_param *param, const char *name) {
    return param->name_length == strlen(name) &&
           strncasecmp(param->name, name, param->name_length) == 0;
}

/* The value without its escapes, cut to fit; returns its whole length. */
size_t header_params_copy(const struct header_param *param, char *out, size_t room) {
    size_t length = 0;
    for (size_t i = 0; i < param->value_length; i++) {
        if (param->quoted && param->value[i] == '\\') i++;
        if (length + 1 < room) out[length] = param->value[i];
        length++;
    }
    out[length < room ? length : room - 1] = '\0';
    return length;
}
