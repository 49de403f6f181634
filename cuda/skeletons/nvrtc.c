// SPDX-License-Identifier: Apache-2.0
/* How it works. libnvrtc is opened at its first use. Each 32-bit negation in the PTX that it makes
 * is replaced: ptxas of CUDA 12.8 to 13.3 joins two minima or maxima to one VIMNMX3, and loses the
 * sign of an operand that is a negation: seen here with 13.0 on compute capability 9.0 for -min(-a,
 * -b), and by others for max(x, -x): https://github.com/pytorch/pytorch/issues/190973. A
 * subtraction from a zero in constant memory costs the same and is left alone. */
#include "cuda/skeletons/nvrtc.h"

#include "pipeline/shared_library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program *nvrtcProgram;

static struct {
    int (*version)(int *major, int *minor);
    int (*create)(nvrtcProgram *program, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(nvrtcProgram program, int count, const char *const *options);
    int (*log_size)(nvrtcProgram program, size_t *size);
    int (*log)(nvrtcProgram program, char *text);
    int (*code_size)(nvrtcProgram program, size_t *size);
    int (*code)(nvrtcProgram program, char *code);
    int (*destroy)(nvrtcProgram *program);
    const char *(*error_text)(int error);
} nvrtc;

static const char *missing;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void) {
    static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                         "/usr/local/cuda/lib64/libnvrtc.so" };
    const struct shared_symbol symbols[] = {
        { "nvrtcVersion", &nvrtc.version },
        { "nvrtcCreateProgram", &nvrtc.create },
        { "nvrtcCompileProgram", &nvrtc.compile },
        { "nvrtcGetProgramLogSize", &nvrtc.log_size },
        { "nvrtcGetProgramLog", &nvrtc.log },
        { "nvrtcGetPTXSize", &nvrtc.code_size },
        { "nvrtcGetPTX", &nvrtc.code },
        { "nvrtcDestroyProgram", &nvrtc.destroy },
        { "nvrtcGetErrorString", &nvrtc.error_text },
    };
    void *library = shared_library_open(names, sizeof names / sizeof *names);
    missing = library ? NULL
                      : "there is no libnvrtc on this machine, which compiles operators for the "
                        "GPU: install cuda-nvrtc of the CUDA toolkit, or use device=cpu";
    if (library && !shared_library_find(library, symbols, sizeof symbols / sizeof *symbols))
        missing = "the libnvrtc of this machine is too old";
}

const char *nvrtc_missing(void) {
    pthread_once(&loaded, load);
    return missing;
}

int nvrtc_version(void) {
    int major = 0, minor = 0;
    if (nvrtc_missing() || nvrtc.version(&major, &minor) != 0) return 0;
    return 1000 * major + 10 * minor;
}

/* ---- negations */

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

/* ---- compilation */

/* The text of the two headers, for this compiler. */
static const char *const header_names[] = { "stdint.h", "cuda_runtime.h" };
static const char *const header_texts[] = {
    "typedef signed char int8_t;\ntypedef unsigned char uint8_t;\n"
    "typedef short int16_t;\ntypedef unsigned short uint16_t;\n"
    "typedef int int32_t;\ntypedef unsigned int uint32_t;\n"
    "typedef long int64_t;\ntypedef unsigned long uint64_t;\n"
    "typedef unsigned long uintptr_t;\n",
    "",
};

static bool take_code(nvrtcProgram program, struct nvrtc_code *code) {
    size_t size;
    if (nvrtc.code_size(program, &size) != 0) return false;
    char *ptx = malloc(size);
    if (ptx && nvrtc.code(program, ptx) == 0) code->ptx = ptx_negation_hide(ptx);
    free(ptx);
    return code->ptx;
}

static void take_log(nvrtcProgram program, struct nvrtc_code *code) {
    size_t size;
    if (nvrtc.log_size(program, &size) != 0 || size < 2) return;
    code->log = malloc(size);
    if (code->log) nvrtc.log(program, code->log);
}

const char *const nvrtc_options[] = {
    "--std=c++17",         "--fmad=false",       "--device-as-default-execution-space",
    "--no-source-include", "--disable-warnings", NULL,
};
enum { OPTIONS = sizeof nvrtc_options / sizeof *nvrtc_options };

bool nvrtc_compile(const char *source, const char *name, int capability, struct nvrtc_code *code) {
    char architecture[32];
    const char *options[OPTIONS] = { architecture };
    nvrtcProgram program = NULL;
    *code = (struct nvrtc_code){ 0 };
    if (nvrtc_missing()) {
        code->log = strdup(nvrtc_missing());
        return false;
    }
    memcpy(options + 1, nvrtc_options, sizeof options - sizeof *options);
    snprintf(architecture, sizeof architecture, "--gpu-architecture=compute_%d", capability);
    int error = nvrtc.create(&program, source, name, 2, header_texts, header_names);
    if (!error) error = nvrtc.compile(program, OPTIONS, options);
    bool good = !error && take_code(program, code);
    if (program) take_log(program, code);
    if (!good && !code->log) code->log = strdup(error ? nvrtc.error_text(error) : "out of memory");
    if (program) nvrtc.destroy(&program);
    return good;
}

void nvrtc_release(struct nvrtc_code *code) {
    free(code->ptx);
    free(code->log);
    *code = (struct nvrtc_code){ 0 };
}
