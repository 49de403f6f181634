// SPDX-License-Identifier: Apache-2.0
#include "pipeline/registry.h"

#include <string.h>

/* Written before threads start, then only read. */
static struct op_set own;

const struct op_set *registry_set(void) {
    return &own;
}

int registry_count(void) {
    return op_set_count(&own);
}

const struct op *registry_at(int index) {
    return op_set_at(&own, index);
}

bool registry_add(const struct op *op) {
    return op_set_add(&own, op);
}

bool registry_is_added(const struct op *op) {
    return op_set_is_added(&own, op);
}

const struct op *registry_find(const char *name) {
    return op_set_find(&own, name);
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
    return op_set_nearest(&own, name);
}
