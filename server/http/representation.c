// SPDX-License-Identifier: Apache-2.0
#include "server/http/representation.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Is the weight in PARAMETERS zero, which forbids? "q=0", "q=0.", "q=0.000". */
static bool forbids(const char *parameters, size_t length) {
    for (size_t i = 0; i + 2 < length; i++) {
        if (strncasecmp(parameters + i, "q=0", 3) != 0) continue;
        i += 3;
        if (i < length && parameters[i] == '.') i++;
        while (i < length && parameters[i] == '0') i++;
        return i == length || strchr(" \t;", parameters[i]);
    }
    return false;
}

void representation_add_codings(struct representation_codings *codings, const char *line) {
    for (const char *at = line; *(at += strspn(at, " \t,"));) {
        const size_t length = strcspn(at, ","), name = strcspn(at, " \t;,");
        const bool allowed = !forbids(at + name, length - name);
        if ((name == 4 && strncasecmp(at, "gzip", 4) == 0) ||
            (name == 6 && strncasecmp(at, "x-gzip", 6) == 0)) {
            codings->named = true;
            codings->gzip = allowed;
        }
        if (name == 1 && *at == '*') codings->any = allowed;
        at += length;
    }
}

bool representation_takes_gzip(const struct representation_codings *codings) {
    return codings->named ? codings->gzip : codings->any;
}

bool representation_is_known(const char *line, const char *etag) {
    const size_t etag_length = strlen(etag);
    for (const char *at = line; *(at += strspn(at, " \t,"));) {
        if (*at == '*') return true;
        if (strncmp(at, "W/", 2) == 0) at += 2;
        if (*at != '"') return false;
        const char *end = strchr(at + 1, '"');
        if (!end) return false;
        end++;
        if ((size_t)(end - at) == etag_length && memcmp(at, etag, etag_length) == 0) return true;
        at = end;
    }
    return false;
}
