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

#include "pipeline/encode_options.h"
#include "pipeline/param.h"
#include "pipeline/plan.h"

#include <jansson.h>

struct settings;

/* Appends the steps of LIST to the plan of SETTINGS. Where imaginary has an operation of that name
 * (imaginary.h), it may say how the file is written, as the settings then do. */
enum status operations_add(struct settings *settings, const json_t *list, struct failure *failure);

/* The same to the PLAN of one of several results, which ENCODE has all else of; WHOLE is as in
 * struct imaginary. */
enum status operations_add_output(struct plan *plan, const json_t *list, bool whole,
                                  struct encode_options *encode, struct failure *failure);

/* TEXT as JSON, to be released by json_decref. NULL, and WHY: it is none, names a member twice,
 * or holds a number that would be read as 0 and is not. */
json_t *operations_load(const char *text, char why[PARAM_SHOWN_MAX]);

enum { JSON_VALUE_MAX = 256 };

/* A string, a number, true or false, or a short list of whole numbers as the text that a query
 * would have; false: VALUE is something else, or too long. */
bool operations_value(const json_t *value, char text[JSON_VALUE_MAX]);

#endif
