// SPDX-License-Identifier: Apache-2.0
/* openapi_param.h - an operator's parameter as OpenAPI describes it: schema, default, example.
 *
 * Used by:  openapi_json.c.
 * Owns:     nothing.
 * Fails:    never; the writer knows whether it is full.
 * Threads:  any; no state.
 */
#ifndef BURIN_OPENAPI_PARAM_H
#define BURIN_OPENAPI_PARAM_H

#include "pipeline/param.h"
#include "server/api/json_writer.h"

/* One more item of the list that JSON is in. */
void openapi_param(struct json_writer *json, const struct param *param);

#endif
