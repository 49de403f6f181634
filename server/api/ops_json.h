// SPDX-License-Identifier: Apache-2.0
/* ops_json.h - operators as JSON.
 *
 * Used by:  generation.c (GET /ops), command_ops.c (`burin ops --json`).
 * Owns:     nothing; the result is the caller's.
 * Fails:    NULL without memory, or where a text is no UTF-8.
 * Threads:  any.
 */
#ifndef BURIN_OPS_JSON_H
#define BURIN_OPS_JSON_H

#include "pipeline/op_set.h"

#include <jansson.h>

/* The kind of values that an operator reports: a "number" or "list" for each colour channel, a
 * "text" or an "object" of numbers; NULL: none, or beside an image of its own. */
const char *ops_values(const struct op *op);

/* {"groups": ["size and place"...], "operators": [{"name", "title", "summary", "group", "aliases",
 * "parameters": [{"name", "type", "summary", "unit", "min", "max", "choices", "counts", "default",
 * "example", "required"}], "parts": [{"name", "summary", "kind"}], "values", "depth"}]}. "groups"
 * has the order of a menu; "title" is an everyday name, "aliases" are words of other tools that
 * lead to it. Left out are: members of an operator or a parameter that it does not have; "values",
 * which is ops_values(), if an operator reports none; "depth", 8 or 16, if it takes both. "parts"
 * are additional images of the upload: a "mask" may be sent, a "picture" must. Returns a new
 * reference. */
json_t *ops_json(const struct op_set *ops);

#endif
