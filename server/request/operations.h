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

struct dialect; /* settings.h */

/* Where a step of a list goes. */
struct operations_place {
    struct plan *plan;
    struct encode_options *encode;
    struct settings
        *settings;    /* the request's, for what a dialect's step says of the file; NULL: the
                                  list belongs to one of several results */
    bool first, last; /* of its list */
};

/* Appends the steps of LIST to the plan of SETTINGS. */
enum status operations_add(struct settings *settings, const json_t *list, struct failure *failure);

/* The same to the PLAN of one of several results, which is written as ENCODE says. */
enum status operations_add_output(struct plan *plan, const json_t *list,
                                  const struct dialect *dialect, struct encode_options *encode,
                                  struct failure *failure);

/* Calls SET for each of PARAMS, with its value as a query would have it. */
typedef enum status operations_setter(void *context, const char *name, const char *value,
                                      struct failure *failure);
enum status operations_set_params(const json_t *params, operations_setter *set, void *context,
                                  struct failure *failure);

/* STATUS_BAD_PARAM if NAME belongs to the request, not to a step. */
enum status operations_check_name(const char *name, struct failure *failure);

/* TEXT as JSON, to be released by json_decref. NULL, and WHY: it is none, names a member twice,
 * or holds a number that would be read as 0 and is not. */
json_t *operations_load(const char *text, char why[PARAM_SHOWN_MAX]);

enum { JSON_VALUE_MAX = 256 };

/* A string, a number, true or false, or a short list of whole numbers as the text that a query
 * would have; false: VALUE is something else, or too long. */
bool operations_value(const json_t *value, char text[JSON_VALUE_MAX]);

#endif
