// SPDX-License-Identifier: Apache-2.0
/* How it works. The parts are texts that the program carries, one behind the other; the user's
 * stands in the middle, in a namespace of its own, so that its names may be those of skeletons and
 * of CUDA. The user's macros end with it, and the kernel behind it has no name that a user may
 * use. */
#include "cuda/skeletons/kernel_source.h"

#include "cuda/cuda_limits.h"
#include "cuda/skeletons/embedded_kernels.h"
#include "cuda/skeletons/function_object.h"
#include "pipeline/skeletons/embedded.h"
#include "pipeline/skeletons/user_text.h"

#include <stdio.h>
#include <stdlib.h>

struct kernel {
    const struct user_op *op;
    int depth, channels;
    const char *result; /* of an R2S, and what it is told as */
    const char *value;
};

static void put_point(FILE *out, const struct kernel *kernel) {
    fprintf(out,
            "extern \"C\" __global__ void __launch_bounds__(POINT_THREADS) " KERNEL_NAME "(\n"
            "    const __grid_constant__ batch_of<%d> burin_b,\n"
            "    const __grid_constant__ skeleton_parameters burin_q, unsigned burin_c,\n"
            "    alpha_mask burin_a) {\n"
            "    const burin_function burin_f = { *(const burin_params *)burin_q.bytes };\n"
            "    point_chunk<%d>(burin_b, burin_f, burin_c, burin_a);\n}\n",
            CUDA_BATCH_MAX, kernel->depth);
}

static void put_neighbourhood(FILE *out, const struct kernel *kernel) {
    fprintf(out,
            "extern \"C\" __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS) " KERNEL_NAME
            "(\n"
            "    const __grid_constant__ batch_of<%d> burin_b,\n"
            "    const __grid_constant__ skeleton_parameters burin_q, unsigned burin_r) {\n"
            "    const burin_function burin_f = { *(const burin_params *)burin_q.bytes };\n"
            "    neighbourhood_strip<neighbourhood_traits<%d, %d, %d>>(burin_b, burin_f, "
            "burin_r);\n}\n",
            CUDA_BATCH_MAX, kernel->depth, kernel->channels, kernel->op->window / 2);
}

static void put_scalar(FILE *out, const struct kernel *kernel) {
    const int colours = kernel->channels < 3 ? 1 : 3;
    fprintf(
        out,
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
    fprintf(
        out,
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
    const struct kernel kernel = { op, depth, channels, scalar_type_name(result),
                                   value_of(result) };
    fputs("\n#line 1 \"kernel\"", out);
    function_object_write(out, "burin_function", op, depth);
    fputs("}\nusing burin_user::burin_function;\n"
          "typedef decltype(burin_function::burin_p) burin_params;\n",
          out);
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
    fputs("\nnamespace burin_user {\n", out);
    user_text_write(out, op->file, &options);
    user_text_undefine(out, op->file);
    put_kernel(out, op, depth, channels);
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return text;
    free(text);
    return NULL;
}
