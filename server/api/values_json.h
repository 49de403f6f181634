// SPDX-License-Identifier: Apache-2.0
/* values_json.h - the values that steps of a plan report, as JSON and as plain numbers or text.
 *
 * Used by:  worker/executor.c writes it into the slot, jobs/answer.c checks it, one_run.c
 *           prints it; http/front.c makes room for it.
 * Owns:     nothing; the text is written into the caller's memory.
 * Fails:    values_json_write and values_json_write_parts return 0 if the text does not fit.
 * Threads:  any; no state.
 * Limits:   VALUES_JSON_MAX bytes, for a plan that plan_shapes() accepted.
 */
#ifndef BURIN_VALUES_JSON_H
#define BURIN_VALUES_JSON_H

#include "pipeline/plan_tree.h"
#include "server/api/json_writer.h"

/* Bytes of a number with its comma; of a step without numbers but with a text or their names; of
 * the whole list, with operators' names. */
enum {
    VALUES_NUMBER_MAX = 28,
    VALUES_STEP_MAX = 128 + VALUES_TEXT_MAX,
    VALUES_STEPS_MAX = PLAN_PARTS_MAX * PLAN_STEPS_MAX,
    VALUES_JSON_MAX =
        PLAN_VALUES_MAX * VALUES_NUMBER_MAX + VALUES_STEPS_MAX * VALUES_STEP_MAX + PLAN_TEXT_MAX
};

/* Enough bytes for a list of COUNT numbers and texts, with its zero byte. */
size_t values_json_bound(uint64_t count);

/* Writes [{"operation": "histogram", "step": 0, "value": [[...], [...], [...]]}, ...] without
 * blanks: an entry for each step that reports values; "value" has a number or a list for each
 * channel, or is a text, or an object of numbers. VALUES: of every step. Returns the length. */
size_t values_json_write(const struct plan *plan, const struct values *values, char *text,
                         size_t size);

/* The values of one part of a plan. */
struct values_part {
    const struct plan *plan;
    const struct values *values;
    int output; /* the first result that these steps lead to; below 0: they lead to all */
};

/* Writes the same list for all parts: steps are counted from the trunk's first, and entries of a
 * branch have "output" after "step". */
size_t values_json_write_parts(const struct values_part *parts, int count, char *text, size_t size);

/* Whether TEXT, from a process that is not trusted, has the form and the characters of a list that
 * values_json_write makes of COUNT numbers and texts. */
bool values_json_check(const char *text, size_t length, uint64_t count);

/* Writes number INDEX. Doubles get as many digits as reading back the same number needs, and always
 * a point or an exponent. */
void values_json_number(struct json_writer *json, const struct values *values, size_t index);

#endif
