// SPDX-License-Identifier: Apache-2.0
/* outputs.h - several results of one upload: what a request asks for.
 *
 *     widths=320,640,1280              of an operator whose width may be a list
 *     types=jpeg,webp                  each result in each of these
 *     outputs=[{"operations": [...], "type": "webp", "quality": 60, "name": "small"}, ...]
 *                                      of a pipeline, behind the operations that all have
 *
 * Each result is what a request for it alone would get, name for name and byte for byte. Of widths
 * that come to the same one the first is made.
 *
 * Used by:  settings.c fills it, handle_process.c makes a plan and a job's outputs of it,
 *           reply_job.c has names of it.
 * Owns:     heap, from the first setter that is called to outputs_release.
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

/* What the account of all is called, beside the results. */
#define OUTPUTS_MANIFEST "manifest.json"

enum { OUTPUT_TYPES_MAX = 8, OUTPUT_NAME_MAX = 72 };

struct settings;

struct outputs {
    struct width_list widths;
    int type_count;
    enum format types[OUTPUT_TYPES_MAX];
    json_t *list;            /* NULL: not given */
    bool has_user_operators; /* in the list */

    /* Set by outputs_plan and outputs_name. */
    int count;
    uint32_t notes; /* enum note bits */
    char names[OUTPUTS_MAX][OUTPUT_NAME_MAX];
};

/* Each makes *OUTPUTS, or those of SETTINGS, where it is NULL. */
enum status outputs_set_widths(struct outputs **outputs, const char *value,
                               struct failure *failure);
enum status outputs_set_types(struct outputs **outputs, const char *value, struct failure *failure);
enum status outputs_set_list(struct settings *settings, const char *value, struct failure *failure);

void outputs_release(struct outputs *outputs); /* NULL is fine */

/* Once all SETTINGS have come: whether they go together. */
enum status outputs_check(const struct settings *settings, struct failure *failure);

/* The plan's parts, and for each result its part and its options in RESULTS. IN is the image's
 * shape: of widths that come to the same size the first stands for all. */
enum status outputs_plan(const struct settings *settings, const struct image *in,
                         uint64_t pixels_max, struct plan_tree *plans,
                         struct job_output results[OUTPUTS_MAX], struct failure *failure);

/* Names, once the types and sizes of all RESULTS are known (`type`, `image`). LABEL: the
 * operator's, or "pipeline". */
enum status outputs_name(const struct settings *settings, const char *label,
                         const struct job_output *results, struct failure *failure);

#endif
