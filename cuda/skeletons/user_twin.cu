// SPDX-License-Identifier: Apache-2.0
/* How it works. A kernel is made for an operator, a depth and a number of channels (P2P: any
 * number). kernel_library.h finds or makes it: at the start where user_twin_prepare is called, else
 * at the first call that needs it. A chain of operators has one kernel as soon as kernel_chain.h
 * has had it made. */
#include "cuda/skeletons/user_twin.h"

#include "cuda/check.cuh"
#include "cuda/skeletons/kernel_chain.h"
#include "cuda/skeletons/kernel_library.h"
#include "cuda/skeletons/kernel_source.h"
#include "cuda/skeletons/launch.cuh"
#include "pipeline/registry.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct kernel_form) <= KERNEL_IDENTITY_MAX, "it is an identity");
static_assert(sizeof(struct batch) + KERNEL_OPS_MAX * sizeof(struct skeleton_parameters) +
                      sizeof(struct alpha_mask) + 2 * sizeof(unsigned) <=
                  4096,
              "a kernel's parameters, as toolkits before 12.1 limit them");
static_assert(sizeof(struct skeleton_parameters) == PARAMETER_STRUCT_BYTES_MAX,
              "a kernel takes every struct of parameters");

/* ---- kernels: loaded, found or made */

/* Refusals that leave the context unharmed. */
static bool is_code_refusal(cudaError_t error) {
    switch (error) {
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorInvalidSource:
    case cudaErrorSymbolNotFound: return true;
    default: return false;
    }
}

/* The runtime loads code at its first use: reading the attributes is one. */
static cudaError_t load_code(const void *code, const char *name, cudaLibrary_t *library,
                             cudaKernel_t *kernel) {
    cudaFuncAttributes attributes;
    cudaError_t error = cudaLibraryLoadData(library, code, NULL, NULL, 0, NULL, NULL, 0);
    if (error) {
        *library = NULL;
        return error;
    }
    error = cudaLibraryGetKernel(kernel, *library, name);
    return error ? error : cudaFuncGetAttributes(&attributes, (const void *)*kernel);
}

/* A kernel_load. Loaded code stays for the life of the process. STATUS_INTERNAL where the driver
 * does not accept the code. */
static enum status load_kernel(const void *code, size_t bytes, const char *name, void **kernel,
                               struct failure *failure) {
    cudaLibrary_t library = NULL;
    cudaKernel_t made = NULL;
    (void)bytes; /* the code contains its own length */
    const cudaError_t error = load_code(code, name, &library, &made);
    *kernel = (void *)made;
    if (!error) return STATUS_OK;
    if (library) cudaLibraryUnload(library);
    if (!is_code_refusal(error))
        return cuda_fail(failure, error, "loading a kernel", __FILE__, __LINE__);
    cudaGetLastError();
    return fail(failure, STATUS_INTERNAL,
                "the GPU's driver does not accept a compiled kernel: %s (%d): the driver may be "
                "older than the CUDA toolkit",
                cudaGetErrorString(error), (int)error);
}

static char *source_of(const void *form) {
    return kernel_source((const struct kernel_form *)form);
}

static enum status find_kernel(const struct kernel_form *form, int capability, void **kernel,
                               struct failure *failure) {
    const struct user_op *last = form->ops[form->count - 1];
    const struct kernel_request request = {
        form, sizeof *form, capability, last->op.name, last->file->name, source_of, load_kernel,
    };
    return kernel_library_find(&request, kernel, failure);
}

/* The kernel of OPS, one operator or a chain. */
static struct kernel_form form_of(const struct user_op *const *ops, int count, int depth,
                                  int channels) {
    struct kernel_form form = {};
    memcpy(form.ops, ops, count * sizeof *ops);
    form.count = count;
    form.depth = depth;
    form.channels = ops[count - 1]->skeleton == SKELETON_P2P ? 1 : channels;
    return form;
}

enum status user_twin_prepare(const struct cuda_context *context, const struct op *op, int depth,
                              int channels, struct failure *failure) {
    void *kernel;
    const struct user_op *user_op = user_op_of(op);
    if (op->depth && op->depth != (unsigned)depth) return STATUS_OK;
    const struct kernel_form form = form_of(&user_op, 1, depth, channels);
    return find_kernel(&form, context->capability, &kernel, failure);
}

/* ---- chains */

/* Called in the thread beside the jobs. */
static bool make_chain(const struct kernel_chain_request *request) {
    void *kernel;
    struct failure failure = {};
    if (cudaSetDevice(request->device)) return false;
    return find_kernel(&request->form, request->capability, &kernel, &failure) == STATUS_OK;
}

/* NULL: it is not ready. */
static const char *chain_name(const struct kernel_form *form, int capability) {
    struct kernel_chain_request request;
    request.form = *form;
    request.capability = capability;
    request.make = make_chain;
    return cudaGetDevice(&request.device) ? NULL : kernel_chain_ask(&request);
}

static int user_twin_chain(const struct cuda_context *context, const struct op *const *ops,
                           int count, const struct image *in, bool *ready) {
    const struct user_op *users[KERNEL_OPS_MAX];
    int user_count = 0;
    for (; user_count < count && user_count < KERNEL_OPS_MAX; user_count++) {
        if (!registry_is_added(ops[user_count])) break;
        users[user_count] = user_op_of(ops[user_count]);
    }
    const int length = kernel_chain_length(users, user_count);
    if (length < 2) return 1;
    const struct kernel_form form = form_of(users, length, in->depth, in->channels);
    *ready = chain_name(&form, context->capability) != NULL;
    return length;
}

/* ---- run */

static size_t user_twin_scratch(const struct cuda_context *context, const struct op_call *calls,
                                int count) {
    const bool scalar = user_op_of(calls[0].op)->skeleton == SKELETON_R2S;
    return scalar ? scalar_scratch(context, count) : 0;
}

/* The kernel for CALL, and the parameters of its operators. */
static struct kernel_form form_of_call(const struct op_call *call,
                                       struct skeleton_parameters parameters[KERNEL_OPS_MAX]) {
    const struct user_op *ops[KERNEL_OPS_MAX];
    int count = 0;
    for (const struct op_call *one = call; one; one = one->before) count++;
    assert(count <= KERNEL_OPS_MAX);
    int i = count;
    for (const struct op_call *one = call; one; one = one->before) {
        ops[--i] = user_op_of(one->op);
        if (ops[i]->parameters)
            parameter_struct_fill(ops[i]->parameters, one->params, parameters[i].bytes);
    }
    return form_of(ops, count, call->in.depth, call->in.channels);
}

static enum status user_twin_run(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    const struct user_op *op = user_op_of(calls[0].op);
    struct skeleton_parameters parameters[KERNEL_OPS_MAX] = {};
    void *function = NULL;
    const struct kernel_form form = form_of_call(&calls[0], parameters);
    const enum status status = find_kernel(&form, context->capability, &function, calls[0].failure);
    if (status) return status;
    const char *chain = form.count > 1 ? chain_name(&form, context->capability) : NULL;
    const struct skeleton_kernel kernel = { function, parameters, chain ? chain : op->op.name };
    switch (op->skeleton) {
    case SKELETON_P2P: return point_launch(context, calls, count, kernel);
    case SKELETON_N2P: /* rows of a larger window are not kept: as many threads as possible */
        return neighbourhood_launch(context, calls, count, kernel,
                                    op->window > USER_WINDOW_CHAINED_MAX);
    case SKELETON_PIXEL: return pixel_launch(context, calls, count, kernel);
    case SKELETON_R2S: return scalar_launch(context, calls, count, kernel);
    default: return vector_launch(context, calls, count, kernel, user_op_bins(op, calls[0].params));
    }
}

const struct cuda_op user_twin = { user_twin_scratch, user_twin_run, user_twin_chain };
