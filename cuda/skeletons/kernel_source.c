// SPDX-License-Identifier: Apache-2.0
/* How it works. The parts are texts that the program carries, one behind the other; the users'
 * stand in the middle, each file in a namespace: so nothing that one calls its own is in the way of
 * another, of the skeleton or of the kernel. Macros know no namespaces: what a file does to them
 * ends with it. Operators are numbered by their place in the kernel, files by the place of the
 * first operator that is in them. */
#include "cuda/skeletons/kernel_source.h"

#include "cuda/cuda_limits.h"
#include "cuda/skeletons/embedded_kernels.h"
#include "pipeline/skeletons/embedded.h"
#include "pipeline/skeletons/user_text.h"

#include <stdio.h>
#include <stdlib.h>

/* The place of the first operator that is in the file of operator I. */
static int file_of(const struct kernel_form *form, int i) {
    int first = 0;
    while (form->ops[first]->file != form->ops[i]->file) first++;
    return first;
}

static const struct user_op *last_of(const struct kernel_form *form) {
    return form->ops[form->count - 1];
}

static const char *pixel_type(const struct kernel_form *form) {
    return form->depth == 8 ? "unsigned char" : "unsigned short";
}

static const char *result_of(const struct kernel_form *form) {
    return scalar_type_name(user_text_result(last_of(form), form->depth));
}

static const char *value_of(const struct kernel_form *form) {
    const enum scalar_type result = user_text_result(last_of(form), form->depth);
    const bool is_signed = scalar_type_is_signed(result);
    if (scalar_type_bytes(result) == 8) return is_signed ? "long long" : "unsigned long long";
    return is_signed ? "int" : "unsigned";
}

/* ---- function objects */

/* A call of operator I with its parameters, if it has any. */
static void put_call(FILE *out, const struct kernel_form *form, int i, const char *arguments) {
    const struct user_op *op = form->ops[i];
    char name[USER_TEXT_NAME_MAX];
    fprintf(out, "burin_file%d::%s(%s", file_of(form, i), user_text_function(op, form->depth, name),
            arguments);
    if (op->parameters) fprintf(out, ", burin_p%d", i);
    fputc(')', out);
}

/* The beginning of struct NAME, with the parameters of operators FIRST to END. */
static void open_object(FILE *out, const char *name, int first, int end) {
    fprintf(out, "struct %s {\n", name);
    for (int i = first; i < end; i++) fprintf(out, "    burin_params%d burin_p%d;\n", i, i);
    fputs("    __device__ __forceinline__\n", out);
}

/* P2Ps in turn, operators 0 to END: a sample is converted after each. */
static void put_points(FILE *out, const struct kernel_form *form, const char *name, int end) {
    char arguments[80];
    snprintf(arguments, sizeof arguments, "(%s)burin_s, (int)burin_i", pixel_type(form));
    open_object(out, name, 0, end);
    fputs("    unsigned operator()(unsigned burin_s, unsigned burin_i) const {\n", out);
    for (int i = 0; i < end; i++) {
        fputs("        burin_s = ", out);
        put_call(out, form, i, arguments);
        fputs(";\n", out);
    }
    fputs("        return burin_s;\n    }\n};\n", out);
}

static void put_window(FILE *out, const struct kernel_form *form, int i) {
    const int side = form->ops[i]->window;
    open_object(out, "burin_function", i, i + 1);
    fprintf(out,
            "    unsigned operator()(%s (&burin_w)[%d][%d], int burin_x, int burin_y) const "
            "{ return ",
            pixel_type(form), side, side);
    put_call(out, form, i, "burin_w, burin_x, burin_y");
    fputs("; }\n};\n", out);
}

static void put_fold(FILE *out, const struct kernel_form *form) {
    open_object(out, "burin_function", 0, 1);
    fprintf(out, "    %s operator()(%s burin_l, %s burin_r) const { return ", result_of(form),
            result_of(form), result_of(form));
    put_call(out, form, 0, "burin_l, burin_r");
    fputs("; }\n};\n", out);
}

static void put_count(FILE *out, const struct kernel_form *form) {
    char arguments[80];
    snprintf(arguments, sizeof arguments, "(%s)burin_s, (%s *)burin_o, burin_n", pixel_type(form),
             result_of(form));
    open_object(out, "burin_function", 0, 1);
    fputs("    void operator()(unsigned burin_s, int *burin_o, int burin_n) const { ", out);
    put_call(out, form, 0, arguments);
    fputs("; }\n};\n", out);
}

/* ---- kernels */

/* Up to the parameters that every kernel has; BOUNDS are those of the launch. */
static void open_kernel(FILE *out, const char *bounds) {
    fprintf(out,
            "extern \"C\" __global__ void __launch_bounds__(%s) " KERNEL_NAME "(\n"
            "    const __grid_constant__ batch_of<%d> burin_b,\n"
            "    const __grid_constant__ burin_parameters burin_q",
            bounds, CUDA_BATCH_MAX);
}

/* An object of struct NAME with the parameters that the kernel was given. */
static void put_object(FILE *out, const char *name, const char *object, int first, int end) {
    fprintf(out, "    const %s %s = { ", name, object);
    for (int i = first; i < end; i++)
        fprintf(out, "%s*(const burin_params%d *)burin_q.of[%d].bytes", i > first ? ", " : "", i,
                i);
    fputs(" };\n", out);
}

static void put_point(FILE *out, const struct kernel_form *form) {
    put_points(out, form, "burin_function", form->count);
    open_kernel(out, "POINT_THREADS");
    fputs(", unsigned burin_c,\n    alpha_mask burin_a) {\n", out);
    put_object(out, "burin_function", "burin_f", 0, form->count);
    fprintf(out, "    point_chunk<%d>(burin_b, burin_f, burin_c, burin_a);\n}\n", form->depth);
}

static void put_neighbourhood(FILE *out, const struct kernel_form *form) {
    const int last = form->count - 1;
    if (last > 0) put_points(out, form, "burin_point", last);
    put_window(out, form, last);
    open_kernel(out, "NEIGHBOURHOOD_THREADS");
    fputs(", unsigned burin_r) {\n", out);
    put_object(out, "burin_function", "burin_f", last, last + 1);
    if (last > 0) put_object(out, "burin_point", "burin_g", 0, last);
    fprintf(out,
            "    neighbourhood_strip<neighbourhood_traits<%d, %d, %d>>(burin_b, burin_f, "
            "burin_r%s);\n}\n",
            form->depth, form->channels, form->ops[last]->window / 2, last > 0 ? ", burin_g" : "");
}

static void put_scalar(FILE *out, const struct kernel_form *form) {
    put_fold(out, form);
    open_kernel(out, "SCALAR_THREADS, SCALAR_BLOCKS");
    fprintf(out, ",\n    partial_numbers<%s, %d> *burin_n, unsigned *burin_d) {\n", result_of(form),
            form->channels < 3 ? 1 : 3);
    put_object(out, "burin_function", "burin_f", 0, 1);
    fprintf(out,
            "    reduce_batch<pixels_traits<%d, %d>, %s, %s>(burin_b, burin_f, burin_n, "
            "burin_d);\n}\n",
            form->depth, form->channels, result_of(form), value_of(form));
}

static void put_vector(FILE *out, const struct kernel_form *form) {
    put_count(out, form);
    open_kernel(out, "VECTOR_THREADS, VECTOR_BLOCKS");
    fputs(", int burin_n, int burin_k) {\n", out);
    put_object(out, "burin_function", "burin_f", 0, 1);
    fprintf(out, "    count_batch<pixels_traits<%d, %d>>(burin_b, burin_f, burin_n, burin_k);\n}\n",
            form->depth, form->channels);
}

static const struct {
    const char *text;
    void (*put)(FILE *out, const struct kernel_form *form);
} skeletons[] = {
    [SKELETON_P2P] = { embedded_point, put_point },
    [SKELETON_N2P] = { embedded_neighbourhood, put_neighbourhood },
    [SKELETON_R2S] = { embedded_scalar, put_scalar },
    [SKELETON_R2V] = { embedded_vector, put_vector },
};

/* ---- the source */

static void put_file(FILE *out, const struct user_file *file, int number) {
    const struct user_text_options options = { .function = "BURIN_INLINE", .lines = true };
    fprintf(out, "\nnamespace burin_file%d {", number);
    user_text_write(out, file, &options);
    fputs("\n}\n", out);
    user_text_undefine(out, file);
    user_text_redefine(out, file, embedded_kernel_prelude);
}

static void put_kernel(FILE *out, const struct kernel_form *form) {
    fprintf(out, "\n#line 1 \"kernel\"\n");
    for (int i = 0; i < form->count; i++)
        if (form->ops[i]->parameters)
            fprintf(out, "typedef burin_file%d::%s burin_params%d;\n", file_of(form, i),
                    form->ops[i]->parameters->name, i);
        else
            fprintf(out, "typedef burin_nothing burin_params%d;\n", i);
    fprintf(out, "struct burin_parameters {\n    skeleton_parameters of[%d];\n};\n", form->count);
    skeletons[last_of(form)->skeleton].put(out, form);
}

char *kernel_source(const struct kernel_form *form) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs(skeletons[last_of(form)->skeleton].text, out);
    fputs(embedded_parameters, out);
    fputs(embedded_kernel_prelude, out);
    fputs(embedded_exact_math, out);
    for (int i = 0; i < form->count; i++)
        if (file_of(form, i) == i) put_file(out, form->ops[i]->file, i);
    put_kernel(out, form);
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return text;
    free(text);
    return NULL;
}
