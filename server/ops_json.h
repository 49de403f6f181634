// SPDX-License-Identifier: Apache-2.0
/* ops_json.h - the registry as JSON.
 *
 * Used by:  http/handle_health.c (GET /ops), command_ops.c (`burin ops --json`).
 * Owns:     nothing; the result is the caller's.
 * Fails:    NULL without memory.
 * Threads:  any.
 */
#ifndef BURIN_OPS_JSON_H
#define BURIN_OPS_JSON_H

#include <jansson.h>

/* {"operators": [{"name", "summary", "parameters": [{"name", "type", "summary", "unit", "min",
 * "max", "choices", "counts", "default", "required"}], "parts": [{"name", "summary"}], "depth"}]};
 * "depth", 8 or 16, is the only one that the operator takes, and left out if it takes both; members
 * of a parameter that say nothing are left out. "parts" are further images of the upload. A new
 * reference; NULL where memory is short. */
json_t *ops_json(void);

#endif
