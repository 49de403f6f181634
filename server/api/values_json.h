// SPDX-License-Identifier: Apache-2.0
/* values_json.h - what the steps of a plan tell of an image, as JSON and as plain numbers or text.
 *
 * Used by:  worker/executor.c writes it into the slot, jobs/answer.c checks it, command_run.c
 *           prints it; http/front.c makes room for it.
 * Owns:     nothing; the text is written into the caller's memory.
 * Threads:  any; no state.
 * Limits:   VALUES_JSON_MAX bytes, for a plan that plan_shapes() let pass.
 */
#ifndef BURIN_VALUES_JSON_H
#define BURIN_VALUES_JSON_H

#include "pipeline/plan_tree.h"
#include "server/api/json_writer.h"

/* A number with its comma; everything else of a step, a text included; all steps, operators' names
 * included. */
enum {
    VALUES_NUMBER_MAX = 28,
    VALUES_STEP_MAX = 128 + VALUES_TEXT_MAX,
    VALUES_STEPS_MAX = PLAN_PARTS_MAX * PLAN_STEPS_MAX,
    VALUES_JSON_MAX =
        PLAN_VALUES_MAX * VALUES_NUMBER_MAX + VALUES_STEPS_MAX * VALUES_STEP_MAX + PLAN_TEXT_MAX
};

/* Enough bytes for the list, its zero byte included; numbers and texts are COUNT. */
size_t values_json_bound(uint64_t count);

/* [{"operation": "histogram", "step": 0, "value": [[...], [...], [...]]}, ...] without blanks: one
 * entry a step that tells any, `value` has an element a channel, a number or a list, or is a text.
 * VALUES: of every step. Returns its length; 0: it does not fit into SIZE. */
size_t values_json_write(const struct plan *plan, const struct values *values, char *text,
                         size_t size);

/* What the steps of one part of a plan that parts have told. */
struct values_part {
    const struct plan *plan;
    const struct values *values;
    int output; /* the first of the results that these steps lead to; below 0: all do */
};

/* The same list of all parts: steps are counted from the trunk's first on, and those of a branch
 * have "output" behind "step". */
size_t values_json_write_parts(const struct values_part *parts, int count, char *text, size_t size);

/* Whether TEXT, which comes from a process that is not believed, can be what values_json_write made
 * of COUNT numbers and texts: its form and its characters are right. */
bool values_json_check(const char *text, size_t length, uint64_t count);

/* Number INDEX. Doubles have as many digits as are needed to read the same one back, and always a
 * point or an exponent. */
void values_json_number(struct json_writer *json, const struct values *values, size_t index);

#endif
