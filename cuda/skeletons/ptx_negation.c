// SPDX-License-Identifier: Apache-2.0
#include "cuda/skeletons/ptx_negation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `neg.s32 A, B;` or `sub.s32 A, 0, B;` at LINE. */
static bool is_negation(const char *line, char result[32], char operand[32]) {
    return sscanf(line, " neg.s32 %31[^, \t], %31[^; \t];", result, operand) == 2 ||
           sscanf(line, " sub.s32 %31[^, \t], 0, %31[^; \t];", result, operand) == 2;
}

char *ptx_negation_hide(const char *ptx) {
    static const char behind[] = ".address_size";
    char *text = NULL, result[32], operand[32];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    while (*ptx) {
        const size_t length = strcspn(ptx, "\n");
        if (is_negation(ptx, result, operand))
            fprintf(out,
                    "{ .reg .b32 %%burin_z; ld.const.u32 %%burin_z, [burin_zero]; "
                    "sub.s32 %s, %%burin_z, %s; }\n",
                    result, operand);
        else
            fprintf(out, "%.*s\n", (int)length, ptx);
        if (strncmp(ptx, behind, sizeof behind - 1) == 0)
            fputs(".visible .const .align 4 .u32 burin_zero;\n", out);
        ptx += length + (ptx[length] == '\n');
    }
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return text;
    free(text);
    return NULL;
}
