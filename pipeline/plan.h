// SPDX-License-Identifier: Apache-2.0
/* plan.h - checked steps of a pipeline, made from text before any pixel is touched.
 *
 * Text form: steps joined by ';', each `operator` or `operator:name=value,name=value`. A plan
 * prints to that form and parses back to the same plan: so it crosses from process to process.
 *
 * Used by:  the front makes it from a request, the worker from a job's text, `burin run` from its
 *           arguments; run.c walks it.
 * Fails:    STATUS_BAD_PARAM, STATUS_TOO_LARGE, STATUS_MISMATCH; the sentence names the step.
 * Threads:  any.
 * Limits:   PLAN_STEPS_MAX steps, PLAN_TEXT_MAX bytes of text, PLAN_VALUES_MAX numbers told.
 */
#ifndef BURIN_PLAN_H
#define BURIN_PLAN_H

#include "pipeline/op_set.h"
#include "pipeline/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PLAN_STEPS_MAX = 10,
    PLAN_TEXT_MAX = 2048,
    PLAN_VALUES_MAX = 1 << 20, /* numbers that all steps together may tell */
};

struct step {
    const struct op *op;
    struct params params;
};

struct plan {
    int count;
    struct step steps[PLAN_STEPS_MAX];
    const struct op_set *ops; /* that it may have; NULL: this process's, which the registry has */
};

/* Appends a step with every parameter at its default. STATUS_BAD_PARAM for an unknown operator (the
 * nearest is named) or one step too many. */
enum status plan_add(struct plan *plan, const char *op, struct failure *failure);

/* Sets a parameter of the last step. */
enum status plan_set(struct plan *plan, const char *name, const char *value,
                     struct failure *failure);

/* Sets a parameter of every step whose operator takes it and that was not given it. */
enum status plan_give(struct plan *plan, const char *name, const char *value,
                      struct failure *failure);

/* Whether the last step's operator has a parameter NAME. */
bool plan_takes(const struct plan *plan, const char *name);

/* The step that the images beside the input go to: the first whose operator takes any. -1: none. */
int plan_aux_step(const struct plan *plan);

/* The place of the image called NAME in that step's record, or -1. */
int plan_aux(const struct plan *plan, const char *name);

/* The name of the image at PLACE, which plan_aux told. */
const char *plan_aux_name(const struct plan *plan, int place);

/* What the plan's progress counts: the unit of the first operator that tells any, else "steps". */
const char *plan_unit(const struct plan *plan);

/* Every step has its required parameters. */
enum status plan_complete(const struct plan *plan, struct failure *failure);

/* Starts from an empty PLAN of this process's operators; the same three together, from the text
 * form. */
enum status plan_parse(struct plan *plan, const char *text, struct failure *failure);

/* The same of OPS. */
enum status plan_parse_of(struct plan *plan, const struct op_set *ops, const char *text,
                          struct failure *failure);

/* STATUS_BAD_PARAM when TEXT is too small. Parameters at their default are left out. */
enum status plan_print(const struct plan *plan, char *text, size_t size, struct failure *failure);

/* The shape after every step: SHAPES[0] is IN, SHAPES[i + 1] what step i puts out, or passes on;
 * room for PLAN_STEPS_MAX + 1. STATUS_TOO_LARGE where one is over PIXELS_MAX, STATUS_MISMATCH where
 * an operator does not take an image's depth, STATUS_BAD_PARAM where more than PLAN_VALUES_MAX
 * numbers would be told. */
enum status plan_shapes(const struct plan *plan, const struct image *in, uint64_t pixels_max,
                        struct image *shapes, struct failure *failure);

/* What step S tells of the image that it gets; type VALUE_NONE: nothing. SHAPES is plan_shapes'. */
struct values_shape plan_step_values(const struct plan *plan, int s, const struct image *shapes);

/* How many numbers all steps tell. */
uint64_t plan_value_count(const struct plan *plan, const struct image *shapes);

/* Whether there are steps and all of them tell values: the image stays as it came. */
bool plan_tells_only(const struct plan *plan);

/* Whether some step takes samples for sRGB's whatever the image's profile says. */
bool plan_assumes_srgb(const struct plan *plan);

/* STATUS_BAD_PARAM unless the last step's `width` may be several, and was given no one. */
enum status plan_check_widths(const struct plan *plan, struct failure *failure);

/* Whether both have the same steps with the same parameters. */
bool plan_is_same(const struct plan *a, const struct plan *b);

/* Whether some step's operator was added to its set: a user wrote it. */
bool plan_has_user_operators(const struct plan *plan);

/* STATUS_MISMATCH unless AUX, the shape of what came under NAME, is as large as the image that the
 * step of plan_aux_step gets. SHAPES is plan_shapes'. */
enum status plan_aux_fits(const struct plan *plan, const char *name, const struct image *aux,
                          const struct image *shapes, struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
