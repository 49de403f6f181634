// SPDX-License-Identifier: Apache-2.0
#include "pipeline/op_set.h"

#include "pipeline/builtin_ops.h"

#include <stdlib.h>
#include <string.h>

bool op_set_add(struct op_set *set, const struct op *op) {
    if (set->added_count == OP_SET_ADDED_MAX || op_set_find(set, op->name)) return false;
    set->added[set->added_count++] = op;
    return true;
}

int op_set_count(const struct op_set *set) {
    return builtin_op_count() + set->added_count;
}

const struct op *op_set_at(const struct op_set *set, int index) {
    const int builtin = builtin_op_count();
    if (index < 0 || index >= builtin + set->added_count) return NULL;
    return index < builtin ? builtin_op_at(index) : set->added[index - builtin];
}

bool op_set_is_added(const struct op_set *set, const struct op *op) {
    for (int i = 0; i < set->added_count; i++)
        if (set->added[i] == op) return true;
    return false;
}

const struct op *op_set_find(const struct op_set *set, const char *name) {
    for (int i = 0; i < op_set_count(set); i++)
        if (strcmp(op_set_at(set, i)->name, name) == 0) return op_set_at(set, i);
    return NULL;
}

const char *op_set_nearest(const struct op_set *set, const char *name) {
    const int count = op_set_count(set);
    const char **names = malloc((size_t)(count ? count : 1) * sizeof *names);
    for (int i = 0; names && i < count; i++) names[i] = op_set_at(set, i)->name;
    const char *nearest = names ? nearest_name(name, names, (size_t)count) : NULL;
    free((void *)names);
    return nearest;
}
