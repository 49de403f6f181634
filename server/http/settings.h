// SPDX-License-Identifier: Apache-2.0
/* settings.h - what a request asks for: the plan, how the image is written, the device.
 *
 * Gets names and values from the query and from form fields, in whatever order they come.
 *
 * Used by:  request_flow.c (query), upload.c (fields), handle_process.c and handle_info.c.
 * Owns:     the outputs, until settings_release. No socket, no slot.
 * Fails:    STATUS_BAD_PARAM naming the parameter and its range; a name given twice is refused.
 * Threads:  one at a time.
 */
#ifndef BURIN_SETTINGS_H
#define BURIN_SETTINGS_H

#include "pipeline/plan.h"
#include "pipeline/probe.h"
#include "server/http/imaginary.h"
#include "server/http/outputs.h"
#include "server/jobs/job.h"

struct settings {
    bool pipeline;                 /* steps come from `operations` */
    bool info;                     /* nothing is made: a device is all that may be asked for */
    uint32_t given, given_in_step; /* bit a reserved name; in a pipeline's step: its value stands */
    struct plan plan;
    struct imaginary imaginary;   /* whether the operation is one of its, and what it has of it */
    struct encode_options encode; /* format FORMAT_NONE: as Accept says (negotiation.h) */
    bool accept_damage;           /* damaged=accept */
    char device[DEVICE_WANT_MAX];
    struct outputs *outputs; /* several results are asked for; NULL: one */
};

/* OP is the name of one of OPS or of imaginary's operations, or NULL for /pipeline; OPS stay as
 * long as the settings. WHOLE: names mean what they mean to imaginary. */
enum status settings_init(struct settings *settings, const struct op_set *ops, const char *op,
                          bool whole, struct failure *failure);

/* Of /info, which has no plan to complete. */
void settings_init_info(struct settings *settings);

enum status settings_set(struct settings *settings, const char *name, const char *value,
                         struct failure *failure);

/* What a step of a pipeline says of the file, as clients of imaginary do; LAST: it is the last. */
enum status settings_set_in_step(struct settings *settings, const char *name, const char *value,
                                 bool last, struct failure *failure);

/* Whether the operator that the request names has a parameter NAME; of /pipeline none has. */
bool settings_takes(const struct settings *settings, const char *name);

/* Whether the setting NAME may name operators. */
bool settings_names_operators(const char *name);

/* The INDEX-th name that is every request's, so that no operator's parameter may have it; NULL
 * behind the last. */
const char *settings_reserved(int index);

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
