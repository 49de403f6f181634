// SPDX-License-Identifier: Apache-2.0
/* How it works. op.cu has the skeletons, the common part of launches, and the user's text; then
 * each operator has, for each depth that it takes, a struct that holds its parameters and calls its
 * function, a kernel that gives the struct to the skeleton, and at last the function that op.h
 * declares. Our names begin with burin_ where the user's names might meet them. */
#include "cuda/skeletons/convert_gpu.h"

#include "cuda/skeletons/embedded_kernels.h"
#include "cuda/skeletons/function_object.h"
#include "pipeline/skeletons/convert.h"
#include "pipeline/skeletons/user_text.h"

struct kernel {
    const struct user_op *op;
    int depth;
    const char *result; /* of an R2S */
};

static void put_function(FILE *out, const struct kernel *kernel) {
    char name[USER_TEXT_NAME_MAX + 16];
    snprintf(name, sizeof name, "burin_%s_%d", kernel->op->op.name, kernel->depth);
    fputs("\nnamespace burin_user {", out);
    function_object_write(out, name, kernel->op, kernel->depth);
    fprintf(out, "}\nusing burin_user::%s;\n", name);
}

/* ---- kernels */

static void put_kernel(FILE *out, const struct kernel *kernel) {
    const struct user_op *op = kernel->op;
    const char *name = op->op.name, *result = kernel->result;
    const int depth = kernel->depth;
    fputs(op->skeleton == SKELETON_P2P ? "\n" : "\ntemplate <int CHANNELS>\n", out);
    switch (op->skeleton) {
    case SKELETON_P2P:
        fprintf(out,
                "__global__ void __launch_bounds__(POINT_THREADS)\n"
                "burin_%s_%d_kernel(const __grid_constant__ batch_of<1> batch,\n"
                "    const __grid_constant__ burin_%s_%d function, unsigned channels) {\n"
                "    point_chunk<%d>(batch, function, channels, alpha_mask{});\n}\n",
                name, depth, name, depth, depth);
        break;
    case SKELETON_PIXEL:
        fprintf(out,
                "__global__ void __launch_bounds__(PIXEL_THREADS)\n"
                "burin_%s_%d_kernel(const __grid_constant__ batch_of<1> batch,\n"
                "    const __grid_constant__ burin_%s_%d function) {\n"
                "    pixel_chunk<pixels_traits<%d, CHANNELS>>(batch, function);\n}\n",
                name, depth, name, depth, depth);
        break;
    case SKELETON_N2P:
        fprintf(out,
                "__global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS,\n"
                "    neighbourhood_traits<%d, CHANNELS, %d>::BLOCKS)\n"
                "burin_%s_%d_kernel(const __grid_constant__ batch_of<1> batch,\n"
                "    const __grid_constant__ burin_%s_%d function, unsigned rows) {\n"
                "    neighbourhood_strip<neighbourhood_traits<%d, CHANNELS, %d>>(batch, function, "
                "rows);\n}\n",
                depth, op->window / 2, name, depth, name, depth, depth, op->window / 2);
        break;
    case SKELETON_R2S:
        fprintf(out,
                "__global__ void __launch_bounds__(SCALAR_THREADS, SCALAR_BLOCKS)\n"
                "burin_%s_%d_kernel(const __grid_constant__ batch_of<1> batch,\n"
                "    const __grid_constant__ burin_%s_%d function,\n"
                "    partial_numbers<%s, CHANNELS> *partials, unsigned *blocks_done) {\n"
                "    reduce_batch<pixels_traits<%d, CHANNELS>, %s, long long>(batch, function, "
                "partials, blocks_done,\n        mapped_by<burin_%s_%d>{ function });\n}\n",
                name, depth, name, depth, result, depth, result, name, depth);
        break;
    case SKELETON_R2V:
        fprintf(out,
                "__global__ void __launch_bounds__(VECTOR_THREADS, VECTOR_BLOCKS)\n"
                "burin_%s_%d_kernel(const __grid_constant__ batch_of<1> batch,\n"
                "    const __grid_constant__ burin_%s_%d function, int bins, int copies) {\n"
                "    count_batch<pixels_traits<%d, CHANNELS>>(batch, function, bins, copies);\n}\n",
                name, depth, name, depth, depth);
        break;
    }
}

/* ---- launches: CHANNELS is 1 or 3 */

static void put_function_value(FILE *out, const struct kernel *kernel) {
    fprintf(out, "    const burin_%s_%d function = { %s };\n", kernel->op->op.name, kernel->depth,
            kernel->op->parameters ? "*parameters" : "{}");
}

static void put_picture_launch(FILE *out, const struct kernel *kernel) {
    const char *name = kernel->op->op.name;
    const int depth = kernel->depth, across = 128 / depth;
    fputs("    if (!begin(run, in, 0, out)) return false;\n", out);
    put_function_value(out, kernel);
    if (kernel->op->skeleton == SKELETON_P2P) {
        fprintf(out,
                "    const batch_of<1> batch = batch_for(run, in, in->width * in->channels, %d, "
                "1);\n"
                "    const unsigned blocks = blocks_for(batch.chunks, POINT_THREADS);\n"
                "    burin_%s_%d_kernel<<<blocks, POINT_THREADS>>>(batch, function, "
                "in->channels);\n",
                across, name, depth);
    } else if (kernel->op->skeleton == SKELETON_PIXEL) {
        fprintf(out,
                "    const batch_of<1> batch =\n"
                "        batch_for(run, in, in->width, pixels_traits<%d, CHANNELS>::PIXELS, 1);\n"
                "    const unsigned blocks = blocks_for(batch.chunks, PIXEL_THREADS);\n"
                "    burin_%s_%d_kernel<CHANNELS><<<blocks, PIXEL_THREADS>>>(batch, function);\n",
                depth, name, depth);
    } else {
        fprintf(out,
                "    const uint32_t rows = %s;\n"
                "    const batch_of<1> batch = batch_for(run, in, in->width * in->channels, %d, "
                "rows);\n"
                "    const unsigned blocks = blocks_for(batch.chunks, NEIGHBOURHOOD_THREADS);\n"
                "    burin_%s_%d_kernel<CHANNELS><<<blocks, NEIGHBOURHOOD_THREADS>>>(batch, "
                "function, rows);\n",
                kernel->op->window > USER_WINDOW_CHAINED_MAX
                    ? "1"
                    : "neighbourhood_rows(run.stride / 16 * in->height, run.multiprocessors)",
                across, name, depth);
    }
    fputs("    return finish(run, ms) && fetch_picture(run, out);\n", out);
}

static void put_number_launch(FILE *out, const struct kernel *kernel) {
    const char *name = kernel->op->op.name;
    const int depth = kernel->depth;
    fprintf(out, "    typedef partial_numbers<%s, CHANNELS> partials;\n    unsigned blocks;\n",
            kernel->result);
    fputs("    if (!begin(run, in, 3 * sizeof(long long))) return false;\n"
          "    if (!begin_fold(run, sizeof(partials), &blocks)) return false;\n",
          out);
    put_function_value(out, kernel);
    fprintf(out,
            "    const batch_of<1> batch =\n"
            "        batch_for(run, in, in->width, pixels_traits<%d, CHANNELS>::PIXELS, 1);\n"
            "    burin_%s_%d_kernel<CHANNELS><<<blocks, SCALAR_THREADS>>>(\n"
            "        batch, function, (partials *)run.partials, run.blocks_done);\n"
            "    return finish(run, ms) && fetch_values(run, numbers, CHANNELS * "
            "sizeof(long long));\n",
            depth, name, depth);
}

static void put_list_launch(FILE *out, const struct kernel *kernel) {
    const char *name = kernel->op->op.name;
    const int depth = kernel->depth;
    fputs("    const size_t length = (size_t)CHANNELS * bins, bytes = length * sizeof(int);\n"
          "    if (!begin(run, in, bytes)) return false;\n",
          out);
    put_function_value(out, kernel);
    fprintf(out,
            "    const batch_of<1> batch =\n"
            "        batch_for(run, in, in->width, pixels_traits<%d, CHANNELS>::PIXELS, 1);\n"
            "    const int copies = vector_copies(bins, CHANNELS, run.shared_bytes);\n"
            "    const int shared = (int)(copies * vector_copy_bytes(bins, CHANNELS));\n"
            "    const unsigned blocks = (unsigned)(VECTOR_BLOCKS * run.multiprocessors);\n"
            "    TRY(cudaFuncSetAttribute(burin_%s_%d_kernel<CHANNELS>,\n"
            "                             cudaFuncAttributeMaxDynamicSharedMemorySize, shared));\n"
            "    burin_%s_%d_kernel<CHANNELS><<<blocks, VECTOR_THREADS, shared>>>(batch, function, "
            "bins, copies);\n"
            "    return finish(run, ms) && fetch_values(run, counts, bytes);\n",
            depth, name, depth, name, depth);
}

static void put_launch(FILE *out, const struct kernel *kernel) {
    fprintf(out, "\ntemplate <int CHANNELS> static bool burin_%s_%d_launch", kernel->op->op.name,
            kernel->depth);
    convert_put_arguments(out, kernel->op);
    fputs(", double *ms) {\n    using namespace burin_host;\n    gpu_run run;\n", out);
    if (kernel->op->skeleton == SKELETON_R2S)
        put_number_launch(out, kernel);
    else if (kernel->op->skeleton == SKELETON_R2V)
        put_list_launch(out, kernel);
    else
        put_picture_launch(out, kernel);
    fputs("}\n", out);
}

/* ---- what op.h declares */

static const char *arguments_of(const struct user_op *op) {
    static const char *const names[][2] = {
        [SKELETON_P2P] = { "in, out, ms", "in, out, parameters, ms" },
        [SKELETON_N2P] = { "in, out, ms", "in, out, parameters, ms" },
        [SKELETON_R2S] = { "in, numbers, ms", "in, numbers, parameters, ms" },
        [SKELETON_PIXEL] = { "in, out, ms", "in, out, parameters, ms" },
        [SKELETON_R2V] = { "in, counts, bins, ms", "in, counts, bins, parameters, ms" },
    };
    return names[op->skeleton][op->parameters != NULL];
}

static void put_choice(FILE *out, const struct user_op *op, int depth) {
    fprintf(out,
            "    if (in->depth == %d)\n        return in->channels == 3 ? "
            "!burin_%s_%d_launch<3>(%s)\n                                 : "
            "!burin_%s_%d_launch<1>(%s);\n",
            depth, op->op.name, depth, arguments_of(op), op->op.name, depth, arguments_of(op));
}

static void put_entry(FILE *out, const struct user_op *op) {
    fprintf(out, "\nint %s_gpu", op->op.name);
    convert_put_arguments(out, op);
    fputs(", double *ms) {\n", out);
    for (int depth = 8; depth <= 16; depth += 8)
        if (user_text_has(op, depth)) put_choice(out, op, depth);
    fputs("    return 1;\n}\n", out);
}

/* ---- files */

static void put_operators(FILE *out, const struct user_file *file) {
    for (int i = 0; i < file->count; i++) {
        const struct user_op *op = &file->ops[i];
        fprintf(out, "\n/* ---- %s: %s */\n", op->op.name, op->op.summary);
        for (int depth = 8; depth <= 16; depth += 8) {
            if (!user_text_has(op, depth)) continue;
            const struct kernel kernel = { op, depth,
                                           scalar_type_name(user_text_result(op, depth)) };
            put_function(out, &kernel);
            put_kernel(out, &kernel);
            put_launch(out, &kernel);
        }
        put_entry(out, op);
    }
}

static void put_cu(FILE *out, const struct user_file *file) {
    const struct user_text_options options = { .function = "BURIN_INLINE",
                                               .helper = "__device__",
                                               .without_structs = true };
    fprintf(
        out,
        "/* op.cu - the operators of %s on a GPU, made by burin convert.\n"
        " *\n"
        " * First what launches have in common, then the functions as they were written; behind\n"
        " * them each operator has a struct that calls its function, a kernel, which is a\n"
        " * skeleton (point.cuh and the others) with that struct put into it, a launch, and what\n"
        " * op.h declares. The launch shape comes from the device. */\n"
        "#include <limits.h>\n#include <stdint.h>\n#include <stdio.h>\n\n"
        "#include \"point.cuh\"\n#include \"pixel.cuh\"\n#include \"neighbourhood.cuh\"\n"
        "#include \"scalar.cuh\"\n#include \"vector.cuh\"\n#include \"op.h\"\n",
        file->name);
    fputs(embedded_convert_launch, out);
    fputs("\n#include \"exact_math.h\"\n\n/* ---- the functions, whose names may be those of the "
          "skeletons and of CUDA */\n\nnamespace burin_user {\n",
          out);
    user_text_write(out, file, &options);
    user_text_undefine(out, file);
    fputs("}\n", out);
    put_operators(out, file);
}

enum status convert_gpu_write(const struct user_file *file, const char *folder,
                              struct failure *failure) {
    const struct convert_file files[] = {
        { "op.cu", NULL, put_cu },
        { "point.cuh", embedded_point, NULL },
        { "pixel.cuh", embedded_pixel_kernel, NULL },
        { "neighbourhood.cuh", embedded_neighbourhood, NULL },
        { "scalar.cuh", embedded_scalar, NULL },
        { "vector.cuh", embedded_vector, NULL },
        { "nvcc_steps.awk", embedded_nvcc_steps, NULL },
        { "ptx_negation.sed", embedded_ptx_negation, NULL },
        { .name = NULL },
    };
    return convert_write_files(files, file, folder, failure);
}
