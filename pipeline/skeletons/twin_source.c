// SPDX-License-Identifier: Apache-2.0
/* How it works. Behind the user's text every operator has its skeleton's loop for each depth that
 * it takes; the loop reads from macros what differs: names, types, how parameters are passed. */
#include "pipeline/skeletons/twin_source.h"

#include "pipeline/skeletons/embedded.h"
#include "pipeline/skeletons/user_text.h"

#include <stdlib.h>

static const struct {
    const char *file, *text;
} templates[] = {
    [SKELETON_P2P] = { "p2p.h", embedded_p2p },
    [SKELETON_N2P] = { "n2p.h", embedded_n2p },
    [SKELETON_R2S] = { "r2s.h", embedded_r2s },
    [SKELETON_R2V] = { "r2v.h", embedded_r2v },
};

static void put_loop(FILE *out, const struct user_op *op, int depth, bool lines) {
    static const char *const names[] = { "NAME",          "SAMPLE",   "PIXEL",  "PARAMS", "PASS",
                                         "USES_POSITION", "FUNCTION", "RESULT", "WINDOW" };
    const char *name = op->op.name;
    char function[USER_TEXT_NAME_MAX];
    fprintf(out, "\ntypedef %s burin_%s_%d_params;\n",
            op->parameters ? op->parameters->name : "struct burin_nothing", name, depth);
    fprintf(out, "#define BURIN_NAME(part)    burin_%s_%d_##part\n", name, depth);
    fprintf(out, "#define BURIN_FUNCTION      %s\n", user_text_function(op, depth, function));
    fprintf(out, "#define BURIN_PARAMS        burin_%s_%d_params\n", name, depth);
    fprintf(out, "#define BURIN_PASS          %s\n", op->parameters ? ", burin_p" : "");
    fprintf(out, "#define BURIN_SAMPLE        burin_sample%d\n", depth);
    fprintf(out, "#define BURIN_PIXEL         unsigned %s\n", depth == 8 ? "char" : "short");
    fprintf(out, "#define BURIN_USES_POSITION %d\n", op->uses_position);
    fprintf(out, "#define BURIN_RESULT        %s\n", scalar_type_name(user_text_result(op, depth)));
    fprintf(out, "#define BURIN_WINDOW        %d\n", op->window);
    if (lines) user_text_line(out, 1, templates[op->skeleton].file);
    fputs(templates[op->skeleton].text, out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(out, "#undef BURIN_%s\n", names[i]);
}

void twin_source_loops(FILE *out, const struct user_file *file, bool lines) {
    for (int i = 0; i < file->count; i++)
        for (int depth = 8; depth <= 16; depth += 8)
            if (user_text_has(&file->ops[i], depth)) put_loop(out, &file->ops[i], depth, lines);
}

static void put_part(FILE *out, const char *name, const char *text) {
    user_text_line(out, 1, name);
    fputs(text, out);
}

char *twin_source(const struct user_file *file) {
    const struct user_text_options options = { .function = "BURIN_INLINE", .lines = true };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    put_part(out, "rows.h", embedded_rows);
    put_part(out, "prelude.h", embedded_prelude);
    put_part(out, "exact_math.h", embedded_exact_math);
    user_text_write(out, file, &options);
    /* What the user has called `in` or `rows` is no business of the loops. */
    user_text_undefine(out, file);
    twin_source_loops(out, file, true);
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return text;
    free(text);
    return NULL;
}
