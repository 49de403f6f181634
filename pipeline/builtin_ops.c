// SPDX-License-Identifier: Apache-2.0
#include "pipeline/builtin_ops.h"

#include <string.h>

#define OP(name) extern const struct op op_##name;
#include "ops.inc"
#undef OP

/* The NULL lets a program without any operator compile too. */
static const struct op *const ops[] = {
#define OP(name) &op_##name,
#include "ops.inc"
#undef OP
    NULL
};
enum { OP_COUNT = sizeof ops / sizeof *ops - 1 };

int builtin_op_count(void) {
    return OP_COUNT;
}

const struct op *builtin_op_at(int index) {
    return ops[index];
}

const struct op *builtin_op_find(const char *name) {
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(ops[i]->name, name) == 0) return ops[i];
    return NULL;
}
