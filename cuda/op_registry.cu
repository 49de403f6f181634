// SPDX-License-Identifier: Apache-2.0
/* The operators' twins by name, from the list that the Makefile generates; all users' operators
 * share one twin. */
#include "cuda/skeletons/user_twin.h"
#include "pipeline/registry.h"

#include <string.h>

#define CUDA_OP(name) extern "C" const struct cuda_op cuda_op_##name;
#include "cuda_ops.inc"
#undef CUDA_OP

static const struct twin {
    const char *name;
    const struct cuda_op *op;
} twins[] = {
#define CUDA_OP(name) { #name, &cuda_op_##name },
#include "cuda_ops.inc"
#undef CUDA_OP
    { NULL, NULL },
};

const struct cuda_op *cuda_twin(const struct op *op) {
    if (registry_is_added(op)) return &user_twin;
    const struct twin *twin = twins;
    while (twin->name && strcmp(twin->name, op->name) != 0) twin++;
    return twin->op;
}
