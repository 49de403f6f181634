// SPDX-License-Identifier: Apache-2.0
/* How it works. A kernel is made for an operator, a depth and a number of channels (P2P: any
 * number). kernel_library.h finds or makes it: at the start where user_twin_prepare is called, else
 * at the first call that needs it. */
#include "cuda/skeletons/user_twin.h"

#include "cuda/skeletons/kernel_library.h"
#include "cuda/skeletons/kernel_loader.h"
#include "cuda/skeletons/kernel_source.h"
#include "cuda/skeletons/launch.cuh"

#include <string.h>

static_assert(sizeof(struct kernel_form) <= KERNEL_IDENTITY_MAX, "it is an identity");

static char *source_of(const void *form) {
    return kernel_source((const struct kernel_form *)form);
}

static enum status find_kernel(const struct kernel_form *form, int capability, void **kernel,
                               struct failure *failure) {
    const struct user_op *last = form->ops[form->count - 1];
    const struct kernel_request request = {
        form,      sizeof *form,       capability, last->op.name, last->file->name,
        source_of, kernel_loader_load,
    };
    return kernel_library_find(&request, kernel, failure);
}

/* The kernel of OP alone. */
static struct kernel_form form_of(const struct user_op *op, int depth, int channels) {
    struct kernel_form form;
    memset(&form, 0, sizeof form);
    form.ops[0] = op;
    form.count = 1;
    form.depth = depth;
    form.channels = op->skeleton == SKELETON_P2P ? 1 : channels;
    return form;
}

enum status user_twin_prepare(const struct cuda_context *context, const struct op *op, int depth,
                              int channels, struct failure *failure) {
    void *kernel;
    const struct user_op *user_op = user_op_of(op);
    if (user_op->depth && user_op->depth != depth) return STATUS_OK;
    const struct kernel_form form = form_of(user_op, depth, channels);
    return find_kernel(&form, context->capability, &kernel, failure);
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
    struct skeleton_parameters parameters = {};
    void *function = NULL;
    const struct kernel_form form = form_of(op, calls[0].in.depth, calls[0].in.channels);
    const enum status status = find_kernel(&form, context->capability, &function, calls[0].failure);
    if (status) return status;
    const struct skeleton_kernel kernel = { function, &parameters, op->op.name };
    if (op->parameters) parameter_struct_fill(op->parameters, calls[0].params, parameters.bytes);
    switch (op->skeleton) {
    case SKELETON_P2P: return point_launch(context, calls, count, kernel);
    case SKELETON_N2P: return neighbourhood_launch(context, calls, count, kernel);
    case SKELETON_R2S: return scalar_launch(context, calls, count, kernel);
    default: break;
    }
    const int bins = (int)calls[0].params->number[op->parameters ? op->parameters->count : 0];
    return vector_launch(context, calls, count, kernel, bins);
}

const struct cuda_op user_twin = { user_twin_scratch, user_twin_run };
