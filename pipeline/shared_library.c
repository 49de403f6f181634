// SPDX-License-Identifier: Apache-2.0
#include "pipeline/shared_library.h"

#include <dlfcn.h>
#include <string.h>

void *shared_library_open(const char *const *names, size_t count) {
    void *library = NULL;
    for (size_t i = 0; !library && i < count; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

bool shared_library_find(void *library, const struct shared_symbol *symbols, size_t count) {
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        void *const symbol = dlsym(library, symbols[i].name);
        memcpy(symbols[i].function, &symbol, sizeof symbol); /* ISO C cannot assign it */
        all = all && symbol;
    }
    return all;
}
