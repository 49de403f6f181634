// SPDX-License-Identifier: Apache-2.0
#include "server/http/page_files.h"

#include <string.h>

/* Made by server/web_files.sh: the bytes, and `static const struct page_file page_files[]`. */
#include "web_files.inc"

static const char folder[] = "/web/";

const struct page_file *page_file_find(const char *path) {
    const char *name = strcmp(path, "/") == 0 ? "index.html" : NULL;
    if (!name && strncmp(path, folder, strlen(folder)) == 0) name = path + strlen(folder);
    for (size_t i = 0; name && i < sizeof page_files / sizeof *page_files; i++)
        if (strcmp(name, page_files[i].name) == 0) return &page_files[i];
    return NULL;
}
