// SPDX-License-Identifier: Apache-2.0
/* How it works. A kernel is made for an operator, a depth and a number of channels (P2P: any
 * number). kernel_library.h finds or makes it: at the start where user_twin_prepare is called, else
 * at the first call that needs it. */
#include "cuda/skeletons/user_twin.h"

#include "cuda/skeletons/kernel_library.h"
#include "cuda/skeletons/kernel_loader.h"
#include "cuda/skeletons/kernel_source.h"
#include "cuda/skeletons/launch.cuh"

static_assert(sizeof(struct skeleton_parameters) == PARAMETER_STRUCT_BYTES_MAX,
              "a kernel takes every struct of parameters");

/* Compared as bytes: nothing lies between the members. */
struct kernel_identity {
    const struct user_op *op;
    int depth, channels;
};
static_assert(sizeof(struct kernel_identity) <= KERNEL_IDENTITY_MAX, "it is copied there");

static char *source_of(const void *identity) {
    const struct kernel_identity *one = (const struct kernel_identity *)identity;
    return kernel_source(one->op, one->depth, one->channels);
}

static enum status kernel_of(const struct user_op *op, int depth, int channels, int capability,
                             void **kernel, struct failure *failure) {
    const struct kernel_identity identity = { op, depth,
                                              op->skeleton == SKELETON_P2P ? 1 : channels };
    const struct kernel_request request = {
        &identity,      sizeof identity, capability,         op->op.name,
        op->file->name, source_of,       kernel_loader_load,
    };
    return kernel_library_find(&request, kernel, failure);
}

enum status user_twin_prepare(const struct cuda_context *context, const struct op *op, int depth,
                              int channels, struct failure *failure) {
    void *kernel;
    if (op->depth && op->depth != (unsigned)depth) return STATUS_OK;
    return kernel_of(user_op_of(op), depth, channels, context->capability, &kernel, failure);
}

/* ---- run */

static size_t user_twin_scratch(const struct cuda_context *context, const struct op_call *calls,
                                int count) {
    const bool scalar = user_op_of(calls[0].op)->skeleton == SKELETON_R2S;
    return scalar ? scalar_scratch(context, count) : 0;
}

static enum status user_twin_run(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    const struct user_op *op = user_op_of(calls[0].op);
    struct skeleton_kernel kernel = {};
    void *function = NULL;
    const enum status status = kernel_of(op, calls[0].in.depth, calls[0].in.channels,
                                         context->capability, &function, calls[0].failure);
    if (status) return status;
    kernel.function = function;
    kernel.name = op->op.name;
    if (op->parameters)
        parameter_struct_fill(op->parameters, calls[0].params, kernel.parameters.bytes);
    switch (op->skeleton) {
    case SKELETON_P2P: return point_launch(context, calls, count, kernel);
    case SKELETON_N2P: return neighbourhood_launch(context, calls, count, kernel);
    case SKELETON_R2S: return scalar_launch(context, calls, count, kernel);
    default: return vector_launch(context, calls, count, kernel, user_op_bins(op, calls[0].params));
    }
}

const struct cuda_op user_twin = { user_twin_scratch, user_twin_run };
