// SPDX-License-Identifier: Apache-2.0
/* How it works. Each file has a function that prints it. op_cpu.c is the source of the CPU twin,
 * followed by a function for each operator that calls the loop; main.c is a table of the operators
 * before a fixed text. */
#include "pipeline/skeletons/convert.h"

#include "pipeline/skeletons/embedded.h"
#include "pipeline/skeletons/user_text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_picture(const struct user_op *op) {
    return op->skeleton != SKELETON_R2S && op->skeleton != SKELETON_R2V;
}

void convert_put_arguments(FILE *out, const struct user_op *op) {
    fprintf(out, "(const struct op_picture *in");
    if (is_picture(op)) fprintf(out, ", struct op_picture *out");
    if (op->skeleton == SKELETON_R2S) fprintf(out, ", long long numbers[3]");
    if (op->skeleton == SKELETON_R2V) fprintf(out, ", int *counts, int bins");
    if (op->parameters) fprintf(out, ", const %s *parameters", op->parameters->name);
}

/* ---- op.h */

/* Returns the end of LAST, or of a comment that follows it on its line. */
static const char *end_with_comment(const struct user_file *file, const struct token *last) {
    for (int i = 0; i + 1 < file->tokens.count; i++) {
        const struct token *next = &file->tokens.list[i + 1];
        if (file->tokens.list[i].text == last->text && next->kind == TOKEN_COMMENT &&
            next->line == last->line)
            return next->text + next->length;
    }
    return last->text + last->length;
}

static void put_structs(FILE *out, const struct user_file *file) {
    for (int i = 0; i + 1 < file->declarations.count; i++) {
        const struct declaration *one = &file->declarations.list[i];
        if (one->kind != DECLARATION_DIRECTIVE || strcmp(one->directive, "#STRUCT") != 0) continue;
        const char *first = one[1].first->text;
        const char *end = end_with_comment(file, one[1].end - 1);
        fprintf(out, "%.*s\n\n", (int)(end - first), first);
    }
}

static void put_header(FILE *out, const struct user_file *file) {
    fprintf(
        out,
        "/* op.h - the operators of %s, made by burin convert.\n"
        " *\n"
        " * Each works on every channel of a picture by itself, but those of whole pixels, whose\n"
        " * result has three channels. The functions of op_cpu.c and op.cu give the same bytes.\n"
        " * A function of op.cu returns 0, or 1 after a message on standard error;\n"
        " * *ms is the kernel's time. */\n"
        "#ifndef OP_H\n#define OP_H\n\n"
        "#ifndef BURIN_TWIN_PRELUDE_H\n#include <stdbool.h>\n#include <stdint.h>\n#endif\n\n"
        "struct op_picture {\n"
        "    unsigned char *samples; /* rows from the top, channels interleaved */\n"
        "    unsigned long stride;   /* bytes from row to row */\n"
        "    int width, height;\n"
        "    int channels; /* 1 gray, 3 RGB */\n"
        "    int depth;    /* bits a sample: 8, or 16 in the machine's own byte order */\n"
        "};\n\n",
        file->name);
    put_structs(out, file);
    fputs("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", out);
    for (int i = 0; i < file->count; i++) {
        const struct user_op *op = &file->ops[i];
        fprintf(out, "/* %s", op->op.summary);
        if (op->op.depth) fprintf(out, "; %u bits a sample", op->op.depth);
        fprintf(out, ". */\nvoid %s_cpu", op->op.name);
        convert_put_arguments(out, op);
        fprintf(out, ");\nint %s_gpu", op->op.name);
        convert_put_arguments(out, op);
        fputs(", double *ms);\n\n", out);
    }
    fputs("#ifdef __cplusplus\n}\n#endif\n#endif\n", out);
}

/* ---- op_cpu.c */

static void put_rows(FILE *out, const struct user_op *op) {
    fprintf(out, "    struct burin_rows rows = { 0 };\n"
                 "    rows.in = in->samples;\n"
                 "    rows.in_stride = in->stride;\n"
                 "    rows.width = in->width;\n"
                 "    rows.height = in->height;\n"
                 "    rows.channels = in->channels;\n"
                 "    rows.end = in->height;\n");
    fprintf(out, "    rows.params = %s;\n", op->parameters ? "parameters" : "\"\"");
}

/* Calls rows(&rows), for the picture's depth where the operator takes both. */
static void put_call(FILE *out, const struct user_op *op) {
    const char *name = op->op.name;
    if (op->op.depth)
        fprintf(out, "    burin_%s_%u_rows(&rows);\n", name, op->op.depth);
    else
        fprintf(out,
                "    if (in->depth == 8)\n        burin_%s_8_rows(&rows);\n"
                "    else\n        burin_%s_16_rows(&rows);\n",
                name, name);
}

static void put_cpu_function(FILE *out, const struct user_op *op) {
    fprintf(out, "\nvoid %s_cpu", op->op.name);
    convert_put_arguments(out, op);
    fputs(") {\n", out);
    put_rows(out, op);
    if (is_picture(op))
        fputs("    rows.out = out->samples;\n    rows.out_stride = out->stride;\n", out);
    if (op->skeleton == SKELETON_R2S)
        fputs("    struct burin_fold folds[3] = { 0 };\n    rows.folds = folds;\n", out);
    if (op->skeleton == SKELETON_R2V)
        fputs("    for (long i = 0; i < (long)in->channels * bins; i++) counts[i] = 0;\n"
              "    rows.counts = counts;\n    rows.bins = bins;\n    rows.copies = 1;\n",
              out);
    put_call(out, op);
    if (op->skeleton == SKELETON_R2S)
        fputs("    for (int c = 0; c < in->channels; c++) numbers[c] = folds[c].value;\n", out);
    fputs("}\n", out);
}

static void put_cpu(FILE *out, const struct user_file *file) {
    const struct user_text_options options = { .function = "BURIN_INLINE",
                                               .without_structs = true };
    fprintf(
        out,
        "/* op_cpu.c - the operators of %s on a CPU, made by burin convert.\n"
        " *\n"
        " * First the functions as they were written, then a loop for each, which the compiler\n"
        " * puts the function into, then what op.h declares. */\n"
        "#define BURIN_HOSTED\n"
        "#include \"rows.h\"\n#include \"prelude.h\"\n#include \"exact_math.h\"\n"
        "#include \"op.h\"\n\n",
        file->name);
    user_text_write(out, file, &options);
    user_text_undefine(out, file);
    user_text_loops(out, file, false);
    fputs("\n/* ---- the functions of op.h */\n", out);
    for (int i = 0; i < file->count; i++) put_cpu_function(out, &file->ops[i]);
}

/* ---- main.c */

/* Prints a call of NAME_cpu or NAME_gpu with the arguments that all have in common. */
static void put_run(FILE *out, const struct user_op *op, const char *side) {
    const bool gpu = strcmp(side, "gpu") == 0;
    fprintf(out,
            "static int run_%s_%s(const struct op_picture *in, struct result *result,\n"
            "                     const void *parameters, double *ms) {\n"
            "    (void)parameters;\n    (void)ms;\n    %s%s_%s(in",
            op->op.name, side, gpu ? "return " : "", op->op.name, side);
    if (is_picture(op)) fputs(", &result->picture", out);
    if (op->skeleton == SKELETON_R2S) fputs(", result->numbers", out);
    if (op->skeleton == SKELETON_R2V) fputs(", result->counts, result->bins", out);
    if (op->parameters) fprintf(out, ", (const %s *)parameters", op->parameters->name);
    fprintf(out, "%s);\n%s}\n\n", gpu ? ", ms" : "", gpu ? "" : "    return 0;\n");
}

static void put_decimal(FILE *out, const struct param *param, long number) {
    char text[DECIMAL_TEXT_MAX];
    if (param->type == PARAM_DECIMAL)
        fputs(param_decimal_print(number, text), out);
    else
        fprintf(out, "%ld.0", number);
}

static void put_table(FILE *out, const struct user_op *op) {
    const struct parameter_struct *all = op->parameters;
    fprintf(out, "static const struct parameter %s_parameters[] = {\n", op->op.name);
    for (int i = 0; all && i < all->count; i++) {
        const enum scalar_type type = all->fields[i].type;
        const struct param *param = &all->params[i];
        fprintf(out, "    { \"%s\", %s, %zu, %zu, ", param->name,
                type == SCALAR_FLOAT    ? "TYPE_FLOAT"
                : type == SCALAR_DOUBLE ? "TYPE_DOUBLE"
                                        : "TYPE_INTEGER",
                all->fields[i].offset, scalar_type_bytes(type));
        put_decimal(out, param, param->def);
        fputs(", ", out);
        put_decimal(out, param, param->type == PARAM_BOOL ? 0 : param->min);
        fputs(", ", out);
        put_decimal(out, param, param->type == PARAM_BOOL ? 1 : param->max);
        fputs(" },\n", out);
    }
    fputs("    { NULL, TYPE_INTEGER, 0, 0, 0, 0, 0 },\n};\n\n", out);
}

static void put_entry(FILE *out, const struct user_op *op) {
    static const char *const kinds[] = { "KIND_PICTURE", "KIND_PICTURE", "KIND_NUMBER", "KIND_LIST",
                                         "KIND_COLOUR" };
    fprintf(out, "    { \"%s\", %s, %u, %s_parameters, %d, %d, run_%s_cpu, GPU(run_%s_gpu) },\n",
            op->op.name, kinds[op->skeleton], op->op.depth, op->op.name,
            op->parameters ? op->parameters->count : 0,
            op->skeleton == SKELETON_R2V ? USER_BINS_DEFAULT : 0, op->op.name, op->op.name);
}

static void put_main(FILE *out, const struct user_file *file) {
    fprintf(
        out,
        "/* main.c - runs the operators of %s on a picture, on the CPU and on the GPU, compares\n"
        " * the results and prints the times. Made by burin convert. */\n"
        "#define _POSIX_C_SOURCE 200809L\n"
        "#include \"op.h\"\n\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "#include <time.h>\n\n"
        "enum kind { KIND_PICTURE, KIND_COLOUR, KIND_NUMBER, KIND_LIST };\n"
        "enum type { TYPE_INTEGER, TYPE_FLOAT, TYPE_DOUBLE };\n\n"
        "struct parameter {\n    const char *name;\n    enum type type;\n"
        "    size_t offset, size; /* of the field, in bytes */\n"
        "    double def, min, max;\n};\n\n"
        "/* The result of a run: one of the three. */\n"
        "struct result {\n    struct op_picture picture;\n    long long numbers[3];\n"
        "    int *counts;\n    int bins;\n};\n\n"
        "typedef int run_function(const struct op_picture *in, struct result *result,\n"
        "                         const void *parameters, double *ms);\n\n"
        "struct operation {\n    const char *name;\n    enum kind kind;\n"
        "    int depth; /* 8 or 16; 0: both */\n    const struct parameter *parameters;\n"
        "    int parameter_count;\n    int bins; /* 0: it makes no list */\n"
        "    run_function *cpu, *gpu; /* gpu: NULL without op.cu */\n};\n\n"
        "#ifdef WITH_GPU\n#define GPU(function) function\n#else\n#define GPU(function) NULL\n"
        "#endif\n\n",
        file->name);
    for (int i = 0; i < file->count; i++) put_run(out, &file->ops[i], "cpu");
    fputs("#ifdef WITH_GPU\n", out);
    for (int i = 0; i < file->count; i++) put_run(out, &file->ops[i], "gpu");
    fputs("#endif\n\n", out);
    for (int i = 0; i < file->count; i++) put_table(out, &file->ops[i]);
    fputs("static const struct operation operations[] = {\n", out);
    for (int i = 0; i < file->count; i++) put_entry(out, &file->ops[i]);
    fprintf(out, "};\nenum { OPERATION_COUNT = %d };\n", file->count);
    fputs(embedded_main, out);
}

/* ---- the folder */

static enum status write_file(const struct convert_file *one, const struct user_file *file,
                              const char *folder, struct failure *failure) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, one->name);
    FILE *out = fopen(path, "we");
    if (out && one->text) fputs(one->text, out);
    if (out && one->put) one->put(out, file);
    const bool bad = !out || ferror(out);
    if ((out && fclose(out) != 0) || bad)
        return fail(failure, STATUS_INTERNAL, "cannot write %.120s: %s", path, strerror(errno));
    return STATUS_OK;
}

enum status convert_write_files(const struct convert_file *list, const struct user_file *file,
                                const char *folder, struct failure *failure) {
    enum status status = STATUS_OK;
    for (; !status && list->name; list++) status = write_file(list, file, folder, failure);
    return status;
}

enum status convert_write(const struct user_file *file, const char *folder,
                          struct failure *failure) {
    const struct convert_file files[] = {
        { "op.h", NULL, put_header },
        { "op_cpu.c", NULL, put_cpu },
        { "main.c", NULL, put_main },
        { "Makefile", embedded_makefile, NULL },
        { "rows.h", embedded_rows, NULL },
        { "prelude.h", embedded_prelude, NULL },
        { "exact_math.h", embedded_exact_math, NULL },
        { .name = NULL },
    };
    char path[1024];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return fail(failure, STATUS_INTERNAL, "cannot make %.120s: %s", folder, strerror(errno));
    snprintf(path, sizeof path, "%s/op_cpu.c", folder);
    if (access(path, F_OK) == 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "%.120s is there already: choose another folder, or remove it", path);
    return convert_write_files(files, file, folder, failure);
}
