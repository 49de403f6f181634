// SPDX-License-Identifier: Apache-2.0
/* How it works. The parts are texts that the program carries, one behind the other; the users'
 * texts are in the middle, each file in a namespace, so that its names may equal those of other
 * files, of skeletons and of CUDA. Macros know no namespaces, so a file's changes to them end with
 * it. The kernel at the end has a name that users may not use. Operators are numbered by their
 * place in the kernel, files by the place of their first operator. */
#include "cuda/skeletons/kernel_source.h"

#include "cuda/cuda_limits.h"
#include "cuda/skeletons/embedded_kernels.h"
#include "cuda/skeletons/function_object.h"
#include "pipeline/skeletons/embedded.h"
#include "pipeline/skeletons/user_text.h"

#include <stdio.h>
#include <stdlib.h>

static const struct user_op *last_of(const struct kernel_form *form) {
    return form->ops[form->count - 1];
}

/* ---- users' files */

/* The place of the first operator of operator I's file. */
static int file_of(const struct kernel_form *form, int i) {
    int first = 0;
    while (form->ops[first]->file != form->ops[i]->file) first++;
    return first;
}

/* The file number NUMBER, and the functions of its operators as burin_function0 ... */
static void put_file(FILE *out, const struct kernel_form *form, int number) {
    const struct user_text_options options = { .function = "BURIN_INLINE", .lines = true };
    const struct user_file *file = form->ops[number]->file;
    fprintf(out, "\nnamespace burin_file%d {\n", number);
    user_text_write(out, file, &options);
    user_text_undefine(out, file);
    user_text_redefine(out, file, embedded_kernel_prelude);
    fputs("\n#line 1 \"kernel\"", out);
    for (int i = number; i < form->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "burin_function%d", i);
        if (file_of(form, i) == number) function_object_write(out, name, form->ops[i], form->depth);
    }
    fputs("}\n", out);
    for (int i = number; i < form->count; i++)
        if (file_of(form, i) == number)
            fprintf(out, "using burin_file%d::burin_function%d;\n", number, i);
}

/* ---- kernels */

/* One function of operators 0 to END, which are P2Ps. */
static void put_points(FILE *out, int end) {
    fputs("struct burin_points {\n", out);
    for (int i = 0; i < end; i++) fprintf(out, "    burin_function%d burin_f%d;\n", i, i);
    fputs("    __device__ __forceinline__ unsigned operator()(unsigned burin_s,\n"
          "                                        const burin_place &burin_at) const {\n",
          out);
    for (int i = 0; i < end; i++)
        fprintf(out, "        burin_s = burin_f%d(burin_s, burin_at);\n", i);
    fputs("        return burin_s;\n    }\n};\n", out);
}

/* The kernel's head up to the parameters that every kernel has; BOUNDS are those of the launch. */
static void open_kernel(FILE *out, const struct kernel_form *form, const char *bounds) {
    fprintf(out,
            "struct burin_parameters {\n    skeleton_parameters of[%d];\n};\n"
            "extern \"C\" __global__ void __launch_bounds__(%s) " KERNEL_NAME "(\n"
            "    const __grid_constant__ batch_of<%d> burin_b,\n"
            "    const __grid_constant__ burin_parameters burin_q",
            form->count, bounds, CUDA_BATCH_MAX);
}

/* Operator I with its parameters, which the kernel got. */
static void put_function(FILE *out, int i) {
    fprintf(out, "{ *(const decltype(burin_function%d::burin_p) *)burin_q.of[%d].bytes }", i, i);
}

static void put_last_function(FILE *out, const struct kernel_form *form) {
    fprintf(out, "    const burin_function%d burin_f = ", form->count - 1);
    put_function(out, form->count - 1);
    fputs(";\n", out);
}

static void put_points_object(FILE *out, int end) {
    fputs("    const burin_points burin_g = {\n", out);
    for (int i = 0; i < end; i++) {
        fputs("        ", out);
        put_function(out, i);
        fputs(",\n", out);
    }
    fputs("    };\n", out);
}

static void put_point(FILE *out, const struct kernel_form *form) {
    put_points(out, form->count);
    open_kernel(out, form, "POINT_THREADS");
    fputs(", unsigned burin_c,\n    alpha_mask burin_a) {\n", out);
    put_points_object(out, form->count);
    fprintf(out, "    point_chunk<%d>(burin_b, burin_g, burin_c, burin_a);\n}\n", form->depth);
}

static void put_pixel(FILE *out, const struct kernel_form *form) {
    open_kernel(out, form, "PIXEL_THREADS");
    fputs(") {\n", out);
    put_last_function(out, form);
    fprintf(out, "    pixel_chunk<pixels_traits<%d, %d>>(burin_b, burin_f);\n}\n", form->depth,
            form->channels);
}

static void put_neighbourhood(FILE *out, const struct kernel_form *form) {
    const int points = form->count - 1;
    char bounds[96] = "NEIGHBOURHOOD_THREADS"; /* a P2P before may use many registers */
    if (points > 0)
        put_points(out, points);
    else
        snprintf(bounds, sizeof bounds,
                 "NEIGHBOURHOOD_THREADS, neighbourhood_traits<%d, %d, %d>::BLOCKS", form->depth,
                 form->channels, last_of(form)->window / 2);
    open_kernel(out, form, bounds);
    fputs(", unsigned burin_r) {\n", out);
    put_last_function(out, form);
    if (points > 0) put_points_object(out, points);
    fprintf(out,
            "    neighbourhood_strip<neighbourhood_traits<%d, %d, %d>>(burin_b, burin_f, "
            "burin_r%s);\n}\n",
            form->depth, form->channels, last_of(form)->window / 2, points > 0 ? ", burin_g" : "");
}

static const char *value_of(enum scalar_type result) {
    const bool is_signed = scalar_type_is_signed(result);
    if (scalar_type_bytes(result) == 8) return is_signed ? "long long" : "unsigned long long";
    return is_signed ? "int" : "unsigned";
}

static void put_scalar(FILE *out, const struct kernel_form *form) {
    const enum scalar_type result = user_text_result(last_of(form), form->depth);
    const char *name = scalar_type_name(result);
    open_kernel(out, form, "SCALAR_THREADS, SCALAR_BLOCKS");
    fprintf(out, ",\n    partial_numbers<%s, %d> *burin_n, unsigned *burin_d) {\n", name,
            form->channels < 3 ? 1 : 3);
    put_last_function(out, form);
    fprintf(out,
            "    reduce_batch<pixels_traits<%d, %d>, %s, %s>(burin_b, burin_f, burin_n, burin_d,\n"
            "        mapped_by<burin_function%d>{ burin_f });\n}\n",
            form->depth, form->channels, name, value_of(result), form->count - 1);
}

static void put_vector(FILE *out, const struct kernel_form *form) {
    open_kernel(out, form, "VECTOR_THREADS, VECTOR_BLOCKS");
    fputs(", int burin_n, int burin_k) {\n", out);
    put_last_function(out, form);
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
    [SKELETON_PIXEL] = { embedded_pixel_kernel, put_pixel },
};

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
        if (file_of(form, i) == i) put_file(out, form, i);
    skeletons[last_of(form)->skeleton].put(out, form);
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return text;
    free(text);
    return NULL;
}
