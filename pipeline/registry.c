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

/* Written before there are threads, then only read. */
static const struct op *added[REGISTRY_ADDED_MAX];
static int added_count;

int registry_builtin_count(void) {
    return OP_COUNT;
}

int registry_count(void) {
    return OP_COUNT + added_count;
}

const struct op *registry_at(int index) {
    if (index < 0 || index >= registry_count()) return NULL;
    return index < OP_COUNT ? ops[index] : added[index - OP_COUNT];
}

bool registry_add(const struct op *op) {
    if (added_count == REGISTRY_ADDED_MAX || registry_find(op->name)) return false;
    added[added_count++] = op;
    return true;
}

bool registry_is_added(const struct op *op) {
    for (int i = 0; i < added_count; i++)
        if (added[i] == op) return true;
    return false;
}

const struct op *registry_find(const char *name) {
    for (int i = 0; i < registry_count(); i++)
        if (strcmp(registry_at(i)->name, name) == 0) return registry_at(i);
    return NULL;
}

const char *registry_aux(const char *name) {
    for (int i = 0; i < registry_count(); i++) {
        const struct op *op = registry_at(i);
        for (int p = 0; p < OP_AUX_MAX && op->aux[p].name; p++)
            if (strcmp(op->aux[p].name, name) == 0) return op->aux[p].name;
    }
    return NULL;
}

const char *registry_nearest(const char *name) {
    const char *names[OP_COUNT + REGISTRY_ADDED_MAX];
    for (int i = 0; i < registry_count(); i++) names[i] = registry_at(i)->name;
    return nearest_name(name, names, (size_t)registry_count());
}
