// SPDX-License-Identifier: Apache-2.0
/* How it works. A kernel is made for an operator, a depth and a number of channels (P2P: any
 * number) at the first call that needs it: source, PTX, a library that the driver
 * has compiled and loaded. It is found
 * again in a list, so that later calls launch and nothing else. */
#include "cuda/skeletons/user_twin.h"

#include "cuda/skeletons/kernel_source.h"
#include "cuda/skeletons/launch.cuh"
#include "cuda/skeletons/nvrtc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct user_kernel {
    struct user_kernel *next;
    const struct user_op *op;
    int depth, channels, capability;
    cudaKernel_t kernel;
};

static struct user_kernel *kernels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct user_kernel *find_kernel(const struct user_op *op, int depth, int channels,
                                       int capability) {
    struct user_kernel *one = kernels;
    while (one && (one->op != op || one->depth != depth || one->channels != channels ||
                   one->capability != capability))
        one = one->next;
    return one;
}

/* ---- compile */

/* The compiler's first error, without what stands before it. */
static enum status compile_failed(const struct user_op *op, const char *log,
                                  struct failure *failure) {
    const char *missing = nvrtc_missing();
    if (missing) return fail(failure, STATUS_BAD_PARAM, "%s: %s", op->op.name, missing);
    const char *error = log ? strstr(log, "error: ") : NULL;
    const char *start = error;
    while (start && start > log && start[-1] != '\n') start--;
    const int length = start ? (int)strcspn(start, "\n") : 0;
    return fail(failure, STATUS_INTERNAL, "%s does not compile for the GPU: %.*s", op->op.name,
                start ? length : 100,
                start ? start
                : log ? log
                      : "no memory");
}

static enum status load_kernel(struct user_kernel *made, struct failure *failure) {
    struct nvrtc_code code;
    const struct kernel_form form = { { made->op }, 1, made->depth, made->channels };
    char *source = kernel_source(&form);
    if (!source) return fail(failure, STATUS_NO_MEMORY, "no memory for a kernel's source");
    const bool good = nvrtc_compile(source, made->op->file->name, made->capability, &code);
    free(source);
    enum status status = good ? STATUS_OK : compile_failed(made->op, code.log, failure);
    cudaLibrary_t library;
    cudaError_t error = cudaSuccess;
    if (good) error = cudaLibraryLoadData(&library, code.ptx, NULL, NULL, 0, NULL, NULL, 0);
    if (good && !error) error = cudaLibraryGetKernel(&made->kernel, library, KERNEL_NAME);
    if (error) status = cuda_fail(failure, error, "loading a kernel", __FILE__, __LINE__);
    nvrtc_release(&code);
    return status;
}

static enum status make_kernel(const struct user_op *op, int depth, int channels, int capability,
                               cudaKernel_t *kernel, struct failure *failure) {
    struct user_kernel *made = (struct user_kernel *)calloc(1, sizeof *made);
    if (!made) return fail(failure, STATUS_NO_MEMORY, "no memory for a kernel");
    made->op = op;
    made->depth = depth;
    made->channels = channels;
    made->capability = capability;
    const enum status status = load_kernel(made, failure);
    if (status) {
        free(made);
        return status;
    }
    made->next = kernels;
    kernels = made;
    *kernel = made->kernel;
    return STATUS_OK;
}

static enum status kernel_of(const struct cuda_context *context, const struct op_call *call,
                             cudaKernel_t *kernel) {
    const struct user_op *op = user_op_of(call->op);
    const int depth = call->in.depth;
    const int channels = op->skeleton == SKELETON_P2P ? 1 : call->in.channels;
    enum status status = STATUS_OK;
    pthread_mutex_lock(&lock);
    const struct user_kernel *found = find_kernel(op, depth, channels, context->capability);
    if (found)
        *kernel = found->kernel;
    else
        status = make_kernel(op, depth, channels, context->capability, kernel, call->failure);
    pthread_mutex_unlock(&lock);
    return status;
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
    cudaKernel_t function = NULL;
    const enum status status = kernel_of(context, &calls[0], &function);
    if (status) return status;
    const struct skeleton_kernel kernel = { (const void *)function, &parameters, op->op.name };
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
