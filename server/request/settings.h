// SPDX-License-Identifier: Apache-2.0
/* settings.h - what a request asks for: the plan, how the image is written, the device.
 *
 * Names and values come from the query and from form fields, in any order. If they are another
 * service's, its dialect translates them (http/imaginary.h): nothing here knows its names.
 *
 * Used by:  http/request_flow.c (query), upload.c (fields), submit.c; http/imaginary.c.
 * Owns:     the outputs, until settings_release. No socket, no slot.
 * Fails:    STATUS_BAD_PARAM naming the parameter and its range; a name given twice is refused.
 * Threads:  one at a time.
 */
#ifndef BURIN_SETTINGS_H
#define BURIN_SETTINGS_H

#include "pipeline/plan.h"
#include "pipeline/probe.h"
#include "server/jobs/job.h"
#include "server/request/operations.h"
#include "server/request/outputs.h"

struct settings;

/* How clients of another service write operators, parameters and steps: translates them into ours
 * while they come. STATUS_BAD_PARAM with a sentence for what cannot be had. */
struct dialect {
    /* Appends the step of the operation NAME, which the request's path has. */
    enum status (*begin)(struct dialect *dialect, struct plan *plan, const char *name,
                         struct failure *failure);
    /* Whether that operation has a parameter NAME. */
    bool (*takes)(const struct dialect *dialect, const struct plan *plan, const char *name);
    /* A parameter from the query or a form: its own, or one for settings_set_native. */
    enum status (*set)(struct dialect *dialect, struct settings *settings, const char *name,
                       const char *value, struct failure *failure);
    /* Everything has come: adds the steps around the operation's. Not called for /pipeline. */
    enum status (*complete)(struct dialect *dialect, struct plan *plan,
                            struct encode_options *encode, struct failure *failure);
    /* Whether the step NAME of a list of operations is the dialect's; add_step then appends it. */
    bool (*has_step)(const struct dialect *dialect, const struct plan *plan, const char *name);
    enum status (*add_step)(const struct dialect *dialect, const struct operations_place *place,
                            const char *name, const json_t *params, struct failure *failure);
};

struct settings {
    bool pipeline;                 /* steps come from `operations` */
    bool info;                     /* nothing is made: a device is all that may be asked for */
    uint32_t given, given_in_step; /* bit a reserved name; in a pipeline's step: its value stands */
    struct plan plan;
    struct dialect *dialect;      /* whose names these are; NULL: ours */
    struct encode_options encode; /* format FORMAT_NONE: as Accept says (negotiation.h) */
    bool accept_damage;           /* damaged=accept */
    char device[DEVICE_WANT_MAX];
    struct outputs *outputs; /* several results are asked for; NULL: one */
};

/* OP is the name of one of OPS, or of an operation of DIALECT, or NULL for /pipeline. OPS and
 * DIALECT must last as long as the settings; DIALECT may be NULL. */
enum status settings_init(struct settings *settings, const struct op_set *ops, const char *op,
                          struct dialect *dialect, struct failure *failure);

/* Of /info, which has no plan to complete. */
void settings_init_info(struct settings *settings);

enum status settings_set(struct settings *settings, const char *name, const char *value,
                         struct failure *failure);

/* The same for a name that no dialect translates. */
enum status settings_set_native(struct settings *settings, const char *name, const char *value,
                                struct failure *failure);

/* Whether NAME is a parameter of the request itself, rather than of its operator. */
bool settings_is_shared(const struct settings *settings, const char *name);

/* A step of a pipeline sets how the file is written, as a dialect may; LAST: it is the last. */
enum status settings_set_in_step(struct settings *settings, const char *name, const char *value,
                                 bool last, struct failure *failure);

/* Whether the operator that the request names has a parameter NAME; of /pipeline none has. */
bool settings_takes(const struct settings *settings, const char *name);

/* Whether the setting NAME may name operators. */
bool settings_names_operators(const char *name);

/* The INDEX-th name that is every request's, so that no operator's parameter may have it; NULL
 * behind the last. */
const char *settings_shared_name(int index);

/* Whether a user's operator is planned, or steps are missing still: MORE may come, form fields. */
bool settings_may_plan(const struct settings *settings, bool more);

/* A background is of operators too, but of those that were given one of their own. */
enum status settings_give_background(const struct encode_options *encode, struct plan *plan,
                                     struct failure *failure);

/* Once everything has come. */
enum status settings_complete(struct settings *settings, struct failure *failure);

/* Any number of times. */
void settings_release(struct settings *settings);

#endif
