// SPDX-License-Identifier: Apache-2.0
/* How it works. The parts are texts that the program carries, one behind the other; the user's
 * stands in the middle. The user's macros end with it, and the kernel behind it has no name that a
 * user may use. */
#include "cuda/skeletons/kernel_source.h"

#include "cuda/cuda_limits.h"
#include "cuda/skeletons/embedded_kernels.h"
#include "pipeline/skeletons/embedded.h"
#include "pipeline/skeletons/user_text.h"

#include <stdio.h>
#include <stdlib.h>

struct kernel {
    const struct user_op *op;
    int depth, channels;
    const char *function; /* the user's, by its name there */
    const char *result;   /* of an R2S, and what it is told as */
    const char *value;
};

/* BURIN_FUNCTION's call, with the operator's parameters if it has any. */
static void put_call(FILE *out, const struct kernel *kernel, const char *arguments) {
    fprintf(out, "%s(%s%s)", kernel->function, arguments,
            kernel->op->parameters && kernel->op->skeleton != SKELETON_R2S ? ", burin_p" : "");
}

static const char *pixel_type(const struct kernel *kernel) {
    return kernel->depth == 8 ? "unsigned char" : "unsigned short";
}

static void put_point(FILE *out, const struct kernel *kernel) {
    fprintf(out, "    unsigned operator()(unsigned burin_s, unsigned burin_i) const { return ");
    char arguments[80];
    snprintf(arguments, sizeof arguments, "(%s)burin_s, (int)burin_i", pixel_type(kernel));
    put_call(out, kernel, arguments);
    fprintf(out,
            "; }\n};\n"
            "extern \"C\" __global__ void __launch_bounds__(POINT_THREADS) " KERNEL_NAME "(\n"
            "    const __grid_constant__ batch_of<%d> burin_b,\n"
            "    const __grid_constant__ skeleton_parameters burin_q, unsigned burin_c,\n"
            "    alpha_mask burin_a) {\n"
            "    const burin_function burin_f = { *(const burin_params *)burin_q.bytes };\n"
            "    point_chunk<%d>(burin_b, burin_f, burin_c, burin_a);\n}\n",
            CUDA_BATCH_MAX, kernel->depth);
}

static void put_neighbourhood(FILE *out, const struct kernel *kernel) {
    const int side = kernel->op->window;
    fprintf(out,
            "    unsigned operator()(%s (&burin_w)[%d][%d], int burin_x, int burin_y) const "
            "{ return ",
            pixel_type(kernel), side, side);
    put_call(out, kernel, "burin_w, burin_x, burin_y");
    fprintf(out,
            "; }\n};\n"
            "extern \"C\" __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS) " KERNEL_NAME
            "(\n"
            "    const __grid_constant__ batch_of<%d> burin_b,\n"
            "    const __grid_constant__ skeleton_parameters burin_q, unsigned burin_r) {\n"
            "    const burin_function burin_f = { *(const burin_params *)burin_q.bytes };\n"
            "    neighbourhood_strip<neighbourhood_traits<%d, %d, %d>>(burin_b, burin_f, "
            "burin_r);\n}\n",
            CUDA_BATCH_MAX, kernel->depth, kernel->channels, side / 2);
}

static void put_scalar(FILE *out, const struct kernel *kernel) {
    const int colours = kernel->channels < 3 ? 1 : 3;
    fprintf(out, "    %s operator()(%s burin_l, %s burin_r) const { return ", kernel->result,
            kernel->result, kernel->result);
    put_call(out, kernel, "burin_l, burin_r");
    fprintf(
        out,
        "; }\n};\n"
        "extern \"C\" __global__ void __launch_bounds__(SCALAR_THREADS, SCALAR_BLOCKS) " KERNEL_NAME
        "(\n"
        "    const __grid_constant__ batch_of<%d> burin_b,\n"
        "    const __grid_constant__ skeleton_parameters burin_q,\n"
        "    partial_numbers<%s, %d> *burin_n, unsigned *burin_d) {\n"
        "    const burin_function burin_f = { *(const burin_params *)burin_q.bytes };\n"
        "    reduce_batch<pixels_traits<%d, %d>, %s, %s>(burin_b, burin_f, burin_n, "
        "burin_d);\n}\n",
        CUDA_BATCH_MAX, kernel->result, colours, kernel->depth, kernel->channels, kernel->result,
        kernel->value);
}

static void put_vector(FILE *out, const struct kernel *kernel) {
    fprintf(out, "    void operator()(unsigned burin_s, int *burin_o, int burin_n) const { ");
    char arguments[80];
    snprintf(arguments, sizeof arguments, "(%s)burin_s, (%s *)burin_o, burin_n", pixel_type(kernel),
             kernel->result);
    put_call(out, kernel, arguments);
    fprintf(
        out,
        "; }\n};\n"
        "extern \"C\" __global__ void __launch_bounds__(VECTOR_THREADS, VECTOR_BLOCKS) " KERNEL_NAME
        "(\n"
        "    const __grid_constant__ batch_of<%d> burin_b,\n"
        "    const __grid_constant__ skeleton_parameters burin_q, int burin_n, int burin_k) {\n"
        "    const burin_function burin_f = { *(const burin_params *)burin_q.bytes };\n"
        "    count_batch<pixels_traits<%d, %d>>(burin_b, burin_f, burin_n, burin_k);\n}\n",
        CUDA_BATCH_MAX, kernel->depth, kernel->channels);
}

static const struct {
    const char *text;
    void (*put)(FILE *out, const struct kernel *kernel);
} skeletons[] = {
    [SKELETON_P2P] = { embedded_point, put_point },
    [SKELETON_N2P] = { embedded_neighbourhood, put_neighbourhood },
    [SKELETON_R2S] = { embedded_scalar, put_scalar },
    [SKELETON_R2V] = { embedded_vector, put_vector },
};

static const char *value_of(enum scalar_type result) {
    const bool is_signed = scalar_type_is_signed(result);
    if (scalar_type_bytes(result) == 8) return is_signed ? "long long" : "unsigned long long";
    return is_signed ? "int" : "unsigned";
}

static void put_kernel(FILE *out, const struct user_op *op, int depth, int channels) {
    const enum scalar_type result = user_text_result(op, depth);
    char name[USER_TEXT_NAME_MAX];
    const struct kernel kernel = { op,
                                   depth,
                                   channels,
                                   user_text_function(op, depth, name),
                                   scalar_type_name(result),
                                   value_of(result) };
    fprintf(out, "\n#line 1 \"kernel\"\ntypedef %s burin_params;\n",
            op->parameters ? op->parameters->name : "burin_nothing");
    fprintf(out, "struct burin_function {\n    burin_params burin_p;\n    __device__ "
                 "__forceinline__\n");
    skeletons[op->skeleton].put(out, &kernel);
}

char *kernel_source(const struct user_op *op, int depth, int channels) {
    const struct user_text_options options = { .function = "BURIN_INLINE", .lines = true };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs(skeletons[op->skeleton].text, out);
    fputs(embedded_parameters, out);
    fputs(embedded_kernel_prelude, out);
    fputs(embedded_exact_math, out);
    user_text_write(out, op->file, &options);
    user_text_undefine(out, op->file);
    put_kernel(out, op, depth, channels);
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return text;
    free(text);
    return NULL;
}
