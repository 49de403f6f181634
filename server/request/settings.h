// SPDX-License-Identifier: Apache-2.0
/* settings.h - what a request asks for: the plan, how the image is written, the device.
 *
 * Names and values come from the query and from form fields, in any order. The steps of a pipeline
 * come as one value, a JSON list:
 *
 *     operations=[{"operation": "histeq", "params": {"bins": 64}}, ...]
 *
 * A dialect translates names of another service (http/imaginary.h): nothing here knows them.
 *
 * Used by:  http/access.c (query), upload.c (fields), submit.c, outputs.c; http/imaginary.c;
 *           access/key_table.c (a preset's parameters).
 * Owns:     the outputs, until settings_release. No socket, no slot.
 * Fails:    STATUS_BAD_PARAM, naming the parameter and its range; a name given twice is refused.
 * Threads:  one at a time.
 */
#ifndef BURIN_SETTINGS_H
#define BURIN_SETTINGS_H

#include "pipeline/encode_options.h"
#include "pipeline/param.h"
#include "pipeline/plan.h"
#include "pipeline/probe.h"
#include "server/jobs/job.h"
#include "server/request/outputs.h"
#include "server/request/overlays.h"

#include <jansson.h>

struct settings;

/* The list that a step belongs to. */
struct operations_place {
    struct plan *plan;
    struct encode_options *encode;
    struct settings *settings; /* the request's, for options of the file in a dialect's step; NULL:
                                  the list belongs to one of several results */
    bool first, last;          /* step of its list */
};

enum { DIALECT_IGNORED_MAX = 96 };

/* Translates another service's operators, parameters and steps into Burin's as they come. The
 * functions return STATUS_BAD_PARAM with a sentence for what Burin does not have. */
struct dialect {
    /* Appends the step of the operation NAME of the request's path. */
    enum status (*begin)(struct dialect *dialect, struct plan *plan, const char *name,
                         struct failure *failure);
    /* Whether that operation has a parameter NAME. */
    bool (*takes)(const struct dialect *dialect, const struct plan *plan, const char *name);
    /* A parameter from the query or a form: its own, or one for settings_set_native. */
    enum status (*set)(struct dialect *dialect, struct settings *settings, const char *name,
                       const char *value, struct failure *failure);
    /* After all parameters: adds the steps around the operation's. Called for each of several
     * widths; not for /pipeline. */
    enum status (*complete)(struct dialect *dialect, struct plan *plan,
                            const struct encode_options *encode, struct failure *failure);
    /* Whether the step NAME of a list belongs to the dialect; if so, add_step appends it. */
    bool (*has_step)(const struct dialect *dialect, const struct plan *plan, const char *name);
    enum status (*add_step)(const struct dialect *dialect, const struct operations_place *place,
                            const char *name, const json_t *params, struct failure *failure);
    char ignored[DIALECT_IGNORED_MAX]; /* parameters that did nothing, with commas between */
    bool as_stored;                    /* EXIF was not to rotate the image, so a rotated one is
                                          refused */
};

struct settings {
    bool pipeline; /* the steps come from `operations` */
    bool info;     /* for /info: only `device` is accepted */
    uint32_t given,
        given_in_step; /* a bit for each shared name; in_step: a pipeline's step set it */
    struct plan plan;
    struct dialect *dialect;      /* NULL: Burin's own names */
    struct encode_options encode; /* format FORMAT_NONE: Accept decides (negotiation.h) */
    bool accept_damage;           /* damaged=accept */
    char device[DEVICE_WANT_MAX];
    char overlay[OVERLAY_NAME_MAX]; /* one of the server's; "": none is named */
    struct outputs *outputs;        /* of several results; NULL: one result */
};

/* OP: the name of one of OPS, or of an operation of DIALECT, or NULL for /pipeline. DIALECT may be
 * NULL. OPS and DIALECT must be valid as long as the settings. */
enum status settings_init(struct settings *settings, const struct op_set *ops, const char *op,
                          struct dialect *dialect, struct failure *failure);

/* For /info, which has no plan to complete. */
enum status settings_init_info(struct settings *settings, struct dialect *dialect);

enum status settings_set(struct settings *settings, const char *name, const char *value,
                         struct failure *failure);

/* The same without a dialect. */
enum status settings_set_native(struct settings *settings, const char *name, const char *value,
                                struct failure *failure);

/* Whether NAME is a parameter of the request itself, rather than of its operator. */
bool settings_is_shared(const struct settings *settings, const char *name);

/* A step of a dialect's pipeline sets how the file is written. LAST: it is the last step. */
enum status settings_set_in_step(struct settings *settings, const char *name, const char *value,
                                 bool last, struct failure *failure);

/* Whether the shared parameter NAME has come. */
bool settings_give(const struct settings *settings, const char *name);

/* Whether the request's operator has a parameter NAME; false for /pipeline. */
bool settings_takes(const struct settings *settings, const char *name);

/* Whether the value of NAME may name operators. */
bool settings_names_operators(const char *name);

/* The INDEX-th shared name, which no operator's parameter may have; NULL after the last. */
const char *settings_shared_name(int index);

/* Whether the plan has a user's operator, or steps may still come. MORE: form fields may come. */
bool settings_may_plan(const struct settings *settings, bool more);

/* Gives the background to operators too, except those with one of their own. */
enum status settings_give_background(const struct encode_options *encode, struct plan *plan,
                                     struct failure *failure);

/* After all settings have come. */
enum status settings_complete(struct settings *settings, struct failure *failure);

/* Whether they take the image of PROBE, whose data may be cut off. */
enum status settings_check_image(const struct settings *settings, const struct probe *probe,
                                 struct failure *failure);

/* Any number of times. */
void settings_release(struct settings *settings);

/* ---- lists of steps in JSON */

/* Appends the steps of LIST to the PLAN of one of several results, which is written as ENCODE
 * says. */
enum status operations_add_output(struct plan *plan, const json_t *list,
                                  const struct dialect *dialect, struct encode_options *encode,
                                  struct failure *failure);

/* Calls SET for each of PARAMS, with its value in the form that a query has. */
typedef enum status operations_setter(void *context, const char *name, const char *value,
                                      struct failure *failure);
enum status operations_set_params(const json_t *params, operations_setter *set, void *context,
                                  struct failure *failure);

/* STATUS_BAD_PARAM if NAME belongs to the request, not to a step. */
enum status operations_check_name(const char *name, struct failure *failure);

/* Parses TEXT; the caller calls json_decref. NULL, with WHY: no JSON, a member named twice, or a
 * number that is not 0 but would be read as 0. */
json_t *operations_load(const char *text, char why[PARAM_SHOWN_MAX]);

enum { JSON_VALUE_MAX = 256 };

/* Prints a string, a number, true or false, or a short list of numbers in the form that a query
 * has. False: VALUE is something else, or too long. */
bool operations_value(const json_t *value, char text[JSON_VALUE_MAX]);

#endif
