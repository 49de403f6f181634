// SPDX-License-Identifier: Apache-2.0
/* outputs.h - settings for several results of one upload.
 *
 *     widths=320,640,1280              for an operator whose width may be a list
 *     types=jpeg,webp                  each result in each type
 *     outputs=[{"operations": [...], "type": "webp", "quality": 60, "name": "small"}, ...]
 *                                      for a pipeline, after the steps of `operations`
 *
 * Each result equals that of a request for it alone, byte for byte. If several widths lead to the
 * same result, it is made once.
 *
 * Used by:  settings.c sets it, submit.c makes a plan and a job's outputs from it, result.c takes
 *           names from it.
 * Owns:     heap, from the first setter to outputs_release.
 * Fails:    STATUS_BAD_PARAM naming the parameter; STATUS_TOO_LARGE; STATUS_NO_MEMORY.
 * Threads:  one at a time.
 * Limits:   WIDTHS_MAX widths, OUTPUT_TYPES_MAX types, OUTPUTS_MAX results.
 */
#ifndef BURIN_OUTPUTS_H
#define BURIN_OUTPUTS_H

#include "pipeline/plan_tree.h"
#include "server/jobs/job.h"
#include "server/width_list.h"

#include <jansson.h>

/* The name of the report, beside the results' names. */
#define OUTPUTS_MANIFEST "manifest.json"

enum { OUTPUT_TYPES_MAX = 8, OUTPUT_NAME_MAX = 72 };

struct settings;

struct outputs {
    struct width_list widths;
    int type_count;
    enum format types[OUTPUT_TYPES_MAX];
    json_t *list;            /* NULL: not given */
    bool has_user_operators; /* in the list */

    /* set by outputs_plan and outputs_name */
    int count;
    uint32_t notes; /* enum note bits */
    char names[OUTPUTS_MAX][OUTPUT_NAME_MAX];
};

/* Each allocates *OUTPUTS, or settings.outputs, if it is NULL. */
enum status outputs_set_widths(struct outputs **outputs, const char *value,
                               struct failure *failure);
enum status outputs_set_types(struct outputs **outputs, const char *value, struct failure *failure);
enum status outputs_set_list(struct settings *settings, const char *value, struct failure *failure);

void outputs_release(struct outputs *outputs); /* NULL is fine */

/* After all SETTINGS have come: whether they are compatible. */
enum status outputs_check(const struct settings *settings, struct failure *failure);

/* Makes the parts of the plan, and sets part and options of each result in RESULTS. IN: the image's
 * shape; of widths that lead to the same size only the first is kept. */
enum status outputs_plan(const struct settings *settings, const struct image *in,
                         uint64_t pixels_max, struct plan_tree *plans,
                         struct job_output results[OUTPUTS_MAX], struct failure *failure);

/* Sets the names, once `type` and `image` of all RESULTS are known. LABEL: the operator, or
 * "pipeline". */
enum status outputs_name(const struct settings *settings, const char *label,
                         const struct job_output *results, struct failure *failure);

#endif
