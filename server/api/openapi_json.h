// SPDX-License-Identifier: Apache-2.0
/* openapi_json.h - what can be called, as a description by OpenAPI 3.1 (GET /openapi.json).
 *
 * Each operator of a set is a path with its parameters, ranges and defaults; the rest of the
 * daemon's paths stands beside them. Every example in it can be sent as it is.
 *
 * Used by:  generation.c.
 * Owns:     nothing; the text is the caller's.
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
