// SPDX-License-Identifier: Apache-2.0
#include "cuda/skeletons/kernel_compiler.h"

#include "cuda/skeletons/nvrtc.h"

#include "pipeline/shared_library.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- libnvJitLink, where it is installed; source: the documentation of nvJitLink 13 */

enum { INPUT_PTX = 2 };

typedef struct nvjitlink_handle *nvJitLinkHandle;

static struct {
    int (*version)(unsigned *major, unsigned *minor);
    int (*create)(nvJitLinkHandle *handle, uint32_t count, const char **options);
    int (*add)(nvJitLinkHandle handle, int type, const void *data, size_t size, const char *name);
    int (*complete)(nvJitLinkHandle handle);
    int (*cubin_size)(nvJitLinkHandle handle, size_t *size);
    int (*cubin)(nvJitLinkHandle handle, void *cubin);
    int (*destroy)(nvJitLinkHandle *handle);
} nvjitlink;

static bool there;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void) {
    static const char *const names[] = { "libnvJitLink.so.13", "libnvJitLink.so.12",
                                         "libnvJitLink.so",
                                         "/usr/local/cuda/lib64/libnvJitLink.so" };
    const struct shared_symbol symbols[] = {
        { "nvJitLinkVersion", &nvjitlink.version },
        { "nvJitLinkCreate", &nvjitlink.create },
        { "nvJitLinkAddData", &nvjitlink.add },
        { "nvJitLinkComplete", &nvjitlink.complete },
        { "nvJitLinkGetLinkedCubinSize", &nvjitlink.cubin_size },
        { "nvJitLinkGetLinkedCubin", &nvjitlink.cubin },
        { "nvJitLinkDestroy", &nvjitlink.destroy },
    };
    void *library = shared_library_open(names, sizeof names / sizeof *names);
    there = library && shared_library_find(library, symbols, sizeof symbols / sizeof *symbols);
}

static bool is_there(void) {
    pthread_once(&loaded, load);
    return there;
}

int nvjitlink_version(void) {
    unsigned major = 0, minor = 0;
    if (!is_there() || nvjitlink.version(&major, &minor) != 0) return 0;
    return (int)(1000 * major + 10 * minor);
}

static char *take_cubin(nvJitLinkHandle handle, size_t *size) {
    if (nvjitlink.cubin_size(handle, size) != 0) return NULL;
    char *cubin = malloc(*size + 1);
    if (!cubin) return NULL;
    cubin[*size] = '\0';
    if (nvjitlink.cubin(handle, cubin) == 0) return cubin;
    free(cubin);
    return NULL;
}

/* Compiles PTX to a cubin of SIZE bytes, with NUL behind them. NULL: the library is missing, or
 * does not accept the PTX. */
static char *nvjitlink_compile(const char *ptx, int capability, size_t *size) {
    char architecture[32];
    const char *options[] = { architecture };
    nvJitLinkHandle handle = NULL;
    if (!is_there()) return NULL;
    snprintf(architecture, sizeof architecture, "-arch=sm_%d", capability);
    if (nvjitlink.create(&handle, 1, options) != 0) return NULL;
    const bool good = nvjitlink.add(handle, INPUT_PTX, ptx, strlen(ptx) + 1, "kernel") == 0 &&
                      nvjitlink.complete(handle) == 0;
    char *cubin = good ? take_cubin(handle, size) : NULL;
    nvjitlink.destroy(&handle);
    return cubin;
}

/* ---- the compiler */

/* Makes the key depend on how PTX is rewritten and on the two headers. */
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
