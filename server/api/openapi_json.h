// SPDX-License-Identifier: Apache-2.0
/* openapi_json.h - the description of the daemon's interface in OpenAPI 3.1 (GET /openapi.json).
 *
 * Each operator of a set is a path with its parameters, ranges and defaults, beside the daemon's
 * other paths. Every example in it can be sent as it is.
 *
 * Used by:  generation.c.
 * Owns:     nothing; the caller frees the text.
 * Fails:    NULL without memory.
 * Threads:  any; no state.
 * Source:   OpenAPI Specification 3.1.0; its schemas are JSON Schema 2020-12.
 */
#ifndef BURIN_OPENAPI_JSON_H
#define BURIN_OPENAPI_JSON_H

#include "pipeline/op_set.h"

/* Heap. */
char *openapi_json(const struct op_set *ops);

#endif
