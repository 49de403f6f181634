// SPDX-License-Identifier: Apache-2.0
/* plan.h - checked steps of a pipeline, made from text before any pixel is touched.
 *
 * Text form: steps joined by ';', each `operator` or `operator:name=value,name=value`. The first
 * value may come without a name: 300x200, 300x, x200 or 50% are the width and the height of an
 * operator that has both; another number is the operator's first parameter. The text that
 * plan_print writes parses back to the same plan.
 *
 * Used by:  server/request and `burin run` make a plan; plan_tree.h puts plans together; run.c runs
 *           them.
 * Owns:     nothing; `ops` and the operators must outlive the plan.
 * Fails:    STATUS_BAD_PARAM, STATUS_TOO_LARGE, STATUS_MISMATCH; the message names the step.
 * Threads:  any.
 * Limits:   PLAN_STEPS_MAX steps, PLAN_TEXT_MAX bytes of text, PLAN_VALUES_MAX numbers reported.
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
    PLAN_VALUES_MAX = 1 << 20, /* numbers that all steps together may report */
};

struct step {
    const struct op *op;
    struct params params;
};

struct plan {
    int count;
    struct step steps[PLAN_STEPS_MAX];
    const struct op_set *ops; /* operators that steps may use; NULL: the registry's */
};

/* Appends a step with every parameter at its default. STATUS_BAD_PARAM for an unknown operator (the
 * message suggests the nearest name) or beyond PLAN_STEPS_MAX. */
enum status plan_add(struct plan *plan, const char *op, struct failure *failure);

/* Sets a parameter of the last step. */
enum status plan_set(struct plan *plan, const char *name, const char *value,
                     struct failure *failure);

/* Sets parameter NAME in every step whose operator has it, unless the step has set it already. */
enum status plan_give(struct plan *plan, const char *name, const char *value,
                      struct failure *failure);

/* True if the last step's operator has a parameter NAME. */
bool plan_takes(const struct plan *plan, const char *name);

/* The step that gets the request's further images: the first whose operator needs any, else the
 * first whose operator takes any, or -1. */
int plan_aux_step(const struct plan *plan);

/* The index of the image called NAME in the `aux` of OP; -1: there is none. */
int op_aux_place(const struct op *op, const char *name);

/* The same for that step's operator. */
int plan_aux(const struct plan *plan, const char *name);

/* The record of the image at PLACE, an index that plan_aux returned. */
const struct op_aux *plan_aux_at(const struct plan *plan, int place);

/* Whether that step must get an image. */
bool plan_needs_aux(const struct plan *plan);

/* Whether BRANCH may get the images, not a step of TRUNK: those that a step needs go before those
 * that another may have. */
bool plan_leaves_aux(const struct plan *trunk, const struct plan *branch);

/* Whether AUX, the shape of an image that was sent for PLACE, is of the kind that this step takes:
 * a branch may take masks where another one takes a picture. */
bool plan_aux_is_for(const struct plan *plan, int place, const struct image *aux);

/* STATUS_BAD_PARAM unless the images of bits GIVEN, by place, are all that the steps need. GETS:
 * those that were sent do not go to another part of a tree. */
enum status plan_aux_complete(const struct plan *plan, uint32_t given, bool gets,
                              struct failure *failure);

/* STATUS_BAD_PARAM unless every step has its required parameters. */
enum status plan_complete(const struct plan *plan, struct failure *failure);

/* Makes PLAN from its text form, with the registry's operators; plan_complete holds for it. */
enum status plan_parse(struct plan *plan, const char *text, struct failure *failure);

/* The same with the operators of OPS. */
enum status plan_parse_of(struct plan *plan, const struct op_set *ops, const char *text,
                          struct failure *failure);

/* Writes the text form, without parameters at their default. STATUS_BAD_PARAM if SIZE bytes are too
 * few. */
enum status plan_print(const struct plan *plan, char *text, size_t size, struct failure *failure);

/* Fills SHAPES, which has room for PLAN_STEPS_MAX + 1 images: SHAPES[0] is IN, SHAPES[i + 1] is the
 * result of step i; a step that reports values passes its image on. STATUS_TOO_LARGE if a shape is
 * over PIXELS_MAX, STATUS_MISMATCH if an operator does not take its image's depth, STATUS_BAD_PARAM
 * if the steps would report more than PLAN_VALUES_MAX numbers. */
enum status plan_shapes(const struct plan *plan, const struct image *in, uint64_t pixels_max,
                        struct image *shapes, struct failure *failure);

/* The same, after turning PLAN's percentages, which are of each step's input, into numbers. All
 * other users of a plan need one that has none left. KNOWN: the run gets an image of IN's size,
 * from which nothing was cut off. */
enum status plan_settle(struct plan *plan, const struct image *in, bool known, uint64_t pixels_max,
                        struct image *shapes, struct failure *failure);

/* The same with what each step cuts off (op.finder); plan_shapes assumes that nothing is. */
enum status plan_shapes_cut(const struct plan *plan, const struct image *in, uint64_t pixels_max,
                            const struct cut *cuts, struct image *shapes, struct failure *failure);

/* The first step from S on whose operator has a finder, so that only the pixels decide the shapes
 * behind it; -1: none. */
int plan_finder_step(const struct plan *plan, int s);

/* Whether the size of the image that step S gets is known before the plan runs. */
bool plan_knows_size(const struct plan *plan, int s);

/* Makes FINDING the steps of PLAN before step S, and that step's finder. */
void plan_find(struct plan *finding, const struct plan *plan, int s);

/* The values that step S reports; type VALUE_NONE: none. SHAPES is from plan_shapes. */
struct values_shape plan_step_values(const struct plan *plan, int s, const struct image *shapes);

/* How many numbers all steps report together. */
uint64_t plan_value_count(const struct plan *plan, const struct image *shapes);

/* True if a step's operator has `values`: the plan is asked for them. */
bool plan_reports(const struct plan *plan);

/* True if there are steps and all of them report values: none makes an image. */
bool plan_only_reports(const struct plan *plan);

/* True if a step treats samples as sRGB and ignores the image's profile, by which no step before
 * has converted. */
bool plan_assumes_srgb(const struct plan *plan);

/* True if a step converts by the image's profile. */
bool plan_converts(const struct plan *plan);

/* The refusal of OP, which converts by the image's profile, behind another step: its table is made
 * for images as they come. */
enum status plan_refuse_later(const struct op *op, struct failure *failure);

/* Puts the operator OP, with every parameter at its default, before the first step, if that is
 * another one. */
enum status plan_begin_with(struct plan *plan, const char *op, struct failure *failure);

/* STATUS_BAD_PARAM unless the last step's operator accepts a list of widths, its `width` is not set
 * and no parameter excludes such a list. */
enum status plan_check_widths(const struct plan *plan, struct failure *failure);

/* True if both have the same steps with the same parameters. */
bool plan_is_same(const struct plan *a, const struct plan *b);

/* True if the operator of a step was added to its set: a user wrote it. */
bool plan_has_user_operators(const struct plan *plan);

/* STATUS_MISMATCH unless AUX, the shape of the mask NAME, is as large as the image that the step of
 * plan_aux_step gets; a picture may have any size. SHAPES is from plan_shapes. */
enum status plan_aux_fits(const struct plan *plan, const char *name, const struct image *aux,
                          const struct image *shapes, struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
