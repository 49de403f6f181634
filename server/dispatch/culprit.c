// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch/culprit.h"

#include "pipeline/skeletons/user_op.h"

#include <stdio.h>
#include <stdlib.h>

/* Appends "name of file" if STEP's operator is one of GENERATION's files. */
static void add_name(const struct generation *generation, const struct step *step, char *names,
                     size_t size) {
    const size_t used = strlen(names);
    for (int f = 0; f < generation->file_count; f++) {
        const struct user_file *file = generation->files[f];
        for (int i = 0; i < file->count; i++)
            if (&file->ops[i].op == step->op)
                snprintf(names + used, size - used, "%s%s of %s", used ? " or " : "",
                         step->op->name, file->name);
    }
}

void culprit_name(struct job *job, const struct generation *generation, bool in_order) {
    char names[160] = "", message[sizeof job->failure.message];
    struct failure ignored;
    struct plan_tree *tree = job->culprit > 0 && generation ? malloc(sizeof *tree) : NULL;
    if (tree && !plan_tree_unpack(tree, &generation->ops, &job->plan, &ignored)) {
        const struct step *step;
        const uint32_t culprit = (uint32_t)job->culprit - 1;
        for (uint32_t i = in_order ? culprit : 0;
             (!in_order || i == culprit) && (step = plan_tree_step(tree, i)); i++)
            add_name(generation, step, names, sizeof names);
    }
    free(tree);
    if (!names[0]) return;
    memcpy(message, job->failure.message, sizeof message);
    fail(&job->failure, job->failure.status, "%s: %s", names, message);
}
