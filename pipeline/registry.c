// SPDX-License-Identifier: Apache-2.0
#include "pipeline/registry.h"

#include <string.h>

#define OP(name) extern const struct op op_##name;
#include "ops.inc"
#undef OP

/* NULL ends it, so that a program without any operator compiles too. */
static const struct op *const ops[] = {
#define OP(name) &op_##name,
#include "ops.inc"
#undef OP
    NULL
};
enum { OP_COUNT = sizeof ops / sizeof *ops - 1 };

int registry_count(void) {
    return OP_COUNT;
}

const struct op *registry_at(int index) {
    return index >= 0 && index < OP_COUNT ? ops[index] : NULL;
}

const struct op *registry_find(const char *name) {
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(ops[i]->name, name) == 0) return ops[i];
    return NULL;
}

const char *registry_aux(const char *name) {
    for (int i = 0; i < OP_COUNT; i++)
        for (int p = 0; p < OP_AUX_MAX && ops[i]->aux[p].name; p++)
            if (strcmp(ops[i]->aux[p].name, name) == 0) return ops[i]->aux[p].name;
    return NULL;
}

const char *registry_nearest(const char *name) {
    const char *names[OP_COUNT + 1];
    for (int i = 0; i < OP_COUNT; i++) names[i] = ops[i]->name;
    return nearest_name(name, names, OP_COUNT);
}
