// SPDX-License-Identifier: Apache-2.0
/* How it works. Texts are stored in the order in which their operators were added, so that a worker
 * that adds them in this order finds the same names free. Each entry is the length of the path and
 * of the text with their NULs, as 64 bits each, then path and text. */
#include "server/generation.h"

#include "pipeline/fnv1a.h"
#include "pipeline/skeletons/reader.h"
#include "server/api/openapi_json.h"
#include "server/api/ops_json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(offsetof(struct generation, holders) == 0, "as current.h wants it");

/* ---- making one */

struct generation *generation_create(uint32_t number) {
    struct generation *generation = calloc(1, sizeof *generation);
    if (!generation) return NULL;
    generation->number = number;
    generation->texts_fd = -1;
    generation->holders = 1;
    pthread_mutex_init(&generation->list_lock, NULL);
    return generation;
}

static void put(char **at, const void *bytes, size_t length) {
    memcpy(*at, bytes, length);
    *at += length;
}

bool generation_add(struct generation *generation, struct user_file *file, const char *path,
                    const char *text, size_t length) {
    const uint64_t sizes[2] = { strlen(path) + 1, length + 1 };
    const size_t more = sizeof sizes + sizes[0] + sizes[1];
    char *texts = realloc(generation->texts, generation->texts_length + more);
    if (!texts) return false;
    char *at = texts + generation->texts_length;
    put(&at, sizes, sizeof sizes);
    put(&at, path, sizes[0]);
    put(&at, text, sizes[1]);
    generation->texts = texts;
    generation->texts_length += more;
    generation->files[generation->file_count++] = file;
    for (int i = 0; i < file->count; i++) op_set_add(&generation->ops, &file->ops[i].op);
    return true;
}

static bool write_texts(struct generation *generation) {
    if (!generation->texts_length) return true;
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    generation->texts_fd = memfd_create("burin-operators", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t done = 0;
    ssize_t written = generation->texts_fd < 0 ? -1 : 0;
    while (written >= 0 && done < generation->texts_length) {
        written =
            write(generation->texts_fd, generation->texts + done, generation->texts_length - done);
        if (written > 0) done += (size_t)written;
    }
    return done == generation->texts_length &&
           fcntl(generation->texts_fd, F_ADD_SEALS, seals) == 0; /* read-only for workers */
}

/* Takes over TEXT; NULL: no memory, and the document stays. */
static bool set_document(struct generation_document *document, char *text) {
    if (!text) return false;
    free(document->text);
    document->text = text;
    document->length = strlen(text);
    snprintf(document->etag, sizeof document->etag, "\"%016llx\"",
             (unsigned long long)fnv1a(FNV1A_START, text, document->length));
    return true;
}

static json_t *files_json(const struct generation *generation) {
    json_t *files = json_array();
    for (int i = 0; i < generation->file_count; i++) {
        const struct user_file *file = generation->files[i];
        json_t *names = json_array();
        for (int o = 0; o < file->count; o++)
            json_array_append_new(names, json_string(file->ops[o].op.name));
        json_array_append_new(files,
                              json_pack("{s:s, s:o}", "file", file->name, "operators", names));
    }
    return files;
}

bool generation_set_problems(struct generation *generation, const json_t *problems) {
    json_t *list = ops_json(&generation->ops);
    if (problems) json_object_set_new(list, "files", files_json(generation));
    if (problems) json_object_set(list, "problems", (json_t *)problems);
    char *text = json_dumps(list, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    json_decref(list);
    pthread_mutex_lock(&generation->list_lock);
    const bool made = set_document(&generation->list, text);
    pthread_mutex_unlock(&generation->list_lock);
    return made;
}

bool generation_close(struct generation *generation, const json_t *problems) {
    return generation_set_problems(generation, problems) &&
           set_document(&generation->openapi, openapi_json(&generation->ops)) &&
           write_texts(generation);
}

bool generation_next_text(const char **at, const char *end, struct generation_text *text) {
    uint64_t sizes[2];
    if (*at >= end) return false;
    memcpy(sizes, *at, sizeof sizes);
    text->path = *at + sizeof sizes;
    text->text = text->path + sizes[0];
    text->length = sizes[1] - 1;
    *at = text->text + sizes[1];
    return true;
}

bool generation_find_text(const struct generation *generation, const char *path,
                          struct generation_text *text) {
    if (!generation->texts_length) return false;
    const char *at = generation->texts, *end = at + generation->texts_length;
    while (generation_next_text(&at, end, text))
        if (strcmp(text->path, path) == 0) return true;
    return false;
}

/* ---- holding one */

struct generation *generation_hold(struct generation *generation) {
    __atomic_add_fetch(&generation->holders, 1, __ATOMIC_RELAXED);
    return generation;
}

void generation_release(struct generation *generation) {
    if (!generation || __atomic_sub_fetch(&generation->holders, 1, __ATOMIC_ACQ_REL)) return;
    for (int i = 0; i < generation->file_count; i++) reader_destroy(generation->files[i]);
    if (generation->texts_fd >= 0) close(generation->texts_fd);
    free(generation->texts);
    free(generation->list.text);
    free(generation->openapi.text);
    pthread_mutex_destroy(&generation->list_lock);
    free(generation);
}

bool generation_is_left(const struct generation *generation) {
    return __atomic_load_n(&generation->holders, __ATOMIC_ACQUIRE) == 1;
}

bool generation_in_force(const struct generation *generation) {
    return __atomic_load_n(&generation->in_force, __ATOMIC_RELAXED);
}

/* Both count as in force for a moment: a list of workers then shows those of both. */
void generation_replace(struct current *current, struct generation *next) {
    __atomic_store_n(&next->in_force, true, __ATOMIC_RELAXED);
    struct generation *before = current_replace(current, next);
    if (before) __atomic_store_n(&before->in_force, false, __ATOMIC_RELAXED);
    generation_release(before);
}
