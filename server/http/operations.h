// SPDX-License-Identifier: Apache-2.0
/* operations.h - the steps of a pipeline, as a client writes them in JSON.
 *
 *     [{"operation": "histeq", "params": {"bins": 64}}, ...]
 *
 * Used by:  settings.c (operations), outputs.c (those of each output).
 * Owns:     nothing.
 * Fails:    STATUS_BAD_PARAM, with a sentence that names what is wrong.
 * Threads:  any; no state.
 */
#ifndef BURIN_OPERATIONS_H
#define BURIN_OPERATIONS_H

#include "pipeline/plan.h"

#include <jansson.h>

/* Appends the steps of LIST to PLAN. */
enum status operations_add(struct plan *plan, const json_t *list, struct failure *failure);

enum { JSON_VALUE_MAX = 256 };

/* A string, a number, true or false, or a short list of whole numbers as the text that a query
 * would have; false: VALUE is something else, or too long. */
bool operations_value(const json_t *value, char text[JSON_VALUE_MAX]);

#endif
