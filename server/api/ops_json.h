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

/* What an operator tells: for each colour channel a "number" or "list"; or "text"; NULL: nothing.
 */
const char *ops_values(const struct op *op);

/* {"operators": [{"name", "summary", "parameters": [{"name", "type", "summary", "unit", "min",
 * "max", "choices", "counts", "default", "example", "required"}], "parts": [{"name", "summary"}],
 * "values", "depth"}]}. What says nothing is left out: members of a parameter; "values", which is
 * ops_values(), where an operator tells nothing; "depth", 8 or 16, where it takes both. "parts" are
 * further images of the upload. A new reference. */
json_t *ops_json(const struct op_set *ops);

#endif
