// SPDX-License-Identifier: Apache-2.0
/* plan_text.h - trees of plans as text: "grayscale|edge|brightness:shift=9;threshold" is one step,
 * then two ways.
 *
 * Used by:  tests of plan_tree.c, and those that publish jobs.
 */
#ifndef BURIN_TEST_PLAN_TEXT_H
#define BURIN_TEST_PLAN_TEXT_H

#include "pipeline/plan_tree.h"

static inline enum status plan_tree_read(struct plan_tree *tree, const char *text,
                                         struct failure *failure) {
    tree->count = 0;
    for (const char *end; text; text = end) {
        char part[PLAN_TEXT_MAX];
        end = strchr(text, '|');
        const size_t length = end ? (size_t)(end++ - text) : strlen(text);
        if (tree->count == PLAN_PARTS_MAX || length >= sizeof part) return STATUS_BAD_PARAM;
        memcpy(part, text, length);
        part[length] = '\0';
        const enum status status = plan_parse(&tree->parts[tree->count++], part, failure);
        if (status) return status;
    }
    return plan_tree_check(tree, failure);
}

/* TEXT as a job has it. Damaged where TEXT is none. */
static inline struct plan_data plan_data_of(const char *text) {
    static _Thread_local struct plan_tree tree;
    struct plan_data data = { .length = 1 };
    if (plan_tree_read(&tree, text, NULL) == STATUS_OK) plan_tree_pack(&tree, &data, NULL);
    return data;
}

/* The first part of DATA as text. */
static inline const char *plan_text(const struct plan_data *data) {
    static _Thread_local struct plan_tree tree;
    static _Thread_local char text[PLAN_TEXT_MAX];
    if (plan_tree_unpack(&tree, NULL, data, NULL)) return "damaged";
    plan_print(&tree.parts[0], text, sizeof text, NULL);
    return text;
}

#endif
