// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvjpeg.h"

#include <dlfcn.h>
#include <string.h>

enum { BACKEND_HARDWARE = 3, FLAGS_NONE = 0 };

static void *open_library(const char *path) {
    static const char *const paths[] = {
        "libnvjpeg.so.13",
        "libnvjpeg.so.12",
        "libnvjpeg.so",
        "/usr/local/cuda/lib64/libnvjpeg.so.13",
        "/usr/local/cuda/lib64/libnvjpeg.so.12",
        "/usr/local/cuda/lib64/libnvjpeg.so",
    };
    if (path) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof paths / sizeof *paths; i++)
        library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* FUNCTION: the address of a pointer to a function, which ISO C does not let us assign. */
static bool find_symbol(void *library, const char *name, void *function) {
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool find_symbols(struct nvjpeg *nvjpeg) {
    void *const library = nvjpeg->library;
    return find_symbol(library, "nvjpegCreateEx", &nvjpeg->create) &&
           find_symbol(library, "nvjpegDestroy", &nvjpeg->destroy) &&
           find_symbol(library, "nvjpegJpegStateCreate", &nvjpeg->state_create) &&
           find_symbol(library, "nvjpegJpegStateDestroy", &nvjpeg->state_destroy) &&
           find_symbol(library, "nvjpegGetImageInfo", &nvjpeg->image_info) &&
           find_symbol(library, "nvjpegDecodeBatchedInitialize", &nvjpeg->batch_init) &&
           find_symbol(library, "nvjpegDecodeBatched", &nvjpeg->batch_decode);
}

bool nvjpeg_open(struct nvjpeg *nvjpeg, const char *path) {
    memset(nvjpeg, 0, sizeof *nvjpeg);
    nvjpeg->library = open_library(path);
    if (!nvjpeg->library) return false;
    if (find_symbols(nvjpeg) &&
        nvjpeg->create(BACKEND_HARDWARE, NULL, NULL, FLAGS_NONE, &nvjpeg->handle) == 0)
        return true;
    dlclose(nvjpeg->library);
    return false;
}

void nvjpeg_close(struct nvjpeg *nvjpeg) {
    nvjpeg->destroy(nvjpeg->handle);
    dlclose(nvjpeg->library);
}
