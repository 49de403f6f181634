// SPDX-License-Identifier: Apache-2.0
/* How it works. Anyone who can write to the folder or to a file in it can run code here, so both
 * must belong to root or to us and be writable by nobody else. A read-only mount proves little,
 * because it may be read-only for us alone: it only excuses the mode of a folder of root's, as
 * containers mount their configuration; the files in it must be as safe as any. Files are taken in
 * alphabetical order, so that of two operators with one name the same one is always left out. */
#include "pipeline/skeletons/operators_dir.h"

#include "pipeline/registry.h"
#include "pipeline/skeletons/reader.h"
#include "pipeline/skeletons/twin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void report(const struct operators_options *options, const char *sentence) {
    if (options->report) options->report(options->context, sentence);
}

void operators_dir_report(const struct operators_options *options,
                          const struct diagnostics *diagnostics) {
    char text[2 * DIAGNOSTIC_TEXT_MAX];
    for (int i = 0; i < diagnostics->count && i < DIAGNOSTICS_MAX; i++) {
        diagnostics_print(diagnostics, i, text, sizeof text);
        report(options, text);
    }
    snprintf(text, sizeof text, "%.300s: %d more mistakes", diagnostics->path,
             diagnostics->count - DIAGNOSTICS_MAX);
    if (diagnostics->count > DIAGNOSTICS_MAX) report(options, text);
}

/* Returns why the file or folder at FD cannot be trusted; NULL: it can. */
static const char *danger_of(int fd, const struct stat *facts) {
    struct statvfs system;
    if (facts->st_uid != 0 && facts->st_uid != geteuid())
        return "it belongs to another user: chown it to root or to the user who runs burin";
    if (S_ISDIR(facts->st_mode) && facts->st_uid == 0 && fstatvfs(fd, &system) == 0 &&
        (system.f_flag & ST_RDONLY))
        return NULL;
    if (facts->st_mode & S_IWOTH) return "everyone may write to it: chmod o-w";
    if (facts->st_mode & S_IWGRP) return "its group may write to it: chmod g-w";
    return NULL;
}

/* ---- one file */

/* Returns the file's bytes with a NUL after them; NULL, after a report, where it cannot be used. */
static char *read_bytes(const char *path, const struct operators_options *options, size_t *length) {
    char text[512];
    struct stat facts;
    const size_t most = (options->bytes_max ? options->bytes_max : READER_BYTES_MAX) + 1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *reason = fd < 0 || fstat(fd, &facts) != 0 ? strerror(errno) : NULL;
    if (!reason && !S_ISREG(facts.st_mode)) reason = "it is no regular file";
    if (!reason) reason = danger_of(fd, &facts);
    char *bytes = reason ? NULL : malloc(most + 1);
    size_t used = 0;
    ssize_t got = 1;
    while (bytes && used < most && got > 0) {
        got = read(fd, bytes + used, most - used);
        if (got > 0) used += (size_t)got;
    }
    if (got < 0) reason = strerror(errno);
    if (!bytes && !reason) reason = "out of memory";
    if (fd >= 0) close(fd);
    if (!reason) {
        bytes[used] = '\0';
        *length = used;
        return bytes;
    }
    snprintf(text, sizeof text, "%.300s: not used: %s", path, reason);
    report(options, text);
    free(bytes);
    return NULL;
}

struct user_file *operators_dir_make(const char *path, const char *bytes, size_t length,
                                     const struct operators_options *options,
                                     enum twin_state *state) {
    struct diagnostics diagnostics;
    struct user_file *file = reader_read(path, bytes, length, options->bytes_max, &diagnostics);
    const enum twin_state loaded =
        file ? twin_library_load(file, options->cache, &diagnostics) : TWIN_WRONG;
    if (state) *state = loaded;
    if (loaded != TWIN_WRONG) {
        twin_fill(file);
        return file;
    }
    operators_dir_report(options, &diagnostics);
    reader_destroy(file);
    return NULL;
}

struct user_file *operators_dir_read(const char *path, const struct operators_options *options,
                                     enum twin_state *state) {
    size_t length = 0;
    char *bytes = read_bytes(path, options, &length);
    struct user_file *file = bytes ? operators_dir_make(path, bytes, length, options, state) : NULL;
    free(bytes);
    return file;
}

/* ---- the folder */

static int is_source(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name);
    return *entry->d_name != '.' && length > 2 && strcmp(entry->d_name + length - 2, ".c") == 0;
}

int operators_dir_add(struct user_file *file, const struct operators_options *options) {
    char text[512];
    int added = 0;
    for (int i = 0; i < file->count; i++) added += registry_add(&file->ops[i].op);
    if (added < file->count) {
        snprintf(text, sizeof text, "%.300s: %d of its operators are left out: at most %d are held",
                 file->path, file->count - added, REGISTRY_ADDED_MAX);
        report(options, text);
    }
    return added;
}

bool operators_dir_each(const char *path, const struct operators_options *options,
                        void (*visit)(void *context, const char *path, const char *bytes,
                                      size_t length),
                        void *context, struct failure *failure) {
    struct stat facts;
    struct dirent **entries = NULL;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *reason = fd < 0 || fstat(fd, &facts) != 0 ? strerror(errno) : NULL;
    if (!reason) reason = danger_of(fd, &facts);
    if (fd >= 0) close(fd);
    const int count = reason ? -1 : scandir(path, &entries, is_source, alphasort);
    if (!reason && count < 0) reason = strerror(errno);
    if (reason) {
        fail(failure, STATUS_BAD_PARAM, "operators cannot be read from %.120s: %s", path, reason);
        return false;
    }
    for (int i = 0; i < count; i++) {
        char name[1024];
        size_t length = 0;
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        char *bytes = read_bytes(name, options, &length);
        visit(context, name, bytes, length);
        free(bytes);
        free(entries[i]);
    }
    free(entries);
    return true;
}

struct loading {
    const struct operators_options *options;
    int added;
};

static void load_one(void *context, const char *path, const char *bytes, size_t length) {
    struct loading *loading = context;
    char text[512];
    enum twin_state state;
    struct user_file *file =
        bytes ? operators_dir_make(path, bytes, length, loading->options, &state) : NULL;
    if (!file) return;
    if (state == TWIN_NO_COMPILER) {
        snprintf(text, sizeof text,
                 "%.300s: not used on the CPU: there is no C compiler (cc, gcc, clang or tcc)",
                 path);
        report(loading->options, text);
    }
    loading->added += operators_dir_add(file, loading->options);
}

int operators_dir_load(const char *path, const struct operators_options *options,
                       struct failure *failure) {
    struct loading loading = { .options = options };
    return operators_dir_each(path, options, load_one, &loading, failure) ? loading.added : -1;
}
