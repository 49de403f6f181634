// SPDX-License-Identifier: Apache-2.0
/* imaginary_fit.h - how a resize fits, by what imaginary's parameters say; and the last step of a
 * plan, which is looked at for that.
 *
 * Used by:  imaginary_steps.c.
 * Owns:     nothing.
 * Fails:    STATUS_BAD_PARAM with a sentence.
 * Threads:  any.
 */
#ifndef BURIN_IMAGINARY_FIT_H
#define BURIN_IMAGINARY_FIT_H

#include "server/http/imaginary_rows.h"

#include <stdio.h>
#include <string.h>

static inline bool is_on(const struct params *params, int index) {
    return is_given(params, index) && params->number[index];
}

static inline bool is_off(const struct params *params, int index) {
    return is_given(params, index) && !params->number[index];
}

static inline struct step *last(struct plan *plan) {
    return &plan->steps[plan->count - 1];
}

static inline int place_in(const struct step *step, const char *name) {
    for (int i = 0; step->op->params[i].name; i++)
        if (strcmp(step->op->params[i].name, name) == 0) return i;
    return -1;
}

static inline bool has(struct plan *plan, const char *name) {
    const int index = place_in(last(plan), name);
    return index >= 0 && is_given(&last(plan)->params, index);
}

static inline bool has_both(struct plan *plan) {
    return has(plan, "width") && has(plan, "height");
}

static inline enum status set_number(struct plan *plan, const char *name, long number,
                                     struct failure *failure) {
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    return plan_set(plan, name, text, failure);
}

struct fit {
    const char *fit; /* NULL: nothing of imaginary's says it */
    bool enlarge;
};

/* For an operation of SHAPE. */
struct fit fit_of(const struct imaginary *imaginary, enum shape shape);

/* Gives it to the last step, a resize that has its sides. */
enum status fit_set(const struct imaginary *imaginary, struct plan *plan, struct fit fit,
                    const struct encode_options *encode, struct failure *failure);

#endif
