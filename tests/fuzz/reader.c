// SPDX-License-Identifier: Apache-2.0
/* Any text through the reader of users' operators: what it takes must lie within the text and have
 * complete records. */
#include "pipeline/skeletons/reader.h"
#include "pipeline/skeletons/user_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth) {
    if (!truth) abort();
}

/* The text that compilers would get: it has no NUL and is read within the file's. */
static void judge_text(const struct user_file *file) {
    const struct user_text_options options = { .function = "inline", .helper = "helper" };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    user_text_write(out, file, &options);
    user_text_undefine(out, file);
    must(fclose(out) == 0 && size > 0 && strlen(text) == size);
    free(text);
}

static void judge(const struct user_file *file) {
    must(file->count > 0 && file->count <= USER_OPS_MAX);
    for (int i = 0; i < file->count; i++) {
        const struct user_op *op = &file->ops[i];
        must(op->op.name[0] && op->op.summary[0]);
        const char *first = op->function->first->text, *last = op->function->end[-1].text;
        must(op->function > file->declarations.list);
        const struct declaration *directive = op->function - 1;
        must(directive->kind == DECLARATION_DIRECTIVE && *directive->first->text == '#');
        must(directive->first->text < first && first < last);
        must(last < file->text + file->length && *last == '}');
        must((op->skeleton == SKELETON_N2P) == (op->window != 0));
        must(op->op.depth == 0 || op->op.depth == 8 || op->op.depth == 16);
        struct params params;
        params_init(&params, op->op.params);
        for (const struct param *param = op->op.params; param->type != PARAM_NONE; param++)
            must(param->min <= param->def && param->def <= param->max);
        unsigned char bytes[PARAMETER_STRUCT_BYTES_MAX];
        if (op->parameters) parameter_struct_fill(op->parameters, &params, bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* Exactly as large as the text, so that an over-read is seen. */
    char *text = malloc(size ? size : 1), said[512];
    struct diagnostics diagnostics;
    memcpy(text, data, size);
    struct user_file *file = reader_read("fuzz.c", text, size, 0, &diagnostics);
    must((file == NULL) == (diagnostics.count > 0));
    for (int i = 0; i < diagnostics.count && i < DIAGNOSTICS_MAX; i++) {
        must(diagnostics.list[i].line > 0);
        diagnostics_print(&diagnostics, i, said, sizeof said);
    }
    if (file) judge(file);
    if (file) judge_text(file);
    reader_destroy(file);
    free(text);
    return 0;
}
