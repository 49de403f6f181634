// SPDX-License-Identifier: Apache-2.0
#include "cuda/skeletons/kernel_compiler.h"

#include "cuda/skeletons/nvjitlink.h"
#include "cuda/skeletons/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By it the key knows how PTX is rewritten and what the two headers are. */
static const char program_version[] =
#include "version.inc"
    ;

bool kernel_compiler_compile(const char *source, const char *file, int capability,
                             struct kernel_code *code) {
    struct nvrtc_code made;
    const bool good = nvrtc_compile(source, file, capability, &made);
    *code = (struct kernel_code){ .log = made.log };
    if (!good) return false;
    code->bytes = nvjitlink_compile(made.ptx, capability, &code->size);
    if (!code->bytes) {
        code->bytes = made.ptx;
        code->size = strlen(made.ptx);
        code->ptx = true;
        return true;
    }
    free(made.ptx);
    return true;
}

void kernel_code_release(struct kernel_code *code) {
    free(code->bytes);
    free(code->log);
    *code = (struct kernel_code){ 0 };
}

char *kernel_compiler_key(const char *source, int capability) {
    char *key = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&key, &size);
    if (!out) return NULL;
    fprintf(out, "// burin %s, NVRTC %d, nvJitLink %d, compute capability %d\n//", program_version,
            nvrtc_version(), nvjitlink_version(), capability);
    for (const char *const *option = nvrtc_options; *option; option++) fprintf(out, " %s", *option);
    fprintf(out, "\n%s", source);
    const bool bad = ferror(out);
    if (fclose(out) == 0 && !bad) return key;
    free(key);
    return NULL;
}
