// SPDX-License-Identifier: Apache-2.0
/* openapi_text.h - JSON that is written as text: ' stands for ", and commas come by themselves.
 *
 * Used by:  openapi_json.c, openapi_param.c.
 */
#ifndef BURIN_OPENAPI_TEXT_H
#define BURIN_OPENAPI_TEXT_H

#include "server/api/json_writer.h"

#include <string.h>

/* TEXT with ' in place of ". */
static inline void openapi_put(struct json_writer *json, const char *text) {
    for (size_t length; *text; text += length + (text[length] != '\0')) {
        length = strcspn(text, "'");
        json_writer_bytes(json, text, length);
        if (text[length]) json_writer_bytes(json, "\"", 1);
    }
}

/* A comma unless an object or a list has just begun. */
static inline void openapi_next(struct json_writer *json) {
    const char before = json->length ? json->start[json->length - 1] : '{';
    if (before != '{' && before != '[') json_writer_bytes(json, ",", 1);
}

static inline void openapi_put_next(struct json_writer *json, const char *text) {
    openapi_next(json);
    openapi_put(json, text);
}

#endif
